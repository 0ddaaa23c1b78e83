import { describe, expect, it } from "vitest";

import type {
  ApproveParams,
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
import { ApprovalStore } from "../src/stores/approval";
import { PlanStore } from "../src/stores/plan";
import { QueueStore } from "../src/stores/queue";
import { ReviewStore } from "../src/stores/review";
import { SessionStore } from "../src/stores/session";
import { StatusStore } from "../src/stores/status";
import { TranscriptStore } from "../src/stores/transcript";

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
  title: "Run true",
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

const approval: ApproveParams = {
  approvalId: "a1",
  sessionId: "s",
  turnId: "t1",
  callId: "c1",
  title: "Run a command",
  command: "npm test",
  cwd: "/w",
  reason: "It may change something.",
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

  it("reveals once a turn, and folds with a new generation", () => {
    expect(follow(plan(1), plan(2), plan(3, { panel: "collapsed" }), plan(4, { turnId: "t2" }), plan(5, { turnId: "t2" }))).toEqual([
      "1 open reveal",
      "1 open",
      "2 collapsed",
      "3 open reveal",
      "3 open",
    ]);
  });

  it("ignores a snapshot that comes late", () => {
    expect(follow(plan(2, { panel: "collapsed" }), plan(1))).toEqual(["1 collapsed"]);
  });

  it("takes any revision of another session", () => {
    expect(follow(plan(9), plan(1, { sessionId: "other", turnId: "t9" }))).toEqual(["1 open reveal", "2 open reveal"]);
  });

  it("does not reveal what it restores", () => {
    const store = new PlanStore();
    const reveals: boolean[] = [];
    store.onDidChange(({ reveal }) => reveals.push(reveal));
    store.restore(plan(7));
    store.update(plan(8));
    expect(reveals).toEqual([false, false]);
  });

  it("remembers what was dropped until it is back or the turn is another", () => {
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

  it("has the plans of earlier turns, the newest first, without the one in view", () => {
    const store = new PlanStore();
    const earlier = (turnId: string): EarlierPlan => ({ turnId, task: turnId, reason: "completed", plan: plan(1, { turnId }) });
    const turns = (): string[] => store.earlier.map(({ turnId }) => turnId);
    store.update(plan(1, { turnId: "t3" }));
    store.setEarlier("s", ["t1", "t2", "t3"].map(earlier));
    expect(turns()).toEqual(["t2", "t1"]);
    store.update(plan(1, { sessionId: "other" }));
    expect(turns()).toEqual([]);
  });

  it("shows no hidden plan", () => {
    const store = new PlanStore();
    store.update(plan(1, { panel: "hidden" }));
    expect(store.plan).toBeUndefined();
  });
});

describe("the review store", () => {
  it("knows hunks by line, also where lines were only removed", () => {
    const store = new ReviewStore();
    store.update(review("a", 1, [hunk("h1", 2, 4), hunk("h2", 9, 9, { removedLines: 1 })]));
    const at = (line: number): string | undefined => store.at("file:///w/a", line)?.hunk.id;
    expect([1, 2, 3, 4, 8, 9, 10].map(at)).toEqual([undefined, "h1", "h1", undefined, "h2", "h2", undefined]);
  });

  it("walks through files and around", () => {
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

  it("knows what was done under a plan item of a session", () => {
    const store = new ReviewStore();
    store.update(review("a", 1, [hunk("h1", 0, 1, { planItem: "1" }), hunk("h2", 2, 3, { planItem: "2" })]));
    store.update(review("b", 1, [hunk("h3", 0, 1, { planItem: "1" }), hunk("h4", 2, 3, { planItem: "1", sessionId: "other" })]));
    const ids = (uri?: string): string[] => store.ofItem("s", "1", uri).map((placed) => placed.hunk.id);
    expect([ids(), ids("file:///w/b")]).toEqual([["h1", "h3"], ["h3"]]);
  });

  it("has no neighbour where nothing is pending", () => {
    expect(new ReviewStore().neighbour("file:///w/a", 0, "next")).toBeUndefined();
  });

  it("lets a late report not bring settled edits back", () => {
    const store = new ReviewStore();
    store.update(review("a", 1, [hunk("h1", 0, 1)]));
    store.update(review("a", 3, []));
    store.update(review("a", 2, [hunk("h1", 0, 1)]));
    expect(store.pending).toBe(0);
  });

  it("takes two spellings of a URI for one file", () => {
    const store = new ReviewStore((uri) => uri.replaceAll("%2D", "-"));
    store.update({ ...review("a-b", 1, [hunk("h1", 0, 1)]), uri: "file:///w/a%2Db" });
    expect(store.get("file:///w/a-b")?.uri).toBe("file:///w/a%2Db");
  });

  it("starts anew with a new daemon", () => {
    const store = new ReviewStore();
    store.update(review("a", 9, [hunk("h1", 0, 1)]));
    store.restore([]);
    store.update(review("b", 1, [hunk("h2", 0, 1)]));
    expect(store.files.map(({ path }) => path)).toEqual(["b"]);
  });
});

describe("the session store", () => {
  it("has the session in view whose turn began last", () => {
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

  it("takes the same call id in two sessions for two calls", () => {
    const store = new SessionStore();
    store.update(started(1));
    store.updateTool(tool(9));
    store.update(started(1, "t2", "other"));
    store.updateTool(tool(2, { sessionId: "other", turnId: "t2", title: "Run other" }));
    expect(store.activeTool?.title).toBe("Run other");
    store.update(ended(3, "t2", "other"));
    store.update(started(10, "t1"));
    expect(store.activeTool?.title).toBe("Run true");
  });

  it("says that a turn ended once, with its words", () => {
    const store = new SessionStore();
    const ends: string[] = [];
    store.onDidEndTurn(({ text }) => ends.push(text));
    store.update(started(1));
    store.update(ended(2));
    store.update(ended(2));
    expect(ends).toEqual(["task of t1"]);
  });

  it("restores the running session, wherever it stands in the list", () => {
    const store = new SessionStore();
    store.restore([
      { sessionId: "one", turn: started(5, "t1", "one"), tools: [tool(6, { sessionId: "one" })], children: [], transcript: [] },
      { sessionId: "two", turn: ended(2, "t0", "two"), tools: [], children: [], transcript: [] },
    ]);
    expect([store.current, store.tools.length]).toEqual(["one", 1]);
  });
});

describe("a session that is opened", () => {
  const plain = { tools: [], children: [], transcript: [] };

  it("is in view, with its newest turn and why it can only be read", () => {
    const store = new SessionStore();
    store.update(started(7, "t1", "one"));
    store.update(ended(8, "t1", "one"));
    const readOnly = { reason: "openElsewhere", text: "Open in another window" } as const;
    store.open({ ...plain, sessionId: "two", task: "Blue", turn: ended(2, "t0", "two"), readOnly });
    expect([store.current, store.turn?.text, store.readOnly]).toEqual(["two", "Blue", readOnly]);
    store.open({ ...plain, sessionId: "one", turn: ended(9, "t1", "one") });
    expect([store.current, store.readOnly]).toEqual(["one", undefined]);
  });

  it("may be opened again when it can be written", () => {
    const store = new SessionStore();
    store.open({ ...plain, sessionId: "one", readOnly: { reason: "damaged", text: "…" } });
    store.open({ ...plain, sessionId: "one" });
    expect(store.readOnly).toBeUndefined();
  });

  it("is out of view when it is deleted", () => {
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

  it("interrupts what ran, and it is said when nothing is left of it", () => {
    expect(after()).toEqual({ phases: ["started", "interrupted", undefined], lost: ["task of t1"] });
  });

  it("interrupts it for the next one too, which can go on with it", () => {
    const turn = ended(2);
    const interrupted: TurnNotification = { ...turn, phase: { kind: "ended", reason: "interrupted", summary: "", openItems: 1, usage: noUsage } };
    const session = { sessionId: "s", task: "Fix it", turn: interrupted, tools: [], children: [], transcript: [] };
    expect(after(session)).toEqual({ phases: ["started", "interrupted", "ended"], lost: ["task of t1"] });
  });

  it("leaves it to the next one to say how the turn ended", () => {
    expect(after({ sessionId: "s", turn: ended(2), tools: [], children: [], transcript: [] })).toEqual({
      phases: ["started", "interrupted", "ended"],
      lost: [],
    });
  });
});

describe("the approval store", () => {
  it("takes the first answer", async () => {
    const store = new ApprovalStore();
    const answer = store.ask(approval);
    expect([store.answer("a1", "allowOnce"), store.answer("a1", "deny")]).toEqual([true, false]);
    await expect(answer).resolves.toEqual({ decision: "allowOnce" });
  });

  it("hands on the words of an answer, if there are any", async () => {
    const store = new ApprovalStore();
    const answered = async (words: string): Promise<unknown> => {
      const answer = store.ask(approval);
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

  it("stays while its own call waits, and others go on", () => {
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
      entry.kind === "tool" ? `${entry.title}:${entry.state}` : entry.kind === "end" ? `end ${entry.summary}` : `${entry.role} ${entry.text}`,
    );

  it("appends pieces, and believes the whole", () => {
    const store = new TranscriptStore();
    store.message(message(1, { delta: "Hel" }));
    store.message(message(2, { delta: "lo" }));
    expect(texts(store)).toEqual(["assistant Hello"]);
    store.message(message(4, { text: "Hello there" }));
    store.message(message(3, { delta: " lost" }));
    expect(texts(store)).toEqual(["assistant Hello there"]);
  });

  it("says the user's words and the summary once", () => {
    const store = new TranscriptStore();
    store.turn(started(1));
    store.message(message(2, { itemId: "m0", role: "user", text: "task of t1" }));
    store.message(message(3, { text: "All done." }));
    store.turn(ended(4, "t1", "s", "All done."));
    expect(texts(store)).toEqual(["user task of t1", "assistant All done.", "end "]);
  });

  it("keeps a summary that was not said", () => {
    const store = new TranscriptStore();
    store.turn(ended(1, "t1", "s", "The model is not reachable."));
    expect(texts(store)).toEqual(["end The model is not reachable."]);
  });

  it("follows a call and keeps its detail", () => {
    const store = new TranscriptStore();
    store.tool(tool(1, { state: "queued" }));
    store.approval(approval);
    store.tool(tool(2, { state: "done", detail: "ok" }));
    store.tool(tool(3, { state: "done" }));
    expect(store.entries).toEqual([{ kind: "tool", id: "tool:s/c1", title: "Run true", state: "done", detail: "ok", command: "npm test" }]);
  });

  it("keeps the command of a call that is asked about its files, too, and takes no file for a command", () => {
    const store = new TranscriptStore();
    store.tool(tool(1, { state: "queued" }));
    store.approval(approval);
    store.approval({ ...approval, kind: "change", command: "sub/.vscode (new)", quarantined: true });
    store.approval({ ...approval, callId: "c2", kind: "change", command: "Change package.json" });
    expect(store.entries.map((entry) => (entry.kind === "tool" ? entry.command : ""))).toEqual(["npm test", undefined]);
  });

  it("takes the same ids in two sessions for two things", () => {
    const store = new TranscriptStore();
    for (const sessionId of ["one", "two"]) {
      store.message(message(1, { sessionId, turnId: sessionId, text: `said in ${sessionId}` }));
      store.tool(tool(2, { sessionId, turnId: sessionId, title: `Run ${sessionId}` }));
    }
    store.approval({ ...approval, sessionId: "two", command: "asked in two" });
    expect(texts(store)).toEqual(["assistant said in one", "Run one:running", "assistant said in two", "Run two:running"]);
    expect(store.entries.map((entry) => (entry.kind === "tool" ? entry.command : ""))).toEqual(["", undefined, "", "asked in two"]);
  });

  it("takes what a new daemon knows of the time before for the whole of it", () => {
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

  it("is bounded", () => {
    const store = new TranscriptStore();
    for (let index = 0; index < 2_500; index += 1) {
      store.message(message(index, { itemId: `m${index}`, delta: "x" }));
    }
    expect(store.entries.length).toBe(2_000);
    expect(store.entries.at(-1)?.id).toBe("message:s/m2499");
  });
});

describe("the status store", () => {
  const status = (rev: number, text: string): StatusNotification => ({
    rev,
    model: { provider: "replay", name: "sample", replay: true },
    connection: { kind: "idle" },
    banners: [{ kind: "setting", text }],
  });

  it("tells a banner once", () => {
    const store = new StatusStore();
    const told: string[] = [];
    store.onDidAddBanner(({ text }) => told.push(text));
    store.update(status(1, "one"));
    store.update(status(2, "one"));
    store.update(status(3, "two"));
    expect(told).toEqual(["one", "two"]);
  });

  it("knows nothing of a daemon that is not there", () => {
    const store = new StatusStore();
    store.setLink({ kind: "running", version: "1" });
    store.update(status(1, "one"));
    store.setLink({ kind: "failed", message: "gone" });
    expect(store.status).toBeUndefined();
  });
});

describe("the queue", () => {
  const item = { id: "q1", text: "Next" };

  it("shows the newest of each session", () => {
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

  it("takes what a new daemon says, whatever its numbers", () => {
    const store = new QueueStore();
    store.update({ sessionId: "s", rev: 9, items: [item], held: false });
    store.update({ sessionId: "gone", rev: 9, items: [item], held: false });
    store.restore([{ sessionId: "s", tools: [], children: [], transcript: [], queue: { sessionId: "s", rev: 0, items: [item], held: true } }]);
    expect(store.of("s").held).toBe(true);
    expect(store.of("gone").items).toEqual([]);
  });
});
