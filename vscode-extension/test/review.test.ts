import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CancellationToken, Range, TextDocument, Uri } from "vscode";

import { readyPlan } from "../src/plan/planReady";
import type { EndReason, Hunk, PlanItem, PlanNotification, ReviewMode, ReviewNotification, UiMessage } from "../src/protocol";
import { HunkActions } from "../src/review/actions";
import { byPlanItem } from "../src/review/groups";
import { HunkLenses } from "../src/review/lenses";
import { HunkDecorations } from "../src/review/hunkDecorations";
import { rejectionOf } from "../src/review/keepOrDrop";
import { ReviewCommands } from "../src/review/commands";
import { RepeatGuard } from "../src/review/repeat";
import { ScrollAnchor, linesAddedAbove } from "../src/review/scrollAnchor";
import { struckWords } from "../src/review/removedText";
import { RemovedZones } from "../src/review/zones";
import { type PlacedHunk, lineCounts } from "../src/stores/review";
import { said } from "./entries";
import { FakeEditor, Uri as FakeUri, desk, dialog, documentChanges, registered, settings, statusMessages, window, zones } from "./vscode";
import { type Memory, Modes, keepModes, readModes } from "../src/stores/mode";
import { Plans } from "../src/stores/plan";
import { TestStore } from "./testStore";

vi.mock("../src/daemon/agent", () => ({ reasonOf: String }));

const hunk = (id: string, line: number, over: Partial<Hunk> = {}): Hunk => ({
  id,
  sessionId: "s",
  turnId: "t",
  range: { start: { line, character: 0 }, end: { line: line + 1, character: 0 } },
  oldText: "",
  newText: "new",
  removedLines: 0,
  addedLines: 1,
  mixed: false,
  outdated: false,
  ...over,
});

const review = (path: string, rev: number, hunks: Hunk[], version = 1): ReviewNotification => ({
  uri: `file:///w/${path}`,
  path,
  rev,
  version,
  kind: "edited",
  hunks,
});

const item = (id: string): PlanItem => ({
  id,
  content: `item ${id}`,
  activeForm: "",
  status: "pending",
  blocked: false,
  blockedBy: [],
  files: [],
  commands: [],
  calls: 0,
  elapsedMs: 0,
});

const plan = (turnId: string, ids: string[]): PlanNotification => ({
  sessionId: "s",
  turnId,
  rev: 1,
  panel: "collapsed",
  items: ids.map(item),
  completed: 0,
  total: ids.length,
  dropped: [],
});

class Drawer implements Memory {
  readonly #kept = new Map<string, string>();
  get = (key: string): unknown => {
    const text = this.#kept.get(key);
    return text === undefined ? undefined : JSON.parse(text);
  };
  update = (key: string, value: unknown): void => void this.#kept.set(key, JSON.stringify(value));
}

describe("modes", () => {
  it("follow the setting until the user chooses", () => {
    expect(new Modes("ask").of()).toBe("ask");
  });

  it("belong to a session; the last choice goes to new ones", () => {
    const modes = new Modes("review").began("a", "t1", "review").chose("auto", "b");
    expect([modes.of("a"), modes.of("b"), modes.of("c"), modes.of()]).toEqual(["review", "auto", "auto", "auto"]);
  });

  it("survive a reload of the window", () => {
    const memory = new Drawer();
    const store = new TestStore();
    keepModes(store, memory);
    store.apply({ kind: "mode", mode: "plan", sessionId: undefined });
    store.apply({ kind: "began", sessionId: "a", turnId: "t1", mode: "plan" });
    const after = readModes(memory, "review");
    expect([after.of(), after.of("a"), after.isPlanning("a", "t1")]).toEqual(["plan", "plan", true]);
  });

  it("are replaced by a later change of the setting", () => {
    const modes = new Modes("review").chose("plan", "a").set("ask");
    expect([modes.of(), modes.of("a")]).toEqual(["ask", "ask"]);
  });

  it("are forgotten for the oldest sessions", () => {
    let modes = new Modes("review");
    for (let index = 0; index < 30; index++) {
      modes = modes.began(`s${index}`, "t", "auto");
    }
    expect([modes.of("s0"), modes.of("s29")]).toEqual(["review", "auto"]);
  });
});

