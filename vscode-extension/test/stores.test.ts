import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type {
  EarlierPlan,
  Hunk,
  MessageNotification,
  PlanNotification,
  ReviewNotification,
  SessionSnapshot,
  StatusNotification,
  ToolNotification,
  TurnNotification,
} from "../src/protocol";
import { ARMED_AFTER_MS, ApprovalStore } from "../src/stores/approval";
import { PlanStore } from "../src/stores/plan";
import { QueueStore } from "../src/stores/queue";
import { ReviewStore } from "../src/stores/review";
import { SessionStore } from "../src/stores/session";
import { StatusStore } from "../src/stores/status";
import { TranscriptStore } from "../src/stores/transcript";
import { type Approval } from "../src/text/approval";
import { said } from "./entries";
import { textOf } from "../src/text/messages";

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

describe("the plan store", () => {
  /** Generations and reveals that a series of snapshots causes, in order. */
  function follow(...snapshots: PlanNotification[]): string[] {
    const store = new PlanStore();
    const seen: string[] = [];
    store.onDidChange(({ reveal }) => seen.push(`${store.generation}${store.collapsed ? " collapsed" : " open"}${reveal ? " reveal" : ""}`));
    for (const snapshot of snapshots) {
      store.update(snapshot);
    }
    return seen;
  }

  it("reveals the plan once a turn, and collapses with a new generation", () => {
    expect(follow(plan(1), plan(2), plan(3, { panel: "collapsed" }), plan(4, { turnId: "t2" }), plan(5, { turnId: "t2" }))).toEqual([
      "1 open reveal",
      "1 open",
      "2 collapsed",
      "3 open reveal",
      "3 open",
    ]);
  });

  it("ignores a late snapshot", () => {
    expect(follow(plan(2, { panel: "collapsed" }), plan(1))).toEqual(["1 collapsed"]);
  });

  it("takes any revision of another session", () => {
    expect(follow(plan(9), plan(1, { sessionId: "other", turnId: "t9" }))).toEqual(["1 open reveal", "2 open reveal"]);
  });

  it("does not reveal a restored plan", () => {
    const store = new PlanStore();
    const reveals: boolean[] = [];
    store.onDidChange(({ reveal }) => reveals.push(reveal));
    store.restore(plan(7));
    store.update(plan(8));
    expect(reveals).toEqual([false, false]);
  });

  it("remembers dropped items until they return or the turn changes", () => {
    const store = new PlanStore();
    const after = (...args: Parameters<typeof plan>): readonly string[] => {
      store.update(plan(...args));
      return store.dropped;
    };
    const back = { id: "1", content: "a", activeForm: "", status: "pending", blocked: false, calls: 0, elapsedMs: 0 } as const;
    expect(after(1, { dropped: ["a", "b"] })).toEqual(["a", "b"]);
    expect(after(2)).toEqual(["a", "b"]);
    expect(after(3, { dropped: ["c"], items: [{ ...back, blockedBy: [], files: [], commands: [] }] })).toEqual(["b", "c"]);
    expect(after(4, { turnId: "t2" })).toEqual([]);
  });

  it("lists the plans of earlier turns, the newest first, without the one in view", () => {
    const store = new PlanStore();
    const earlier = (turnId: string): EarlierPlan => ({ turnId, task: turnId, reason: "completed", plan: plan(1, { turnId }) });
    const turns = (): string[] => store.earlier.map(({ turnId }) => turnId);
    store.update(plan(1, { turnId: "t3" }));
    store.setEarlier("s", ["t1", "t2", "t3"].map(earlier));
    expect(turns()).toEqual(["t2", "t1"]);
    store.update(plan(1, { sessionId: "other" }));
    expect(turns()).toEqual([]);
  });

  it("does not show a hidden plan", () => {
    const store = new PlanStore();
    store.update(plan(1, { panel: "hidden" }));
    expect(store.plan).toBeUndefined();
  });
});

