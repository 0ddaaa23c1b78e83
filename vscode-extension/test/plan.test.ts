import { describe, expect, it } from "vitest";

import { plain, planMarkdown } from "../src/plan/markdown";
import { type ItemRow, type RootRow, type Row, contextOf, idOf, itemRows } from "../src/plan/rows";
import { rowText } from "../src/plan/rowItems";
import type { EarlierPlan, EndReason, LinkedCommand, PlanItem, PlanNotification, ToolState } from "../src/protocol";
import type { Turn } from "../src/stores/session";
import { duration, spokenDuration } from "../src/text/duration";
import { said } from "./entries";

const item = (over: Partial<PlanItem> = {}): PlanItem => ({
  id: "1",
  content: "Fix it",
  activeForm: "Fixing it",
  status: "pending",
  blocked: false,
  blockedBy: [],
  files: [],
  commands: [],
  calls: 1,
  elapsedMs: 0,
  ...over,
});

const plan = (items: PlanItem[], over: Partial<PlanNotification> = {}): PlanNotification => ({
  sessionId: "s",
  turnId: "t",
  rev: 1,
  panel: "expanded",
  items,
  completed: items.filter(({ status }) => status === "completed").length,
  total: items.length,
  dropped: [],
  ...over,
});

const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
const started: Turn = { sessionId: "s", turnId: "t", text: "Fix the cart", phase: { kind: "started", text: "Fix the cart" } };
const ended = (reason: EndReason, summary = ""): Turn => ({
  ...started,
  phase: { kind: "ended", reason, summary, openItems: 0, usage },
});

const root = (over: Partial<RootRow> = {}): RootRow => ({
  kind: "root",
  plan: plan([item({ status: "completed" }), item({ id: "2" })]),
  generation: 1,
  collapsed: false,
  running: true,
  waits: false,
  turn: started,
  task: "Fix the cart",
  ready: false,
  dropped: [],
  ...over,
});

/** The first row of a plan with these items. */
function rowOf(first: Partial<PlanItem>, { activity = "", edits = 0, running = true, others = [] as PlanItem[] } = {}): ItemRow {
  const parent = root({ running, plan: plan([item(first), ...others]) });
  const [row] = itemRows(parent, () => ({ activity, edits }));
  if (row === undefined) {
    throw new Error("no row");
  }
  return row;
}

describe("the root row of the plan", () => {
  const open = plan([item({ status: "completed" }), item({ id: "2" })]);
  const done = plan([item({ status: "completed" })]);

  it.each([
    [root(), "working", "plan running"],
    [root({ running: false, turn: ended("completed") }), "1 open", "plan open"],
    [root({ running: false, turn: ended("completed"), ready: true }), "waits for your approval, 1 open", "plan ready"],
    [root({ running: false, turn: ended("needsInput"), ready: true }), "waits for your approval, 1 open", "plan ready asks"],
    [root({ running: false, turn: ended("completed"), plan: done }), "done", "plan"],
    [root({ waits: true }), "waits for you", "plan running"],
    [root({ running: false, turn: ended("needsInput") }), "waits for your reply, 1 open", "plan open asks"],
    [root({ running: false, turn: ended("needsInput"), plan: done }), "waits for your reply, done", "plan asks"],
    [root({ running: false, turn: ended("cancelled") }), "cancelled, 1 open", "plan open"],
    [root({ running: false, turn: ended("limit") }), "stopped at a limit, 1 open", "plan open"],
    [root({ running: false, turn: { ...started, phase: { kind: "interrupted" } } }), "interrupted, 1 open", "plan"],
    // Another turn followed that has made no plan.
    [root({ running: true, turn: undefined }), "1 open", "plan running"],
    [root({ running: false, turn: undefined, plan: open }), "1 open", "plan open"],
  ] satisfies [RootRow, string, string][])("case %#", (row, description, context) => {
    expect([rowText(row).description, contextOf(row)]).toEqual([description, context]);
  });

  it("shows the task, the count of steps and the question", () => {
    expect(rowText(root({ running: false, turn: ended("needsInput", "Which one?") }))).toEqual({
      label: "Fix the cart",
      description: "waits for your reply, 1 open",
      tooltip: "Fix the cart\n1 of 2 done\nWhich one?",
      spoken: "Fix the cart. Plan, 1 of 2 done, waits for your reply, 1 open",
    });
  });
});

