import { describe, expect, it } from "vitest";

import type {
  EarlierPlan,
  Hunk,
  MessageNotification,
  PlanNotification,
  ReviewNotification,
  SessionSnapshot,
  ToolNotification,
  TurnNotification,
} from "../src/protocol";
import { Asking } from "../src/stores/approval";
import { type Approval } from "../src/text/approval";
import { Plans } from "../src/stores/plan";
import { said } from "./entries";
import { TestStore } from "./testStore";

const noUsage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };

const plan = (rev: number, over: Partial<PlanNotification> = {}): PlanNotification => ({
  sessionId: "s",
  turnId: "t1",
  rev,
  panel: "expanded",
  items: [],
  completed: 0,
  total: 0,
  dropped: [],
  ...over,
});

const started = (rev: number, turnId = "t1", sessionId = "s"): TurnNotification => ({
  sessionId,
  turnId,
  rev,
  phase: { kind: "started", text: `task of ${turnId}` },
});

const ended = (rev: number, turnId = "t1", sessionId = "s", summary = "said"): TurnNotification => ({
  sessionId,
  turnId,
  rev,
  phase: { kind: "ended", reason: "completed", summary, openItems: 0, usage: noUsage },
});

const tool = (rev: number, over: Partial<ToolNotification> = {}): ToolNotification => ({
  sessionId: "s",
  turnId: "t1",
  rev,
  callId: "c1",
  name: "bash",
  title: said("Run true"),
  state: "running",
  ...over,
});

const hunk = (id: string, start: number, end: number, over: Partial<Hunk> = {}): Hunk => ({
  id,
  sessionId: "s",
  turnId: "t1",
  range: { start: { line: start, character: 0 }, end: { line: end, character: 0 } },
  oldText: "",
  newText: "",
  removedLines: 0,
  addedLines: end - start,
  mixed: false,
  outdated: false,
  ...over,
});

const review = (path: string, rev: number, hunks: Hunk[]): ReviewNotification => ({
  uri: `file:///w/${path}`,
  path,
  rev,
  kind: "edited",
  hunks,
});

const approval: Approval = {
  approvalId: "a1",
  sessionId: "s",
  turnId: "t1",
  callId: "c1",
  title: "Run a command",
  question: said("Run a command"),
  command: "npm test",
  cwd: "/w",
  reason: "It may change something.",
  risk: "",
  rules: [],
  forSession: "",
};

describe("the plan", () => {
  /** Generations and reveals that a series of snapshots causes, in order. */
  function follow(...snapshots: PlanNotification[]): string[] {
    let plans = new Plans();
    return snapshots.map((snapshot) => {
      const before = plans;
      plans = plans.with(snapshot);
      const reveal = plans.reveals > before.reveals ? " reveal" : "";
      return plans === before ? "the same" : `${plans.generation}${plans.collapsed ? " collapsed" : " open"}${reveal}`;
    });
  }

  it("is revealed once a turn, and collapses with a new generation", () => {
    expect(follow(plan(1), plan(2), plan(3, { panel: "collapsed" }), plan(4, { turnId: "t2" }), plan(5, { turnId: "t2" }))).toEqual([
      "1 open reveal",
      "1 open",
      "2 collapsed",
      "3 open reveal",
      "3 open",
    ]);
  });

  it("ignores a late snapshot", () => {
    expect(follow(plan(2, { panel: "collapsed" }), plan(1))).toEqual(["1 collapsed", "the same"]);
  });

  it("takes any revision of another session", () => {
    expect(follow(plan(9), plan(1, { sessionId: "other", turnId: "t9" }))).toEqual(["1 open reveal", "2 open reveal"]);
  });

  it("is not revealed when it is restored", () => {
    expect(new Plans().restored(plan(7)).with(plan(8)).reveals).toBe(0);
  });

  it("remembers dropped items until they return or the turn changes", () => {
    let plans = new Plans();
    const after = (...args: Parameters<typeof plan>): readonly string[] => {
      plans = plans.with(plan(...args));
      return plans.dropped;
    };
    const back = { id: "1", content: "a", activeForm: "", status: "pending", blocked: false, calls: 0, elapsedMs: 0 } as const;
    expect(after(1, { dropped: ["a", "b"] })).toEqual(["a", "b"]);
    expect(after(2)).toEqual(["a", "b"]);
    expect(after(3, { dropped: ["c"], items: [{ ...back, blockedBy: [], files: [], commands: [] }] })).toEqual(["b", "c"]);
    expect(after(4, { turnId: "t2" })).toEqual([]);
  });

  it("lists the plans of earlier turns, the newest first, without the one in view", () => {
    const earlier = (turnId: string): EarlierPlan => ({ turnId, task: turnId, reason: "completed", plan: plan(1, { turnId }) });
    const plans = new Plans().with(plan(1, { turnId: "t3" })).withEarlier("s", ["t1", "t2", "t3"].map(earlier));
    expect(plans.earlier.map(({ turnId }) => turnId)).toEqual(["t2", "t1"]);
    expect(plans.with(plan(1, { sessionId: "other" })).earlier).toEqual([]);
  });

  it("is not shown while it is hidden", () => {
    expect(new Plans().with(plan(1, { panel: "hidden" })).plan).toBeUndefined();
  });

  it("is that of the session in view", () => {
    const store = new TestStore();
    store.turn(started(1));
    store.plan(plan(1, { sessionId: "other" }));
    expect(store.plans.plan).toBeUndefined();
    store.plan(plan(1));
    expect(store.plans.plan?.sessionId).toBe("s");
  });
});