describe("the review store", () => {
  it("finds hunks by line, also where lines were only removed", () => {
    const store = new ReviewStore();
    store.update(review("a", 1, [hunk("h1", 2, 4), hunk("h2", 9, 9, { removedLines: 1 })]));
    const at = (line: number): string | undefined => store.at("file:///w/a", line)?.hunk.id;
    expect([1, 2, 3, 4, 8, 9, 10].map(at)).toEqual([undefined, "h1", "h1", undefined, "h2", "h2", undefined]);
  });

  it("steps through the hunks of all files and wraps around", () => {
    const store = new ReviewStore();
    store.update(review("b", 1, [hunk("b1", 3, 5)]));
    store.update(review("a", 2, [hunk("a1", 0, 1), hunk("a2", 8, 9)]));
    const from = (path: string | undefined, line: number, direction: "next" | "previous"): string | undefined =>
      store.neighbour(path === undefined ? undefined : `file:///w/${path}`, line, direction)?.hunk.id;
    expect(from("a", 0, "next")).toBe("a2");
    expect(from("a", 8, "next")).toBe("b1");
    expect(from("b", 3, "next")).toBe("a1");
    expect(from("a", 0, "previous")).toBe("b1");
    expect(from("b", 4, "previous")).toBe("a2");
    expect(from("elsewhere", 4, "next")).toBe("a1");
    expect(from(undefined, 0, "previous")).toBe("b1");
  });

  it("finds the hunks of a plan item of a session", () => {
    const store = new ReviewStore();
    store.update(review("a", 1, [hunk("h1", 0, 1, { planItem: "1" }), hunk("h2", 2, 3, { planItem: "2" })]));
    store.update(review("b", 1, [hunk("h3", 0, 1, { planItem: "1" }), hunk("h4", 2, 3, { planItem: "1", sessionId: "other" })]));
    const ids = (uri?: string): string[] => store.ofItem("s", "1", uri).map((placed) => placed.hunk.id);
    expect([ids(), ids("file:///w/b")]).toEqual([["h1", "h3"], ["h3"]]);
  });

  it("has no next hunk where none is pending", () => {
    expect(new ReviewStore().neighbour("file:///w/a", 0, "next")).toBeUndefined();
  });

  it("does not bring back decided edits by a late report", () => {
    const store = new ReviewStore();
    store.update(review("a", 1, [hunk("h1", 0, 1)]));
    store.update(review("a", 3, []));
    store.update(review("a", 2, [hunk("h1", 0, 1)]));
    expect(store.pending).toBe(0);
  });

  it("treats two spellings of a URI as one file", () => {
    const store = new ReviewStore((uri) => uri.replaceAll("%2D", "-"));
    store.update({ ...review("a-b", 1, [hunk("h1", 0, 1)]), uri: "file:///w/a%2Db" });
    expect(store.get("file:///w/a-b")?.uri).toBe("file:///w/a%2Db");
  });

  it("is cleared by a new daemon", () => {
    const store = new ReviewStore();
    store.update(review("a", 9, [hunk("h1", 0, 1)]));
    store.restore([]);
    store.update(review("b", 1, [hunk("h2", 0, 1)]));
    expect(store.files.map(({ path }) => path)).toEqual(["b"]);
  });
});

