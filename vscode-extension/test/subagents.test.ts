import { describe, expect, it } from "vitest";

import { renderConversation } from "../src/conversation/render";
import { type SubagentRow, type RootRow, contextOf, idOf, isLive, itemRows } from "../src/plan/rows";
import { rowText } from "../src/plan/rowItems";
import type { SubagentNotification, SubagentPhase, PlanItem, ToolNotification } from "../src/protocol";
import { approvalNotice, type Approval } from "../src/text/approval";
import { said } from "./entries";
import { TestStore } from "./testStore";

const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
const parent = { sessionId: "s", turnId: "t", callId: "k1", planItem: "1" };

const item = (over: Partial<PlanItem> = {}): PlanItem => ({
  id: "1",
  content: "Read it",
  activeForm: "Reading it",
  status: "inProgress",
  blocked: false,
  blockedBy: [],
  files: [],
  commands: [],
  calls: 1,
  elapsedMs: 0,
  ...over,
});

const subagent = (rev: number, over: Partial<SubagentNotification> = {}): SubagentNotification => ({
  sessionId: "c",
  turnId: "ct",
  rev,
  parent,
  place: 0,
  title: "Look at a",
  phase: { kind: "running" },
  items: [],
  completed: 0,
  total: 0,
  rounds: 0,
  usage,
  ...over,
});

const root: RootRow = {
  kind: "root",
  plan: { sessionId: "s", turnId: "t", rev: 1, panel: "expanded", items: [item()], completed: 0, total: 1, dropped: [] },
  generation: 1,
  collapsed: false,
  running: true,
  waits: false,
  turn: undefined,
  task: "",
  ready: false,
  dropped: [],
};

const row = (over: Partial<SubagentNotification> = {}, { live = true, activity = "" } = {}): SubagentRow => ({
  kind: "subagent",
  parent: root,
  subagent: subagent(1, over),
  live,
  activity,
});

const ended = (reason: Extract<SubagentPhase, { kind: "ended" }>["reason"]): SubagentPhase => ({ kind: "ended", reason });
const planned = { items: [item({ status: "completed" }), item({ id: "2" })], completed: 1, total: 2 };

describe("the row of a subagent", () => {
  it.each([
    [row(), "working", "Subagent Look at a, working", "subagent running"],
    [row({}, { activity: "Read a" }), "Read a", "Subagent Look at a, working, Read a", "subagent running"],
    [row(planned, { activity: "Read a" }), "1/2 · Read a", "Subagent Look at a, working, 1 of 2 done, Read a", "subagent running"],
    [row({ phase: { kind: "waiting" } }), "waits for others", "Subagent Look at a, waits for others", "subagent running"],
    [row({ ...planned, phase: ended("completed") }, { live: false }), "1/2", "Subagent Look at a, done, 1 of 2 done", "subagent"],
    [row({ phase: ended("completed") }, { live: false }), "", "Subagent Look at a, done", "subagent"],
    // The agent has its question, and nobody waits for the user.
    [row({ phase: ended("needsInput") }, { live: false }), "", "Subagent Look at a, done", "subagent"],
    [row({ phase: ended("failed") }, { live: false }), "failed", "Subagent Look at a, failed", "subagent"],
    [row({ phase: ended("limit") }, { live: false }), "stopped at a limit", "Subagent Look at a, stopped at a limit", "subagent"],
    // Its daemon is gone: nothing works.
    [row({}, { live: false }), "interrupted", "Subagent Look at a, interrupted", "subagent"],
  ] satisfies [SubagentRow, string, string, string][])("case %#", (it, description, spoken, context) => {
    const text = rowText(it);
    expect([text.description, text.spoken, contextOf(it)]).toEqual([description, spoken, context]);
  });

  it("shows its cost in the tooltip", () => {
    const spent = { rounds: 3, usage: { inputTokens: 900, outputTokens: 100, cachedTokens: 0 } };
    expect(rowText(row({ ...planned, ...spent })).tooltip).toBe("Subagent: Look at a\nWorking, 1 of 2 done\n3 rounds, 1000 tokens");
  });

  it("changes its id when it gets a plan and when it ends, so that it expands and collapses", () => {
    const rows = [row(), row(planned), row({ ...planned, phase: ended("completed") }, { live: false })];
    expect(rows.map(idOf)).toEqual(["subagent:c live", "subagent:c live planned", "subagent:c planned"]);
    expect(rows.map(isLive)).toEqual([true, true, false]);
  });

  it("has the steps of its own plan, which spin only while it works", () => {
    const steps = (of: SubagentRow): unknown[] =>
      itemRows({ ...of, subagent: { ...of.subagent, ...planned } }, () => ({ activity: "", edits: 0 })).map((it) => [
        idOf(it),
        it.running,
        contextOf(it),
      ]);
    expect(steps(row())).toEqual([
      ["item:c:1", true, "item"],
      ["item:c:2", true, "item"],
    ]);
    expect(steps(row({ phase: ended("completed") }, { live: false }))[0]).toEqual(["item:c:1", false, "item"]);
  });

  it("expands the plan item above it while it works", () => {
    const [of] = itemRows(root, () => ({ activity: "", edits: 0, subagents: true, live: true }));
    const [after] = itemRows(root, () => ({ activity: "", edits: 0, subagents: true, live: false }));
    expect([of, after].map((it) => it && [idOf(it), isLive(it)])).toEqual([
      ["item:s:1 live", true],
      ["item:s:1", false],
    ]);
  });
});