describe("the review", () => {
  it("finds hunks by line, also where lines were only removed", () => {
    const store = new TestStore();
    store.review(review("a", 1, [hunk("h1", 2, 4), hunk("h2", 9, 9, { removedLines: 1 })]));
    const at = (line: number): string | undefined => store.reviews.at("file:///w/a", line)?.hunk.id;
    expect([1, 2, 3, 4, 8, 9, 10].map(at)).toEqual([undefined, "h1", "h1", undefined, "h2", "h2", undefined]);
  });

  it("steps through the hunks of all files and wraps around", () => {
    const store = new TestStore();
    store.review(review("b", 1, [hunk("b1", 3, 5)]));
    store.review(review("a", 2, [hunk("a1", 0, 1), hunk("a2", 8, 9)]));
    const from = (path: string | undefined, line: number, direction: "next" | "previous"): string | undefined =>
      store.reviews.neighbour(path === undefined ? undefined : `file:///w/${path}`, line, direction)?.hunk.id;
    expect(from("a", 0, "next")).toBe("a2");
    expect(from("a", 8, "next")).toBe("b1");
    expect(from("b", 3, "next")).toBe("a1");
    expect(from("a", 0, "previous")).toBe("b1");
    expect(from("b", 4, "previous")).toBe("a2");
    expect(from("elsewhere", 4, "next")).toBe("a1");
    expect(from(undefined, 0, "previous")).toBe("b1");
  });

  it("finds the hunks of a plan item of a session", () => {
    const store = new TestStore();
    store.review(review("a", 1, [hunk("h1", 0, 1, { planItem: "1" }), hunk("h2", 2, 3, { planItem: "2" })]));
    store.review(review("b", 1, [hunk("h3", 0, 1, { planItem: "1" }), hunk("h4", 2, 3, { planItem: "1", sessionId: "other" })]));
    const ids = (uri?: string): string[] => store.reviews.ofItem("s", "1", uri).map((placed) => placed.hunk.id);
    expect([ids(), ids("file:///w/b")]).toEqual([["h1", "h3"], ["h3"]]);
  });

  it("has no next hunk where none is pending", () => {
    expect(new TestStore().reviews.neighbour("file:///w/a", 0, "next")).toBeUndefined();
  });

  it("does not bring back decided edits by a late report", () => {
    const store = new TestStore();
    store.review(review("a", 1, [hunk("h1", 0, 1)]));
    store.review(review("a", 3, []));
    store.review(review("a", 2, [hunk("h1", 0, 1)]));
    expect(store.reviews.pending).toBe(0);
  });

  it("treats two spellings of a URI as one file", () => {
    const store = new TestStore("review", (uri) => uri.replaceAll("%2D", "-"));
    store.review({ ...review("a-b", 1, [hunk("h1", 0, 1)]), uri: "file:///w/a%2Db" });
    expect(store.reviews.get("file:///w/a-b")?.uri).toBe("file:///w/a%2Db");
  });

  it("is cleared by a new daemon", () => {
    const store = new TestStore();
    store.review(review("a", 9, [hunk("h1", 0, 1)]));
    store.connected();
    store.review(review("b", 1, [hunk("h2", 0, 1)]));
    expect(store.reviews.files.map(({ path }) => path)).toEqual(["b"]);
  });
});