describe("the session store", () => {
  it("shows the session whose turn began last", () => {
    const store = new SessionStore();
    store.update(started(1, "t1", "one"));
    store.update(started(2, "t2", "two"));
    store.update(ended(3, "t1", "one"));
    expect([store.current, store.running]).toEqual(["two", true]);
    store.update(ended(4, "t2", "two"));
    expect([store.running, store.turn?.text]).toEqual([false, "task of t2"]);
  });

  it("shows the calls of the turn in view only", () => {
    const store = new SessionStore();
    store.update(started(1));
    store.updateTool(tool(2));
    expect(store.activeTool?.callId).toBe("c1");
    store.update(ended(3));
    store.update(started(4, "t2"));
    expect(store.tools).toEqual([]);
  });

  it("keeps calls with the same id in two sessions apart", () => {
    const store = new SessionStore();
    store.update(started(1));
    store.updateTool(tool(9));
    store.update(started(1, "t2", "other"));
    store.updateTool(tool(2, { sessionId: "other", turnId: "t2", title: said("Run other") }));
    expect(store.activeTool?.title.template).toBe("Run other");
    store.update(ended(3, "t2", "other"));
    store.update(started(10, "t1"));
    expect(store.activeTool?.title.template).toBe("Run true");
  });

  it("reports the end of a turn once, with its summary", () => {
    const store = new SessionStore();
    const ends: string[] = [];
    store.onDidEndTurn(({ text }) => ends.push(text));
    store.update(started(1));
    store.update(ended(2));
    store.update(ended(2));
    expect(ends).toEqual(["task of t1"]);
  });

  it("restores the running session from any place in the list", () => {
    const store = new SessionStore();
    store.restore([
      { sessionId: "one", turn: started(5, "t1", "one"), tools: [tool(6, { sessionId: "one" })], subagents: [], transcript: [] },
      { sessionId: "two", turn: ended(2, "t0", "two"), tools: [], subagents: [], transcript: [] },
    ]);
    expect([store.current, store.tools.length]).toEqual(["one", 1]);
  });
});

describe("an opened session", () => {
  const plain = { tools: [], subagents: [], transcript: [] };

  it("is in view, with its newest turn and the reason why it is read-only", () => {
    const store = new SessionStore();
    store.update(started(7, "t1", "one"));
    store.update(ended(8, "t1", "one"));
    const readOnly = { reason: "openElsewhere", ...said("Open in another window") } as const;
    store.open({ ...plain, sessionId: "two", task: "Blue", turn: ended(2, "t0", "two"), readOnly });
    expect([store.current, store.turn?.text, store.readOnly]).toEqual(["two", "Blue", readOnly]);
    store.open({ ...plain, sessionId: "one", turn: ended(9, "t1", "one") });
    expect([store.current, store.readOnly]).toEqual(["one", undefined]);
  });

  it("stays in view while the session that was left goes on, also with its next turn", () => {
    const store = new SessionStore();
    store.update(started(1, "t1", "one"));
    store.open({ ...plain, sessionId: "two", turn: ended(2, "t0", "two") });
    expect([store.current, store.running, store.runningSessions]).toEqual(["two", false, ["one"]]);
    store.update(ended(3, "t1", "one"));
    store.update(started(4, "t2", "one"));
    expect([store.current, store.runningSessions]).toEqual(["two", ["one"]]);
    store.open({ ...plain, sessionId: "one", turn: started(4, "t2", "one") });
    store.update(started(5, "t3", "two"));
    expect(store.current).toBe("two");
  });

  it("can be opened again when it is writable", () => {
    const store = new SessionStore();
    const readOnly = { reason: "notWritable", ...said("…") } as const;
    store.open({ ...plain, sessionId: "one", readOnly });
    store.open({ ...plain, sessionId: "one" });
    expect(store.readOnly).toBeUndefined();
  });

  it("has its name as its title, else the words that it began with", () => {
    const store = new SessionStore();
    store.update(started(1, "t1", "one"));
    expect([store.title, store.name]).toEqual(["task of t1", undefined]);
    store.rename("one", "The fix");
    store.update(started(2, "t2", "one"));
    expect([store.title, store.name]).toEqual(["The fix", "The fix"]);
    store.open({ ...plain, sessionId: "two", name: "Other" });
    expect(store.title).toBe("Other");
    store.open({ ...plain, sessionId: "one" });
    expect([store.title, store.name]).toEqual(["task of t1", undefined]);
    store.open({ ...plain, sessionId: "three", title: "First words", turn: ended(3, "t3", "three"), task: "Later words" });
    expect(store.title).toBe("First words");
    store.rename("one", "Again");
    store.rename("one", "");
    expect(store.name).toBeUndefined();
  });

  it("leaves the view when it is deleted", () => {
    const store = new SessionStore();
    store.open({ ...plain, sessionId: "one", turn: ended(2, "t0", "one") });
    store.remove("two");
    expect(store.current).toBe("one");
    store.remove("one");
    expect([store.current, store.turn]).toEqual([undefined, undefined]);
  });
});