describe("a plan to approve", () => {
  const after = (mode: ReviewMode, reason: EndReason | undefined, next?: ReviewMode): string | undefined => {
    const store = new TestStore();
    const ids = { sessionId: "s", turnId: "t" };
    store.turn({ ...ids, rev: 1, phase: { kind: "started", text: "Do it" } });
    store.apply({ kind: "began", sessionId: "s", turnId: "t", mode });
    if (next !== undefined) {
      store.apply({ kind: "mode", mode: next, sessionId: "s" });
    }
    if (reason !== undefined) {
      const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
      store.turn({ ...ids, rev: 2, phase: { kind: "ended", reason, summary: "", openItems: 1, usage } });
    }
    return readyPlan(store.state)?.turnId;
  };

  it.each([
    ["plan", "completed", undefined, "t"],
    ["plan", "needsInput", undefined, "t"],
    // What the next turn will be does not change what this one was.
    ["plan", "completed", "auto", "t"],
    ["plan", undefined, undefined, undefined],
    ["plan", "cancelled", undefined, undefined],
    ["plan", "failed", undefined, undefined],
    ["review", "completed", undefined, undefined],
    ["review", "completed", "plan", undefined],
  ] satisfies [ReviewMode, EndReason | undefined, ReviewMode | undefined, string | undefined][])(
    "%s, %s, then %s: %s",
    (mode, reason, next, turn) => {
      expect(after(mode, reason, next)).toBe(turn);
    },
  );
});

describe("edits by plan item", () => {
  const placed = (...hunks: Hunk[]): PlacedHunk[] => {
    const store = new TestStore();
    store.review(review("a", 1, hunks));
    return store.reviews.placed("file:///w/a");
  };
  const shown = (hunks: PlacedHunk[], ids: string[]): string[] =>
    byPlanItem(hunks, "s", ids.map(item)).map((group) => `${group.item?.id ?? "-"}: ${group.placed.map((each) => each.hunk.id).join(" ")}`);

  it("are in the order of the plan, with other edits last", () => {
    const hunks = placed(
      hunk("h1", 1),
      hunk("h2", 3, { planItem: "2" }),
      hunk("h3", 5, { planItem: "1" }),
      hunk("h4", 7, { planItem: "2" }),
      hunk("h5", 9, { planItem: "gone" }),
      hunk("h6", 11, { planItem: "1", sessionId: "another" }),
    );
    expect(shown(hunks, ["1", "2", "3"])).toEqual(["1: h3", "2: h2 h4", "-: h1 h5 h6"]);
    expect(shown([], ["1"])).toEqual([]);
  });

  it("keep the steps of other sessions, and of a plan that dropped them, by their words", () => {
    const of = (sessionId: string, planItem: string, planItemText: string): Partial<Hunk> => ({ sessionId, planItem, planItemText });
    const hunks = placed(
      hunk("h1", 1, of("r", "10", "Later")),
      hunk("h2", 3, of("s", "1", "As it was")),
      hunk("h3", 5, of("r", "9", "Sooner")),
      hunk("h4", 7, of("r", "10", "Later")),
      hunk("h5", 9, of("s", "7", "Dropped")),
      hunk("h6", 11, { sessionId: "r", planItem: "9" }),
      hunk("h7", 13, of("z", "1", "Newest")),
      hunk("h8", 15),
    );
    const groups = byPlanItem(hunks, "s", [item("1")]);
    expect(
      groups.map(({ sessionId, item: step, placed: own }) => [sessionId, step?.content, step?.status, own.map((each) => each.hunk.id).join(" ")]),
    ).toEqual([
      ["s", item("1").content, "pending", "h2"],
      ["s", "Dropped", undefined, "h5"],
      ["z", "Newest", undefined, "h7"],
      ["r", "Sooner", undefined, "h3 h6"],
      ["r", "Later", undefined, "h1 h4"],
      ["s", undefined, undefined, "h8"],
    ]);
  });

  it("include the items of earlier plans of the session", () => {
    const earlier = { turnId: "t1", task: "", reason: "completed", plan: plan("t1", ["1", "2"]) } as const;
    const plans = new Plans().with(plan("t2", ["2", "3"])).withEarlier("s", [earlier]);
    expect(plans.items.map(({ id }) => id)).toEqual(["2", "3", "1"]);
  });

  it("have line counts", () => {
    expect(lineCounts([hunk("1", 1), hunk("2", 2, { addedLines: 2, removedLines: 4 })])).toBe("+3 −4");
  });
});