describe("a session", () => {
  it("shows the session whose turn began last", () => {
    const store = new TestStore();
    store.turn(started(1, "t1", "one"));
    store.turn(started(2, "t2", "two"));
    store.turn(ended(3, "t1", "one"));
    expect([store.sessions.current, store.sessions.running]).toEqual(["two", true]);
    store.turn(ended(4, "t2", "two"));
    expect([store.sessions.running, store.sessions.turn?.text]).toEqual([false, "task of t2"]);
  });

  it("shows the calls of the turn in view only", () => {
    const store = new TestStore();
    store.turn(started(1));
    store.tool(tool(2));
    expect(store.sessions.activeTool?.callId).toBe("c1");
    store.turn(ended(3));
    store.turn(started(4, "t2"));
    expect(store.sessions.tools).toEqual([]);
  });

  it("keeps calls with the same id in two sessions apart", () => {
    const store = new TestStore();
    store.turn(started(1));
    store.tool(tool(9));
    store.turn(started(1, "t2", "other"));
    store.tool(tool(2, { sessionId: "other", turnId: "t2", title: said("Run other") }));
    expect(store.sessions.activeTool?.title.template).toBe("Run other");
    store.turn(ended(3, "t2", "other"));
    store.turn(started(10, "t1"));
    expect(store.sessions.activeTool?.title.template).toBe("Run true");
  });

  it("changes once by the end of its turn", () => {
    const store = new TestStore();
    let changes = 0;
    store.turn(started(1));
    store.on(["sessions"], () => (changes += 1));
    store.turn(ended(2));
    store.turn(ended(2));
    expect(changes).toBe(1);
  });

  it("restores the running session from any place in the list", () => {
    const store = new TestStore();
    store.connected(
      { sessionId: "one", turn: started(5, "t1", "one"), tools: [tool(6, { sessionId: "one" })], subagents: [], transcript: [] },
      { sessionId: "two", turn: ended(2, "t0", "two"), tools: [], subagents: [], transcript: [] },
    );
    expect([store.sessions.current, store.sessions.tools.length]).toEqual(["one", 1]);
  });
});

describe("an opened session", () => {
  const plain = { tools: [], subagents: [], transcript: [] };

  it("is in view, with its newest turn and the reason why it is read-only", () => {
    const store = new TestStore();
    store.turn(started(7, "t1", "one"));
    store.turn(ended(8, "t1", "one"));
    const readOnly = { reason: "openElsewhere", ...said("Open in another window") } as const;
    store.opened({ ...plain, sessionId: "two", task: "Blue", turn: ended(2, "t0", "two"), readOnly });
    expect([store.sessions.current, store.sessions.turn?.text, store.sessions.readOnly]).toEqual(["two", "Blue", readOnly]);
    store.opened({ ...plain, sessionId: "one", turn: ended(9, "t1", "one") });
    expect([store.sessions.current, store.sessions.readOnly]).toEqual(["one", undefined]);
  });

  it("stays in view while the session that was left goes on, also with its next turn", () => {
    const store = new TestStore();
    store.turn(started(1, "t1", "one"));
    store.opened({ ...plain, sessionId: "two", turn: ended(2, "t0", "two") });
    expect([store.sessions.current, store.sessions.running, store.sessions.runningSessions]).toEqual(["two", false, ["one"]]);
    store.turn(ended(3, "t1", "one"));
    store.turn(started(4, "t2", "one"));
    expect([store.sessions.current, store.sessions.runningSessions]).toEqual(["two", ["one"]]);
    store.opened({ ...plain, sessionId: "one", turn: started(4, "t2", "one") });
    store.turn(started(5, "t3", "two"));
    expect(store.sessions.current).toBe("two");
  });

  it("can be opened again when it is writable", () => {
    const store = new TestStore();
    const readOnly = { reason: "notWritable", ...said("…") } as const;
    store.opened({ ...plain, sessionId: "one", readOnly });
    store.opened({ ...plain, sessionId: "one" });
    expect(store.sessions.readOnly).toBeUndefined();
  });

  it("has its name as its title, else the words that it began with", () => {
    const store = new TestStore();
    store.turn(started(1, "t1", "one"));
    expect([store.sessions.title, store.sessions.name]).toEqual(["task of t1", undefined]);
    store.apply({ kind: "renamed", sessionId: "one", name: "The fix" });
    store.turn(started(2, "t2", "one"));
    expect([store.sessions.title, store.sessions.name]).toEqual(["The fix", "The fix"]);
    store.opened({ ...plain, sessionId: "two", name: "Other" });
    expect(store.sessions.title).toBe("Other");
    store.opened({ ...plain, sessionId: "one" });
    expect([store.sessions.title, store.sessions.name]).toEqual(["task of t1", undefined]);
    store.opened({ ...plain, sessionId: "three", title: "First words", turn: ended(3, "t3", "three"), task: "Later words" });
    expect(store.sessions.title).toBe("First words");
    store.apply({ kind: "renamed", sessionId: "one", name: "Again" });
    store.apply({ kind: "renamed", sessionId: "one", name: "" });
    expect(store.sessions.name).toBeUndefined();
  });

  it("leaves the view when it is deleted", () => {
    const store = new TestStore();
    store.opened({ ...plain, sessionId: "one", turn: ended(2, "t0", "one") });
    store.apply({ kind: "removed", sessionId: "two" });
    expect(store.sessions.current).toBe("one");
    store.apply({ kind: "removed", sessionId: "one" });
    expect([store.sessions.current, store.sessions.turn]).toEqual([undefined, undefined]);
  });
});