describe("a daemon that ends", () => {
  const after = (...sessions: SessionSnapshot[]): { phases: (string | undefined)[]; lost: string[] } => {
    const store = new SessionStore();
    const lost: string[] = [];
    store.onDidLoseTurn(({ text }) => lost.push(text));
    store.update(started(1));
    const phases = [store.turn?.phase.kind];
    store.disconnect();
    phases.push(store.turn?.phase.kind);
    store.restore(sessions);
    return { phases: [...phases, store.turn?.phase.kind], lost };
  };

  it("interrupts the running turn, and reports it if the session is lost", () => {
    expect(after()).toEqual({ phases: ["started", "interrupted", undefined], lost: ["task of t1"] });
  });

  it("interrupts the turn also for the next daemon, which can continue it", () => {
    const turn = ended(2);
    const interrupted: TurnNotification = { ...turn, phase: { kind: "ended", reason: "interrupted", summary: "", openItems: 1, usage: noUsage } };
    const session = { sessionId: "s", task: "Fix it", turn: interrupted, tools: [], subagents: [], transcript: [] };
    expect(after(session)).toEqual({ phases: ["started", "interrupted", "ended"], lost: ["task of t1"] });
  });

  it("lets the next daemon report how the turn ended", () => {
    expect(after({ sessionId: "s", turn: ended(2), tools: [], subagents: [], transcript: [] })).toEqual({
      phases: ["started", "interrupted", "ended"],
      lost: [],
    });
  });
});

describe("the approval store", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const seen = (): void => void vi.advanceTimersByTime(ARMED_AFTER_MS);

  it("uses the first answer", async () => {
    const store = new ApprovalStore();
    const answer = store.ask(approval);
    seen();
    expect([store.answer("a1", "allowOnce"), store.answer("a1", "deny")]).toEqual(["counted", "gone"]);
    await expect(answer).resolves.toEqual({ decision: "allowOnce" });
  });

  it("takes no answer to a question that has just come up", () => {
    const store = new ApprovalStore();
    const armed: string[] = [];
    store.onDidArm((id) => armed.push(id));
    void store.ask(approval);
    vi.advanceTimersByTime(ARMED_AFTER_MS - 1);
    expect([store.answer("a1", "allowOnce"), store.isArmed("a1"), armed]).toEqual(["early", false, []]);
    vi.advanceTimersByTime(1);
    expect([store.isArmed("a1"), armed, store.answer("a1", "allowOnce")]).toEqual([true, ["a1"], "counted"]);
  });

  it("takes no answer to a question that moves to the place of the one just answered", () => {
    const store = new ApprovalStore();
    void store.ask(approval);
    void store.ask({ ...approval, approvalId: "a2" });
    seen();
    expect([store.answer("a1", "allowOnce"), store.answer("a2", "allowOnce")]).toEqual(["counted", "early"]);
    seen();
    expect(store.answer("a2", "allowOnce")).toBe("counted");
  });

  it("passes on the feedback of an answer, if there is any", async () => {
    const store = new ApprovalStore();
    const answered = async (words: string): Promise<unknown> => {
      const answer = store.ask(approval);
      if (words.trim() === "") {
        seen();
      }
      store.answer("a1", "deny", words);
      return await answer;
    };
    expect(await answered(" Ask Ada. ")).toEqual({ decision: "deny", feedback: "Ask Ada." });
    expect(await answered("  ")).toEqual({ decision: "deny" });
  });

  it.each([
    ["the call goes on", (store: ApprovalStore): void => store.tool(tool(1, { state: "cancelled" }))],
    ["the turn ends", (store: ApprovalStore): void => store.turn(ended(1))],
    ["the daemon goes", (store: ApprovalStore): void => store.clear()],
  ])("is denied when %s", async (_when, happen) => {
    const store = new ApprovalStore();
    const settled: string[] = [];
    store.onDidSettle((id) => settled.push(id));
    const answer = store.ask(approval);
    happen(store);
    await expect(answer).resolves.toEqual({ decision: "deny" });
    expect([store.waiting, settled]).toEqual([[], ["a1"]]);
  });

  it("keeps the question of a waiting call while other calls continue", () => {
    const store = new ApprovalStore();
    void store.ask(approval);
    store.tool(tool(1, { state: "awaitingApproval" }));
    store.tool(tool(2, { callId: "c2", state: "done" }));
    store.tool(tool(2, { sessionId: "other", state: "done" }));
    store.turn(ended(3, "t0"));
    expect(store.waiting).toEqual([approval]);
  });
});