describe("the decorations of hunks", () => {
  let store: TestStore;
  let a: FakeEditor;
  let b: FakeEditor;

  beforeEach(() => {
    store = new TestStore();
    [a, b] = [new FakeEditor("file:///w/a"), new FakeEditor("file:///w/b")];
    desk.editors = [a];
    new HunkDecorations(store, "ext" as unknown as Uri);
  });

  it("are set once for each report about the file, and only then", () => {
    store.review(review("a", 1, [hunk("1", 3)]));
    expect(a.resets).toEqual(["added 3", "made", "words", "removed"]);
    // Edits elsewhere, tabs that come and go, a report that comes late.
    store.review(review("b", 2, [hunk("1", 5)]));
    store.review(review("b", 3, [hunk("1", 6)]));
    store.review(review("a", 1, []));
    desk.editors = [a, b];
    desk.changed();
    desk.changed();
    expect(a.resets.length).toBe(4);
    expect(b.resets).toEqual(["added 6", "made", "words", "removed"]);
    store.review(review("a", 4, [hunk("1", 4), hunk("2", 9)]));
    expect(a.resets.slice(4)).toEqual(["added 4 9", "made", "words", "removed"]);
    expect(b.resets.length).toBe(4);
  });

  it("are cleared with the decision, and never set on a file without edits", () => {
    store.review(review("b", 1, [hunk("1", 3)]));
    expect(a.resets).toEqual([]);
    store.review(review("a", 2, [hunk("1", 3)]));
    store.review(review("a", 3, []));
    expect(a.resets).toEqual(["added 3", "made", "words", "removed", "added", "made", "words", "removed"]);
  });

  it("wait while the document is newer than the report", () => {
    a.document.version = 7;
    store.review(review("a", 1, [hunk("1", 3)], 6));
    expect(a.resets).toEqual([]);
    store.review(review("a", 2, [hunk("1", 4)], 7));
    expect(a.resets).toEqual(["added 4", "made", "words", "removed"]);
  });

  it("are set again on an editor that was hidden", () => {
    store.review(review("a", 1, [hunk("1", 3)]));
    const again = new FakeEditor("file:///w/a");
    desk.editors = [again];
    desk.changed();
    expect(again.resets).toEqual(["added 3", "made", "words", "removed"]);
  });
});

describe("a new file", () => {
  it("has marks beside its lines instead of colour, and says that it is new", async () => {
    const store = new TestStore();
    const editor = new FakeEditor("file:///w/a");
    desk.editors = [editor];
    new HunkDecorations(store, "ext" as unknown as Uri);
    store.review({ ...review("a", 1, [hunk("1", 0, { addedLines: 155 })]), kind: "created" });
    expect(editor.resets).toEqual(["added", "made 0", "words", "removed"]);
    const lenses = await new HunkLenses(store).provideCodeLenses(editor.document as unknown as TextDocument, {} as CancellationToken);
    expect(lenses.map(({ command }) => command?.title)).toEqual(["$(check)\u00a0Accept", "$(discard)\u00a0Reject", "New file (+155)"]);
  });
});