describe("a daemon that ends", () => {
  const after = (...sessions: SessionSnapshot[]): (string | undefined)[] => {
    const store = new TestStore();
    store.turn(started(1));
    const phases = [store.sessions.turn?.phase.kind];
    store.link({ kind: "failed", message: "gone" });
    phases.push(store.sessions.turn?.phase.kind);
    store.connected(...sessions);
    return [...phases, store.sessions.turn?.phase.kind];
  };

  it("interrupts the running turn", () => {
    expect(after()).toEqual(["started", "interrupted", undefined]);
  });

  it("lets the next daemon report how the turn ended", () => {
    expect(after({ sessionId: "s", turn: ended(2), tools: [], subagents: [], transcript: [] })).toEqual(["started", "interrupted", "ended"]);
  });
});

describe("approvals", () => {
  it("uses the first answer", async () => {
    const store = new TestStore();
    const asking = new Asking(store);
    const answer = asking.approve(approval);
    expect([asking.answerApproval("a1", "allowOnce"), asking.answerApproval("a1", "deny")]).toEqual([true, false]);
    await expect(answer).resolves.toEqual({ decision: "allowOnce" });
  });

  it("passes on the feedback of an answer, if there is any", async () => {
    const store = new TestStore();
    const asking = new Asking(store);
    const answered = async (words: string): Promise<unknown> => {
      const answer = asking.approve(approval);
      asking.answerApproval("a1", "deny", words);
      return await answer;
    };
    expect(await answered(" Ask Ada. ")).toEqual({ decision: "deny", feedback: "Ask Ada." });
    expect(await answered("  ")).toEqual({ decision: "deny" });
  });

  it.each([
    ["the call is over", (store: TestStore): void => store.tool(tool(1, { state: "cancelled" }))],
    ["the turn ends", (store: TestStore): void => store.turn(ended(1))],
    ["the daemon goes", (store: TestStore): void => store.link({ kind: "failed", message: "gone" })],
  ])("is denied when %s", async (_when, happen) => {
    const store = new TestStore();
    const asking = new Asking(store);
    const answer = asking.approve(approval);
    happen(store);
    await expect(answer).resolves.toEqual({ decision: "deny" });
    expect(store.approvals.waiting).toEqual([]);
  });

  it("keeps the question of a waiting call while other calls continue", () => {
    const store = new TestStore();
    const asking = new Asking(store);
    void asking.approve(approval);
    store.tool(tool(1, { state: "awaitingApproval" }));
    store.tool(tool(2, { callId: "c2", state: "done" }));
    store.tool(tool(2, { sessionId: "other", state: "done" }));
    store.turn(ended(3, "t0"));
    expect(store.approvals.waiting).toEqual([approval]);
  });
});