describe("the row of a plan item", () => {
  const files = [{ uri: "file:///w/src/a.ts", path: "src/a.ts" }];
  const commands: LinkedCommand[] = [{ callId: "c", title: said("Run npm test"), state: "done", elapsedMs: 800 }];

  it.each([
    [rowOf({}), "Fix it", "", "Fix it, open"],
    [rowOf({ status: "inProgress" }, { activity: "Run npm test" }), "Fixing it", "Run npm test", "Fixing it, in progress, Run npm test"],
    [rowOf({ status: "inProgress", activeForm: "" }), "Fix it", "", "Fix it, in progress"],
    // Without a running turn, an item in progress was begun.
    [rowOf({ status: "inProgress" }, { running: false }), "Fix it", "begun", "Fix it, begun"],
    [rowOf({ status: "inProgress", elapsedMs: 12_400 }, { running: false }), "Fix it", "begun", "Fix it, begun, 12 seconds so far"],
    [rowOf({ status: "completed" }), "Fix it", "", "Fix it, completed"],
    [rowOf({ status: "completed", elapsedMs: 999 }), "Fix it", "", "Fix it, completed"],
    [rowOf({ status: "completed", elapsedMs: 12_400 }), "Fix it", "12 s", "Fix it, completed in 12 seconds"],
    [rowOf({ status: "completed", calls: 0, elapsedMs: 12_400 }), "Fix it", "no recorded work", "Fix it, completed, no recorded work"],
    [rowOf({ blocked: true }), "Fix it", "blocked", "Fix it, blocked"],
    [
      rowOf({ blocked: true, blockedBy: ["7", "gone"] }, { others: [item({ id: "7", content: "Read" })] }),
      "#1 Fix it",
      "blocked by #7",
      "#1 Fix it, blocked by #7",
    ],
    [rowOf({ files, commands }, { edits: 2 }), "Fix it", "", "Fix it, open, 1 file, 1 command, 2 edits to review"],
  ] satisfies [ItemRow, string, string, string][])("case %#", (row, label, description, spoken) => {
    const text = rowText(row);
    expect([text.label, text.description, text.spoken]).toEqual([label, description, spoken]);
  });

  it("explains a step without recorded work in the tooltip", () => {
    expect(rowText(rowOf({ status: "completed", calls: 0 })).tooltip).toBe(
      "Fix it\nCompleted, no recorded work\nThe agent says it is done; nothing was recorded under it.",
    );
  });

  it("shows the whole text in the tooltip", () => {
    const others = [item({ id: "7", content: "Read" })];
    const row = rowOf({ content: "long ".repeat(100).trim(), blocked: true, blockedBy: ["7"], files, commands }, { edits: 1, others });
    expect(rowText(row).tooltip.split("\n")).toEqual([
      `#1 ${"long ".repeat(100).trim()}`,
      "Blocked by #7",
      "Waits for #7 Read",
      "1 file, 1 command, 1 edit to review",
    ]);
  });

  it("offers the commands that apply to it", () => {
    expect([rowOf({}), rowOf({ files }), rowOf({ files }, { edits: 1 })].map(contextOf)).toEqual(["item", "item files", "item files edits"]);
  });

  it("is shown as plain text, without icons or links", () => {
    expect(rowText(rowOf({ content: "a\u202eb\u0007\n# c" })).label).toBe("a\\u{202e}b\\x07 ⏎ # c");
  });
});