describe("the subagent store", () => {
  it("keeps the newest state of each, in the order of the calls", () => {
    const store = new TestStore();
    store.subagent(subagent(2, { place: 1 }));
    store.subagent(subagent(3, { sessionId: "d", title: "First" }));
    store.subagent(subagent(4, { place: 1, title: "Second" }));
    store.subagent(subagent(1, { title: "Late" }));
    expect(store.sessions.subagentsOf("s", "t").map(({ title }) => title)).toEqual(["First", "Second"]);
    expect(store.sessions.subagentsOf("s", "other")).toEqual([]);
    store.connected({ sessionId: "s", tools: [], transcript: [], subagents: [subagent(1, { title: "Restored" })] });
    expect(store.sessions.subagentsOf("s", "t").map(({ title }) => title)).toEqual(["Restored"]);
  });
});

describe("the calls of a subagent", () => {
  const tool = (rev: number, callId: string, over: Partial<ToolNotification> = {}): ToolNotification => ({
    sessionId: "c",
    turnId: "ct",
    rev,
    callId,
    name: "read_file",
    title: said(`Read ${callId}`),
    state: "done",
    parent,
    ...over,
  });
  const ofParent = (rev: number): ToolNotification => ({
    sessionId: "s",
    turnId: "t",
    rev,
    callId: "k1",
    name: "task",
    title: said("Task: Look at a"),
    state: "running",
  });

  it("are separate from the agent's calls, and are removed with its turn", () => {
    const store = new TestStore();
    store.turn({ sessionId: "s", turnId: "t", rev: 1, phase: { kind: "started", text: "Do it" } });
    store.tool(ofParent(2));
    store.tool(tool(3, "c1", { state: "running" }));
    expect(store.sessions.activeTool?.title.template).toBe("Task: Look at a");
    expect(store.sessions.activeToolOf("ct")?.title.template).toBe("Read c1");
    store.turn({ sessionId: "s", turnId: "t2", rev: 4, phase: { kind: "started", text: "Go on" } });
    expect(store.sessions.activeToolOf("ct")).toBeUndefined();
  });

  it("are shown under the call that started it, the newest only", () => {
    const store = new TestStore();
    store.tool(ofParent(1));
    store.tool({ ...ofParent(2), callId: "k2", title: said("Task: Look at b") });
    for (let n = 1; n <= 14; n++) {
      store.tool(tool(2 + n, `c${n}`));
    }
    store.tool(tool(20, "c15", { state: "awaitingApproval", title: said("Run x") }));
    store.approval({
      approvalId: "a",
      sessionId: "c",
      turnId: "ct",
      callId: "c15",
      title: "Run a command",
      question: said("Run a command"),
      command: "x",
      cwd: "/w",
      reason: "",
      risk: "",
      rules: [],
      forSession: "",
      subagent: "Look at a",
    });
    const lines = renderConversation(store.transcript.entries).split("\n");
    expect(lines.slice(0, 3)).toEqual(["○ Task: Look at a  (running)", "    … 3 earlier calls …", "    ✓ Read c4"]);
    expect(lines.slice(-4)).toEqual(["    ? Run x  (waits for approval)", "      $ x", "○ Task: Look at b  (running)", ""]);
  });

  it("are shown alone if that call is no longer kept", () => {
    const store = new TestStore();
    store.tool(tool(1, "c1"));
    expect(renderConversation(store.transcript.entries)).toBe("✓ Read c1\n");
  });
});

describe("an edit of a subagent", () => {
  it("counts for the agent's step and for its own", () => {
    const range = { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } };
    const hunk = {
      id: "h",
      sessionId: "s",
      turnId: "t",
      planItem: "1",
      range,
      oldText: "",
      newText: "",
      removedLines: 0,
      addedLines: 1,
      mixed: false,
      outdated: false,
    };
    const store = new TestStore();
    store.review({ uri: "file:///a", path: "a", rev: 1, kind: "edited", hunks: [{ ...hunk, subagent: { sessionId: "c", planItem: "7" } }] });
    expect([store.reviews.ofItem("s", "1").length, store.reviews.ofItem("c", "7").length, store.reviews.ofItem("c", "1").length]).toEqual([1, 1, 0]);
  });
});

describe("a question of a subagent", () => {
  const asked: Approval = {
    approvalId: "a",
    sessionId: "c",
    turnId: "ct",
    callId: "c1",
    title: "Run a command",
    question: said("Run a command"),
    command: "npm test",
    cwd: "/w",
    reason: "Because.",
    risk: "",
    rules: [],
    forSession: "",
    subagent: "Look at a",
  };

  it("names the subagent", () => {
    expect(approvalNotice(asked)).toBe("Run a command (Look at a)? npm test");
  });
});