describe("the transcript store", () => {
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
  const texts = (store: TranscriptStore): string[] =>
    store.entries.map((entry) =>
      entry.kind === "tool"
        ? `${entry.title.template}:${entry.state}`
        : entry.kind === "end"
          ? `end ${entry.summary}`
          : `${entry.role} ${entry.text}`,
    );

  it("appends deltas, and replaces them by the whole text", () => {
    const store = new TranscriptStore();
    store.message(message(1, { delta: "Hel" }));
    store.message(message(2, { delta: "lo" }));
    expect(texts(store)).toEqual(["assistant Hello"]);
    store.message(message(4, { text: "Hello there" }));
    store.message(message(3, { delta: " lost" }));
    expect(texts(store)).toEqual(["assistant Hello there"]);
  });

  it("shows the user's text and the summary once", () => {
    const store = new TranscriptStore();
    store.turn(started(1));
    store.message(message(2, { itemId: "m0", role: "user", text: "task of t1" }));
    store.message(message(3, { text: "All done." }));
    store.turn(ended(4, "t1", "s", "All done."));
    expect(texts(store)).toEqual(["user task of t1", "assistant All done.", "end "]);
  });

  it("moves words for a running task to where they were read", () => {
    const store = new TranscriptStore();
    store.turn(started(1));
    store.message(message(2, { itemId: "s1", role: "user", text: "task of t1", unread: true }));
    store.tool(tool(3, { state: "done" }));
    const before = texts(store);
    expect(before.slice(0, 2)).toEqual(["user task of t1", "user task of t1"]);
    store.message(message(4, { itemId: "s1", role: "user", text: "task of t1", endedAt: 5 }));
    expect(texts(store)).toEqual([before[0], before[2], before[1]]);
    expect(store.turnsOf("s").get("t1")).toEqual(store.entries);
    expect(store.entries.at(-1)).toMatchObject({ unread: false, endedAt: 5 });
  });

  it("keeps a summary that was not shown before", () => {
    const store = new TranscriptStore();
    store.turn(ended(1, "t1", "s", "The model is not reachable."));
    expect(texts(store)).toEqual(["end The model is not reachable."]);
  });

  it("updates a call and keeps its detail", () => {
    const store = new TranscriptStore();
    store.tool(tool(1, { state: "queued" }));
    store.approval(approval);
    store.tool(tool(2, { state: "done", detail: "ok" }));
    store.tool(tool(3, { state: "done" }));
    expect(store.entries).toMatchObject([
      { kind: "tool", id: "tool:s/c1", title: said("Run true"), state: "done", detail: "ok", command: "npm test" },
    ]);
  });

  it("keeps the newest output of a running command, marks gaps in it, and forgets it at the end", () => {
    const store = new TranscriptStore();
    const live = (): unknown => store.entries.map((entry) => (entry.kind === "tool" ? entry.live : ""));
    const piece = (seq: number, text: string): void => store.output({ sessionId: "s", turnId: "t1", callId: "c1", seq, text });
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
    const store = new TranscriptStore();
    store.tool(tool(1, { state: "queued" }));
    store.approval(approval);
    store.approval({ ...approval, kind: "change", command: "sub/.vscode (new)", quarantined: true });
    store.approval({ ...approval, callId: "c2", kind: "change", command: "Change package.json" });
    expect(store.entries.map((entry) => (entry.kind === "tool" ? entry.command : ""))).toEqual(["npm test", undefined]);
  });

  it("keeps entries with the same id in two sessions apart", () => {
    const store = new TranscriptStore();
    for (const sessionId of ["one", "two"]) {
      store.message(message(1, { sessionId, turnId: sessionId, text: `said in ${sessionId}` }));
      store.tool(tool(2, { sessionId, turnId: sessionId, title: said(`Run ${sessionId}`) }));
    }
    store.approval({ ...approval, sessionId: "two", command: "asked in two" });
    expect(texts(store)).toEqual(["assistant said in one", "Run one:running", "assistant said in two", "Run two:running"]);
    expect(store.entries.map((entry) => (entry.kind === "tool" ? entry.command : ""))).toEqual(["", undefined, "", "asked in two"]);
  });

  it("replaces the earlier conversation by the one of a new daemon", () => {
    const store = new TranscriptStore();
    store.turn(started(8));
    store.message(message(9, { text: "Half a sent" }));
    store.reconnect();
    expect(texts(store)).toEqual(["user task of t1", "assistant Half a sent"]);
    store.reconnect([
      { kind: "turn", ...started(1) },
      { kind: "tool", ...tool(2, { state: "cancelled" }) },
      { kind: "message", ...message(3, { text: "Half a sentence." }) },
    ]);
    expect(texts(store)).toEqual(["user task of t1", "Run true:cancelled", "assistant Half a sentence."]);
  });

  it("is bounded in size", () => {
    const store = new TranscriptStore();
    for (let index = 0; index < 2_500; index += 1) {
      store.message(message(index, { itemId: `m${index}`, delta: "x" }));
    }
    expect(store.entries.length).toBe(2_000);
    expect(store.entries.at(-1)?.id).toBe("message:s/m2499");
  });

  it("does not drop entries of a session because another one goes on", () => {
    const store = new TranscriptStore();
    store.message(message(0, { sessionId: "quiet", itemId: "m1", delta: "x" }));
    for (let index = 0; index < 2_500; index += 1) {
      store.message(message(index, { itemId: `m${index}`, delta: "x" }));
    }
    expect(store.turnsOf("quiet").size).toBe(1);
    expect([store.isCut("quiet"), store.isCut("s")]).toEqual([false, true]);
  });
});