describe("a rejection of edits in which the user typed", () => {
  const typed = hunk("1", 3, { mixed: true, typedIn: "return x $(x) // mine" });

  it.each([
    ["Keep Mine", "reject"],
    ["Drop All", "drop"],
    [undefined, undefined],
  ])("asks what becomes of a changed line: %s", async (answer, decision) => {
    dialog.asked.length = 0;
    dialog.answer = answer;
    expect(await rejectionOf([hunk("2", 9), typed])).toBe(decision);
    expect(dialog.asked).toEqual(["You changed a line of this edit. “return x $\u2060(x) // mine” Keep Mine | Drop All"]);
  });

  it("asks nothing where whole lines are the user's, which stay", async () => {
    dialog.asked.length = 0;
    expect(await rejectionOf([hunk("1", 3, { mixed: true }), hunk("2", 9)])).toBe("reject");
    expect(dialog.asked).toEqual([]);
  });
});

describe("a decision while the user types", () => {
  afterEach(() => vi.useRealTimers());

  it("is requested again, but only with the revision that the user saw", async () => {
    vi.useFakeTimers();
    const answers: { applied: number; stale: number; failed: UiMessage[] }[] = [];
    const requested: unknown[] = [];
    const agent = {
      request: (_: unknown, { scope }: { scope: { hunks: { hunkId: string; rev?: number }[] } }) => {
        requested.push(scope.hunks.map(({ hunkId, rev }) => [hunkId, rev]));
        return Promise.resolve(answers.shift() ?? { applied: 0, stale: 1, failed: [] });
      },
    };
    const store = new TestStore();
    store.review(review("a", 7, [hunk("1", 3)]));
    new ReviewCommands(agent as never, store, {} as never, { get: () => undefined } as never);
    const reject = (command: string, ...args: object[]): unknown => {
      // Later than what counts as the second click of a double-click.
      vi.advanceTimersByTime(1_000);
      return registered.get(`cairn.${command}`)?.(...args);
    };

    answers.push({ applied: 0, stale: 1, failed: [] }, { applied: 1, stale: 0, failed: [] });
    expect(await reject("rejectHunk", { uri: "file:///w/a", hunkId: "1", rev: 7 })).toBe(true);
    expect(requested.splice(0)).toEqual([[["1", 7]], [["1", 7]]]);

    expect(await reject("rejectFile", { uri: "file:///w/a", rev: 7 })).toBe(false);
    expect(requested.splice(0)).toHaveLength(5);
    answers.push({ applied: 0, stale: 1, failed: [said("a: read-only")] });
    await reject("rejectFile", { uri: "file:///w/a", rev: 7 });
    await reject("rejectAll");
    expect(requested.splice(0, 2)).toEqual([[["1", 7]], [["1", undefined]]]);
  });

  it("of several edits is not reported as stale for those that an earlier request decided", async () => {
    const answers = [
      { applied: 1, stale: 1, failed: [] },
      { applied: 1, stale: 1, failed: [] },
    ];
    const request = vi.fn(() => Promise.resolve(answers.shift()));
    const store = new TestStore();
    store.review(review("a", 7, [hunk("1", 3), hunk("2", 9)]));
    new ReviewCommands({ request } as never, store, {} as never, { get: () => undefined } as never);
    statusMessages.length = 0;
    expect(await registered.get("cairn.rejectPlanItem")?.({ placed: store.reviews.placed("file:///w/a") })).toBe(true);
    expect([request.mock.calls.length, statusMessages]).toEqual([2, []]);
  });

  it("has no effect where VS Code has lost the clicked row, whatever is at the cursor", async () => {
    const requested: unknown[] = [];
    const agent = {
      request: (_: unknown, params: unknown) => {
        requested.push(params);
        return Promise.resolve({ applied: 1, stale: 0, failed: [] });
      },
    };
    const store = new TestStore();
    store.review(review("a", 7, [hunk("1", 3)]));
    new ReviewCommands(agent as never, store, {} as never, { get: () => store.reviews.placed("file:///w/a")[0] } as never);
    for (const command of ["acceptHunk", "rejectHunk", "acceptFile", "rejectFile", "acceptPlanItem"]) {
      expect(await registered.get(`cairn.${command}`)?.(undefined, undefined)).toBe(false);
    }
    expect(requested).toEqual([]);
    // In the title of the list VS Code passes the focused row, also none.
    await registered.get("cairn.rejectAll")?.(undefined);
    expect(requested).toHaveLength(1);
  });
});