describe("the rows under a plan item", () => {
  const command = (state: ToolState, running: boolean, elapsedMs?: number): string => {
    const linked = { callId: "c", title: said("Run npm test"), state, ...(elapsedMs === undefined ? {} : { elapsedMs }) };
    const { description, spoken } = rowText({ kind: "command", parent: rowOf({}, { running }), command: linked });
    return `${description} | ${spoken}`;
  };

  it("shows the result of a command", () => {
    expect([
      command("done", true, 800),
      command("failed", false, 61_000),
      command("declined", true),
      command("awaitingApproval", true),
      command("running", true),
      command("running", false),
    ]).toEqual([
      "0.8 s | Run npm test, done, 0.8 seconds",
      "failed, 1 min 1 s | Run npm test, failed, 1 minute 1 second",
      "declined | Run npm test, declined",
      "waits for approval | Run npm test, waits for approval",
      "running | Run npm test, running",
      "interrupted | Run npm test, interrupted",
    ]);
  });

  it("shows the pending edits of a file", () => {
    const file = { uri: "file:///w/src/a.ts", path: "src/a.ts" };
    const text = (edits: number): string[] => {
      const { label, description, spoken } = rowText({ kind: "file", parent: rowOf({}), file, edits });
      return [label, description, spoken];
    };
    expect(text(2)).toEqual(["a.ts", "2 edits  src", "File src/a.ts, 2 edits to review"]);
    expect(text(0)).toEqual(["a.ts", "src", "File src/a.ts, nothing to review"]);
  });

  it("names dropped items", () => {
    const row = { kind: "dropped", parent: root(), texts: ["Old step", "Older step"] } as const;
    expect(rowText(row)).toMatchObject({
      label: "2 steps were dropped",
      tooltip: "Left out of the plan while still open:\nOld step\nOlder step",
    });
  });
});

describe("earlier plans", () => {
  const earlier = (reason: EndReason, ...items: PlanItem[]): EarlierPlan => ({ turnId: "t0", task: "Fix the cart", reason, plan: plan(items) });
  const history = { kind: "history", sessionId: "s", turns: [] } as const;

  it("show how they ended", () => {
    const text = (plan: EarlierPlan): string => rowText({ kind: "earlier", parent: history, earlier: plan }).description;
    expect([
      text(earlier("completed", item({ status: "completed" }))),
      text(earlier("completed", item())),
      text(earlier("cancelled", item())),
    ]).toEqual(["1/1 · done", "0/1 · 1 open", "0/1 · cancelled"]);
  });

  it("have their own rows, even if an item continues in the next turn", () => {
    const parent = { kind: "earlier", parent: history, earlier: earlier("completed", item()) } as const;
    const rows: Row[] = [rowOf({}), ...itemRows(parent, () => ({ activity: "", edits: 0 }))];
    expect(rows.map(idOf)).toEqual(["item:s:1", "earlier:t0:item:1"]);
    expect(rows.map(contextOf)).toEqual(["item", "past item"]);
  });
});

describe("a copied plan", () => {
  it("is a Markdown task list with one line for each item", () => {
    const items = [item({ status: "completed" }), item({ content: "two\nlines", status: "inProgress" }), item({ status: "cancelled" })];
    expect(planMarkdown(items)).toBe("- [x] Fix it\n- [ ] two lines\n- [ ] ~~Fix it~~\n");
  });

  it("escapes invisible characters", () => {
    expect(plain("rm \u202ecod.txt")).toBe("rm \\u{202e}cod.txt");
  });
});

describe("the duration of a turn", () => {
  it.each([
    [40, "0 s", "0 seconds"],
    [800, "0.8 s", "0.8 seconds"],
    [1_000, "1 s", "1 second"],
    [9_960, "10 s", "10 seconds"],
    [60_000, "1 min", "1 minute"],
    [125_000, "2 min 5 s", "2 minutes 5 seconds"],
    [7_500_000, "2 h 5 min", "2 hours 5 minutes"],
  ])("%i ms", (ms, shown, spoken) => {
    expect([duration(ms), spokenDuration(ms, "en")]).toEqual([shown, spoken]);
  });
});