describe("the transcript", () => {
  const message = (rev: number, over: Partial<MessageNotification>): MessageNotification => ({
    sessionId: "s",
    turnId: "t1",
    rev,
    itemId: "m1",
    role: "assistant",
    delta: "",
    incomplete: false,
    ...over,
  });
  const texts = (store: TestStore): string[] =>
    store.transcript.entries.map((entry) =>
      entry.kind === "tool"
        ? `${entry.title.template}:${entry.state}`
        : entry.kind === "end"
          ? `end ${entry.summary}`
          : `${entry.role} ${entry.text}`,
    );

  it("appends deltas, and replaces them by the whole text", () => {
    const store = new TestStore();
    store.message(message(1, { delta: "Hel" }));
    store.message(message(2, { delta: "lo" }));
    expect(texts(store)).toEqual(["assistant Hello"]);
    store.message(message(4, { text: "Hello there" }));
    store.message(message(3, { delta: " lost" }));
    expect(texts(store)).toEqual(["assistant Hello there"]);
  });

  it("shows the user's text once, with its time, and the summary once", () => {
    const store = new TestStore();
    store.turn(started(1));
    store.message(message(2, { itemId: "m0", role: "user", text: "task of t1", at: 5 }));
    expect(store.transcript.entries).toMatchObject([{ id: "user:t1", at: 5 }]);
    store.message(message(3, { text: "All done." }));
    store.turn(ended(4, "t1", "s", "All done."));
    expect(texts(store)).toEqual(["user task of t1", "assistant All done.", "end "]);
  });

  it("moves words for a running task to where they were read", () => {
    const store = new TestStore();
    store.turn(started(1));
    store.message(message(2, { itemId: "s1", role: "user", text: "task of t1", unread: true }));
    store.tool(tool(3, { state: "done" }));
    const before = texts(store);
    expect(before.slice(0, 2)).toEqual(["user task of t1", "user task of t1"]);
    store.message(message(4, { itemId: "s1", role: "user", text: "task of t1", endedAt: 5 }));
    expect(texts(store)).toEqual([before[0], before[2], before[1]]);
    expect(store.transcript.turnsOf("s").get("t1")).toEqual(store.transcript.entries);
    expect(store.transcript.entries.at(-1)).toMatchObject({ unread: false, endedAt: 5 });
  });

  it("keeps a summary that was not shown before", () => {
    const store = new TestStore();
    store.turn(ended(1, "t1", "s", "The model is not reachable."));
    expect(texts(store)).toEqual(["end The model is not reachable."]);
  });

  it("updates a call and keeps its detail", () => {
    const store = new TestStore();
    store.tool(tool(1, { state: "queued" }));
    store.approval(approval);
    store.tool(tool(2, { state: "done", detail: "ok" }));
    store.tool(tool(3, { state: "done" }));
    expect(store.transcript.entries).toMatchObject([
      { kind: "tool", id: "tool:s/c1", title: said("Run true"), state: "done", detail: "ok", command: "npm test" },
    ]);
  });

  it("keeps the newest output of a running command, marks gaps in it, and forgets it at the end", () => {
    const store = new TestStore();
    const live = (): unknown => store.transcript.entries.map((entry) => (entry.kind === "tool" ? entry.live : ""));
    const piece = (seq: number, text: string): void =>
      store.apply({ kind: "output", output: { sessionId: "s", turnId: "t1", callId: "c1", seq, text } });
    piece(0, "of an unknown call\n");
    store.tool(tool(1, { state: "running" }));
    piece(0, "one\ntw");
    piece(1, "o\n");
    piece(1, "again\n");
    expect(live()).toEqual(["one\ntwo\n"]);
    piece(4, "five\n");
    expect(live()).toEqual(["one\ntwo\n…\nfive\n"]);
    for (let seq = 5; seq < 30; seq += 1) {
      piece(seq, `${"x".repeat(7_999)}\n`);
    }
    expect(String(live()).length).toBeLessThanOrEqual(64 * 1024);
    expect(String(live()).length).toBeGreaterThan(56 * 1024);
    expect(String(live())).toMatch(/^x{7999}\n/u);
    store.tool(tool(2, { state: "done", endedAt: 5, detail: "all" }));
    piece(30, "late\n");
    expect(live()).toEqual([""]);
  });

  it("keeps the command of a call with a second question about its files, and takes no file for a command", () => {
    const store = new TestStore();
    store.tool(tool(1, { state: "queued" }));
    store.approval(approval);
    store.approval({ ...approval, kind: "change", command: "sub/.vscode (new)", quarantined: true });
    store.approval({ ...approval, callId: "c2", kind: "change", command: "Change package.json" });
    expect(store.transcript.entries.map((entry) => (entry.kind === "tool" ? entry.command : ""))).toEqual(["npm test", undefined]);
  });

  it("keeps entries with the same id in two sessions apart", () => {
    const store = new TestStore();
    for (const sessionId of ["one", "two"]) {
      store.message(message(1, { sessionId, turnId: sessionId, text: `said in ${sessionId}` }));
      store.tool(tool(2, { sessionId, turnId: sessionId, title: said(`Run ${sessionId}`) }));
    }
    store.approval({ ...approval, sessionId: "two", command: "asked in two" });
    expect(texts(store)).toEqual(["assistant said in one", "Run one:running", "assistant said in two", "Run two:running"]);
    expect(store.transcript.entries.map((entry) => (entry.kind === "tool" ? entry.command : ""))).toEqual(["", undefined, "", "asked in two"]);
  });

  it("replaces the earlier conversation by the one of a new daemon", () => {
    const store = new TestStore();
    store.turn(started(8));
    store.message(message(9, { text: "Half a sent" }));
    store.connected();
    expect(texts(store)).toEqual(["user task of t1", "assistant Half a sent"]);
    store.connected({
      sessionId: "s",
      tools: [],
      subagents: [],
      transcript: [
        { kind: "turn", ...started(1) },
        { kind: "tool", ...tool(2, { state: "cancelled" }) },
        { kind: "message", ...message(3, { text: "Half a sentence." }) },
      ],
    });
    expect(texts(store)).toEqual(["user task of t1", "Run true:cancelled", "assistant Half a sentence."]);
  });

  it("is bounded in size", () => {
    const store = new TestStore();
    for (let index = 0; index < 2_500; index += 1) {
      store.message(message(index, { itemId: `m${index}`, delta: "x" }));
    }
    expect(store.transcript.entries.length).toBe(2_000);
    expect(store.transcript.entries.at(-1)?.id).toBe("message:s/m2499");
  });

  it("does not drop entries of a session because another one goes on", () => {
    const store = new TestStore();
    store.message(message(0, { sessionId: "quiet", itemId: "m1", delta: "x" }));
    for (let index = 0; index < 2_500; index += 1) {
      store.message(message(index, { itemId: `m${index}`, delta: "x" }));
    }
    expect(store.transcript.turnsOf("quiet").size).toBe(1);
    expect([store.transcript.isCut("quiet"), store.transcript.isCut("s")]).toEqual([false, true]);
  });
});