describe("a double-click on a decision", () => {
  it("decides once, also if the next edit has moved under the pointer", () => {
    let now = 0;
    const guard = new RepeatGuard(() => now);
    const at = (time: number, place: string | undefined): boolean => {
      now = time;
      return guard.isRepeat(place);
    };
    expect([at(0, "row"), at(200, "row"), at(399, "row"), at(400, "row")]).toEqual([false, true, true, false]);
    expect([at(450, "lens"), at(500, undefined), at(510, undefined)]).toEqual([false, false, false]);
  });

  it("counts once in rows and lenses of any kind, and each key counts", async () => {
    const now = vi.spyOn(Date, "now");
    const decided: string[] = [];
    const agent = {
      request: (_: unknown, { decision, scope }: { decision: string; scope: { hunks: { hunkId: string }[] } }) => {
        decided.push(`${decision} ${scope.hunks.map(({ hunkId }) => hunkId).join(" ")}`);
        return Promise.resolve({ applied: 1, stale: 0, failed: [] });
      },
    };
    const store = new TestStore();
    store.review(review("a", 1, [hunk("1", 3), hunk("2", 9), hunk("3", 20)]));
    const here = { get: () => store.reviews.placed("file:///w/a")[0] };
    new ReviewCommands(agent as never, store, {} as never, here as never);
    const run = async (at: number, command: string, ...args: unknown[]): Promise<void> => {
      now.mockReturnValue(1_000_000 + at);
      await registered.get(`cairn.${command}`)?.(...args);
    };
    const row = (id: string): object => ({ kind: "hunk", uri: "file:///w/a", hunkId: id, rev: 1 });
    const lens = (id: string): object => ({ uri: "file:///w/a", hunkId: id, rev: 1 });
    const step = { kind: "step", item: { id: "s1" }, sessionId: "s", placed: store.reviews.placed("file:///w/a").slice(2) };

    await run(0, "rejectHunk", row("1"), undefined);
    await run(100, "rejectHunk", row("2"), undefined);
    await run(200, "rejectFile", { kind: "file", uri: "file:///w/a", rev: 1 }, undefined);
    await run(300, "rejectPlanItem", step, undefined);
    await run(310, "acceptHunk", row("2"), undefined);
    expect(decided.splice(0)).toEqual(["reject 1", "accept 2"]);

    await run(2_000, "acceptPlanItem", step, undefined);
    await run(2_100, "acceptPlanItem", step, undefined);
    await run(2_100, "acceptHunk", lens("1"));
    await run(2_200, "acceptHunk", lens("2"));
    expect(decided.splice(0)).toEqual(["accept 3", "accept 1"]);

    for (const at of [3_000, 3_010, 3_020]) {
      await run(at, "rejectHunk", { ...row("3"), keyed: true });
      await run(at, "rejectPlanItem", { ...step, keyed: true });
    }
    now.mockRestore();
    expect(decided).toHaveLength(6);
  });
});