describe("the status store", () => {
  const status = (rev: number, text: string): StatusNotification => ({
    rev,
    model: { provider: "replay", name: "sample", replay: true },
    connection: { kind: "idle" },
    banners: [{ kind: "setting", ...said("There is no setting {setting}.", { setting: text }, "setting_unknown") }],
  });

  it("reports a banner once", () => {
    const store = new StatusStore();
    const told: string[] = [];
    store.onDidAddBanner((banner) => told.push(textOf(banner)));
    store.update(status(1, "one"));
    store.update(status(2, "one"));
    store.update(status(3, "two"));
    expect(told).toEqual(["There is no setting one.", "There is no setting two."]);
  });

  it("is empty without a daemon", () => {
    const store = new StatusStore();
    store.setLink({ kind: "running", version: "1" });
    store.update(status(1, "one"));
    store.setLink({ kind: "failed", message: "gone" });
    expect(store.status).toBeUndefined();
  });
});

describe("the queue store", () => {
  const item = { id: "q1", text: "Next" };

  it("shows the newest state of each session", () => {
    const store = new QueueStore();
    let changes = 0;
    store.onDidChange(() => (changes += 1));
    store.update({ sessionId: "s", rev: 2, items: [item], held: false });
    store.update({ sessionId: "s", rev: 1, items: [], held: true });
    expect(store.of("s")).toMatchObject({ items: [item], held: false });
    expect(store.of("other").items).toEqual([]);
    expect(store.of(undefined).items).toEqual([]);
    expect(changes).toBe(1);
  });

  it("accepts any revision from a new daemon", () => {
    const store = new QueueStore();
    store.update({ sessionId: "s", rev: 9, items: [item], held: false });
    store.update({ sessionId: "gone", rev: 9, items: [item], held: false });
    store.restore([{ sessionId: "s", tools: [], subagents: [], transcript: [], queue: { sessionId: "s", rev: 0, items: [item], held: true } }]);
    expect(store.of("s").held).toBe(true);
    expect(store.of("gone").items).toEqual([]);
  });
});