describe("the status", () => {
  it("is empty without a daemon", () => {
    const store = new TestStore();
    store.link({ kind: "running", version: "1" });
    store.status({ rev: 1, model: { provider: "replay", name: "sample", replay: true }, connection: { kind: "idle" }, banners: [] });
    expect(store.state.status.status?.rev).toBe(1);
    store.link({ kind: "failed", message: "gone" });
    expect(store.state.status.status).toBeUndefined();
  });
});

describe("the queue", () => {
  const item = { id: "q1", text: "Next" };

  it("is the newest state of each session", () => {
    const store = new TestStore();
    store.queue({ sessionId: "s", rev: 2, items: [item], held: false });
    const before = store.sessions;
    store.queue({ sessionId: "s", rev: 1, items: [], held: true });
    expect(store.sessions).toBe(before);
    expect(store.sessions.queueOf("s")).toMatchObject({ items: [item], held: false });
    expect(store.sessions.queueOf("other").items).toEqual([]);
    expect(store.sessions.queueOf(undefined).items).toEqual([]);
  });

  it("accepts any revision from a new daemon", () => {
    const store = new TestStore();
    store.queue({ sessionId: "s", rev: 9, items: [item], held: false });
    store.queue({ sessionId: "gone", rev: 9, items: [item], held: false });
    store.connected({ sessionId: "s", tools: [], subagents: [], transcript: [], queue: { sessionId: "s", rev: 0, items: [item], held: true } });
    expect([store.sessions.queueOf("s").held, store.sessions.queueOf("gone").items]).toEqual([true, []]);
  });
});