describe("removed text", () => {
  const words = hunk("1", 3, {
    oldText: "return null\nold",
    newText: "return `no`\nnew",
    removedLines: 2,
    addedLines: 2,
    inline: [{ range: { start: { line: 3, character: 7 }, end: { line: 3, character: 11 } }, removed: "a `b`" }],
  });
  const block = hunk("2", 9, { oldText: "a\nb", removedLines: 2 });
  const line = hunk("3", 20, { oldText: "a", removedLines: 1 });

  function shown(setting?: string, ...hunks: Hunk[]): { painted: string[]; zones: string[]; editor: FakeEditor } {
    settings.clear();
    settings.set("cairn.review.removedText", setting);
    zones.length = 0;
    const store = new TestStore();
    const editor = new FakeEditor("file:///w/a");
    desk.editors = [editor];
    new HunkDecorations(store, "ext" as unknown as Uri);
    new RemovedZones(store);
    store.review(review("a", 1, hunks));
    settings.clear();
    return { painted: editor.resets, zones: [...zones], editor };
  }

  it("stands before the words that replace it, and only a replaced block has a zone", () => {
    const { painted, zones: labels, editor } = shown(undefined, words, block, line);
    expect(painted).toEqual(["added 3 9 20", "made", "words 3", "removed 20"]);
    expect(labels).toEqual(["Removed 2 lines"]);
    expect(editor.decorations.get("words")).toMatchObject([
      { hoverMessage: "Removed: `` a `b` ``", renderOptions: { before: { contentText: "a\u00a0`b`", textDecoration: "line-through" } } },
    ]);
  });

  it("is always in zones, or only in the hover, by the setting", () => {
    const zoned = shown("zone", words, block, line);
    expect(zoned.painted).toEqual(["added 3 9 20", "made", "words", "removed"]);
    expect(zoned.zones).toEqual(["Removed 2 lines", "Removed 2 lines", "Removed 1 line"]);
    const hovered = shown("hover", words, block, hunk("4", 30, { oldText: "gone", removedLines: 1, addedLines: 0 }));
    expect(hovered.zones).toEqual(["Removed 1 line"]);
    const [first] = hovered.editor.decorations.get("added") as { hoverMessage: { value: string } }[];
    expect(first?.hoverMessage.value).toBe("Removed\n\n```python\nreturn null\nold\n```");
  });

  it("shows blanks and characters that hide", () => {
    expect(struckWords(" \tx\u202e ")).toBe("\u00a0\u00a0\u00a0x\\u{202e}\u00a0");
  });
});

describe("an edit of a whole file", () => {
  const start = { line: 0, character: 0 };
  const whole = (wholeFile: "deleted" | "moved", over: Partial<Hunk> = {}): Hunk =>
    hunk("file-1", 0, { range: { start, end: start }, newText: "", addedLines: 0, wholeFile, ...over });

  async function shown(...hunks: Hunk[]): Promise<{ lenses: string[]; fixes: string[]; painted: string[]; zones: string[] }> {
    const store = new TestStore();
    const editor = new FakeEditor("file:///w/a");
    desk.editors = [editor];
    zones.length = 0;
    new HunkDecorations(store, "ext" as unknown as Uri);
    new RemovedZones(store);
    store.review({ ...review("a", 1, hunks), from: "old/a" });
    const document = editor.document as unknown as TextDocument;
    const lenses = await new HunkLenses(store).provideCodeLenses(document, {} as CancellationToken);
    const fixes = new HunkActions(store).provideCodeActions(document, { start } as unknown as Range);
    return {
      lenses: lenses.map((lens) => `${lens.range.start.line} ${lens.command?.title.replace(/^.*\u00a0/, "") ?? ""}`),
      fixes: fixes.map(({ title }) => title),
      painted: editor.resets,
      zones: [...zones],
    };
  }

  it("shows a move as text next to the edits", async () => {
    const { lenses, fixes, painted, zones: labels } = await shown(whole("moved"), hunk("1", 0));
    expect(lenses).toEqual([
      ...["0 Accept Move", "0 Reject Move", "0 Moved from old/a", "0 Accept Edits in File", "0 Reject Edits in File"],
      ...["0 Accept", "0 Reject", "0 Edit 2/2 (+1 −0)"],
    ]);
    expect(fixes).toEqual([
      ...["Accept this edit (2 of 2)", "Reject this edit (2 of 2)", "Reject this edit with a reason…"],
      ...["Accept this move (1 of 2)", "Reject this move (1 of 2)", "Reject this move with a reason…"],
      ...["Accept all 2 edits in this file", "Reject all 2 edits in this file"],
    ]);
    expect(painted).toEqual(["added 0", "made", "words", "removed"]);
    expect(labels).toEqual([]);
  });

  it("shows nothing in the text of a deleted file", async () => {
    for (const removedLines of [1, 9]) {
      const { lenses, fixes, painted, zones: labels } = await shown(whole("deleted", { oldText: "one", removedLines }));
      expect([lenses, labels]).toEqual([[], []]);
      expect(fixes[0]).toBe("Accept this deletion");
      expect(painted).toEqual(["added", "made", "words", "removed"]);
    }
    // A zone of lines is one still.
    expect((await shown(hunk("1", 3, { oldText: "a\nb", removedLines: 2 }))).zones).toEqual(["Removed 2 lines"]);
  });
});

describe("an outdated edit", () => {
  const shown = async (canApply: boolean | undefined): Promise<{ lenses: string[]; actions: string[] }> => {
    const store = new TestStore();
    const over = canApply === undefined ? {} : { canApply };
    store.review(review("a", 1, [hunk("h", 1, { outdated: true, ...over })]));
    const document = new FakeEditor("file:///w/a").document as unknown as TextDocument;
    const lenses = await new HunkLenses(store).provideCodeLenses(document, { isCancellationRequested: false } as CancellationToken);
    const at = { start: { line: 1, character: 0 } } as Range;
    const actions = new HunkActions(store).provideCodeActions(document, at);
    return { lenses: lenses.map(({ command }) => command?.command ?? ""), actions: actions.map(({ title }) => title) };
  };

  it.each([true, undefined])("can be applied again while its lines are in the text (%s)", async (canApply) => {
    const { lenses, actions } = await shown(canApply);
    expect(lenses).toEqual(["cairn.acceptHunk", "cairn.rejectHunk", "cairn.openDiff"]);
    expect(actions[0]).toBe("Accept this edit");
  });

  it("can only be forgotten if its lines are gone", async () => {
    const { lenses, actions } = await shown(false);
    expect(lenses).toEqual(["cairn.rejectHunk", "cairn.openDiff"]);
    expect(actions).toEqual(["Reject this edit", "Reject this edit with a reason…"]);
  });
});

describe("the text in view", () => {
  const change = (from: [number, number], to: [number, number], text: string): { range: Range; text: string } => ({
    range: { start: { line: from[0], character: from[1] }, end: { line: to[0], character: to[1] } } as Range,
    text,
  });

  it.each([
    ["lines inserted above", [change([3, 0], [3, 0], "a\nb\r\n")], 2],
    ["lines removed above", [change([3, 0], [7, 0], "")], -4],
    ["lines replaced above", [change([3, 2], [5, 4], "a\nb\nc\nd")], 1],
    ["lines inserted just above", [change([20, 0], [20, 0], "a\n")], 1],
    ["a word above", [change([3, 2], [3, 4], "word")], 0],
    ["lines inserted in view", [change([20, 1], [20, 1], "a\n")], 0],
    ["lines replaced across its first line", [change([10, 0], [22, 0], "")], 0],
    ["several changes", [change([30, 0], [30, 0], "a\n"), change([9, 0], [10, 0], ""), change([1, 0], [1, 0], "a\nb\n")], 1],
  ])("moves by %s", (_, changes, lines) => {
    expect(linesAddedAbove(20, changes)).toBe(lines);
    expect(linesAddedAbove(0, [change([0, 0], [0, 0], "a\n")])).toBe(0);
  });

  it("stays where it is, but not in an editor in which one types", () => {
    const moves: unknown[] = [];
    const document = { uri: FakeUri.parse("file:///w/a") };
    window.activeTextEditor = { document, visibleRanges: [{ start: { line: 20, character: 0 } }] } as never;
    registered.set("editorScroll", (scroll) => moves.push(scroll));
    const down = { to: "down", by: "wrappedLine", value: 2, revealCursor: false };
    let applying = true;
    const now = vi.spyOn(Date, "now");
    documentChanges.length = 0;
    new ScrollAnchor({ isApplying: () => applying });
    const edited = (at: number): void => {
      now.mockReturnValue(at);
      documentChanges.forEach((listen) => {
        listen({ document, contentChanges: [change([3, 0], [3, 0], "a\nb\n")] });
      });
    };
    edited(1_000);
    expect(moves.splice(0)).toEqual([down]);
    applying = false;
    edited(2_000);
    applying = true;
    edited(3_000);
    expect(moves.splice(0)).toEqual([]);
    edited(4_000);
    expect(moves).toEqual([down]);
    window.activeTextEditor = undefined;
    edited(6_000);
    expect(moves).toHaveLength(1);
    now.mockRestore();
  });
});
