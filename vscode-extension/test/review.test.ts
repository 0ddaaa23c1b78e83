import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CancellationToken, Range, TextDocument, Uri } from "vscode";

import { type Splice, fewer } from "../src/edits/fewer";
import { StrayTabs } from "../src/edits/strayTabs";
import { readyPlan } from "../src/plan/planReady";
import type { EndReason, Hunk, PlanItem, PlanNotification, ReviewMode, ReviewNotification } from "../src/protocol";
import { HunkActions } from "../src/review/actions";
import { byPlanItem } from "../src/review/groups";
import { HunkLenses } from "../src/review/lenses";
import { HunkDecorations } from "../src/review/hunkDecorations";
import { RemovedZones } from "../src/review/zones";
import { type Memory, ModeStore } from "../src/stores/mode";
import { PlanStore } from "../src/stores/plan";
import { type PlacedHunk, ReviewStore, lineCounts } from "../src/stores/review";
import { SessionStore } from "../src/stores/session";
import { FakeEditor, type FakeTab, TabInputText, Uri as FakeUri, desk, zones } from "./vscode";

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

describe("an edit in too many pieces", () => {
  const apply = (text: string, splices: readonly Splice[]): string =>
    splices.toReversed().reduce((out, { start, end, text: added }) => out.slice(0, start) + added + out.slice(end), text);
  const text = "abcdefghijklmnopqrstuvwxyz";
  const at = (start: number, end: number, added: string): Splice => ({ start, end, text: added });

  it("is left alone when it is not", () => {
    const splices = [at(0, 1, "A"), at(5, 5, "+")];
    expect(fewer(splices, text, 2)).toEqual(splices);
  });

  it("joins the nearest first", () => {
    expect(fewer([at(0, 1, "A"), at(3, 4, "D"), at(20, 21, "U"), at(25, 25, "+")], text, 3)).toEqual([
      at(0, 4, "AbcD"),
      at(20, 21, "U"),
      at(25, 25, "+"),
    ]);
  });

  it("keeps the order of insertions at one place, whatever order they come in", () => {
    const splices = [at(9, 9, "z"), at(3, 3, "1"), at(3, 3, "2"), at(3, 4, "")];
    expect(apply(text, fewer(splices, text, 1))).toBe("abc12efghizjklmnopqrstuvwxyz");
  });

  it("is the same change, whatever the limit", () => {
    const long = Array.from({ length: 5_000 }, (_, line) => `line ${line}\n`).join("");
    const splices = Array.from({ length: 2_500 }, (_, index) => {
      const start = long.indexOf(`line ${index * 2}\n`);
      return at(start, start + 4, index % 3 === 0 ? "" : "LINE");
    }).sort((a, b) => a.start - b.start);
    for (const most of [1, 2, 500, 999, 2_499]) {
      const joined = fewer(splices, long, most);
      expect(joined.length).toBe(most);
      expect(apply(long, joined)).toBe(apply(long, splices));
    }
  });
});

describe("modes", () => {
  const store = (memory: Memory = new Drawer(), setting: ReviewMode = "review"): ModeStore => new ModeStore(memory, () => setting);

  it("follow the setting until the user chooses", () => {
    expect(store(new Drawer(), "ask").of()).toBe("ask");
  });

  it("belong to a session; the last choice goes to new ones", () => {
    const modes = store();
    modes.began("a", "t1", "review");
    modes.choose("auto", "b");
    expect([modes.of("a"), modes.of("b"), modes.of("c"), modes.of()]).toEqual(["review", "auto", "auto", "auto"]);
  });

  it("outlive the window", () => {
    const memory = new Drawer();
    const before = store(memory);
    before.choose("plan", undefined);
    before.began("a", "t1", "plan");
    const after = store(memory);
    expect([after.of(), after.of("a"), after.isPlanning("a", "t1")]).toEqual(["plan", "plan", true]);
  });

  it("give way to a setting that is changed later", () => {
    let setting: ReviewMode = "review";
    const modes = new ModeStore(new Drawer(), () => setting);
    modes.choose("plan", "a");
    setting = "ask";
    modes.settingChanged();
    expect([modes.of(), modes.of("a")]).toEqual(["ask", "ask"]);
  });

  it("forget the oldest sessions", () => {
    const modes = store();
    for (let index = 0; index < 30; index++) {
      modes.began(`s${index}`, "t", "auto");
    }
    expect([modes.of("s0"), modes.of("s29")]).toEqual(["review", "auto"]);
  });
});

describe("a plan to approve", () => {
  const after = (mode: ReviewMode, reason: EndReason | undefined, next?: ReviewMode): string | undefined => {
    const modes = new ModeStore(new Drawer(), () => "review");
    const sessions = new SessionStore();
    const ids = { sessionId: "s", turnId: "t" };
    sessions.update({ ...ids, rev: 1, phase: { kind: "started", text: "Do it" } });
    modes.began("s", "t", mode);
    if (next !== undefined) {
      modes.choose(next, "s");
    }
    if (reason !== undefined) {
      const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
      sessions.update({ ...ids, rev: 2, phase: { kind: "ended", reason, summary: "", openItems: 1, usage } });
    }
    return readyPlan(sessions, modes)?.turnId;
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
    const reviews = new ReviewStore();
    reviews.restore([review("a", 1, hunks)]);
    return reviews.placed("file:///w/a");
  };
  const shown = (hunks: PlacedHunk[], ids: string[]): string[] =>
    byPlanItem(hunks, "s", ids.map(item)).map((group) => `${group.item?.id ?? "-"}: ${group.placed.map((each) => each.hunk.id).join(" ")}`);

  it("are in the order of the plan, and the rest comes last", () => {
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

  it("know the items of earlier plans of the session", () => {
    const plans = new PlanStore();
    plans.update(plan("t2", ["2", "3"]));
    const earlier = { turnId: "t1", task: "", reason: "completed", plan: plan("t1", ["1", "2"]) } as const;
    plans.setEarlier("s", [earlier]);
    expect(plans.items.map(({ id }) => id)).toEqual(["2", "3", "1"]);
  });

  it("are counted in lines", () => {
    expect(lineCounts([hunk("1", 1), hunk("2", 2, { addedLines: 2, removedLines: 4 })])).toBe("+3 −4");
  });
});

describe("the painter", () => {
  let reviews: ReviewStore;
  let a: FakeEditor;
  let b: FakeEditor;

  beforeEach(() => {
    reviews = new ReviewStore();
    [a, b] = [new FakeEditor("file:///w/a"), new FakeEditor("file:///w/b")];
    desk.editors = [a];
    new HunkDecorations(reviews, "ext" as unknown as Uri);
  });

  it("sets decorations once for each report about the file, and for nothing else", () => {
    reviews.update(review("a", 1, [hunk("1", 3)]));
    expect(a.resets).toEqual(["added 3", "removed"]);
    // Edits elsewhere, tabs that come and go, a report that comes late.
    reviews.update(review("b", 2, [hunk("1", 5)]));
    reviews.update(review("b", 3, [hunk("1", 6)]));
    reviews.update(review("a", 1, []));
    desk.editors = [a, b];
    desk.changed();
    desk.changed();
    expect(a.resets.length).toBe(2);
    expect(b.resets).toEqual(["added 6", "removed"]);
    reviews.update(review("a", 4, [hunk("1", 4), hunk("2", 9)]));
    expect(a.resets.slice(2)).toEqual(["added 4 9", "removed"]);
    expect(b.resets.length).toBe(2);
  });

  it("clears what is decided, and never touches a file without edits", () => {
    reviews.update(review("b", 1, [hunk("1", 3)]));
    expect(a.resets).toEqual([]);
    reviews.update(review("a", 2, [hunk("1", 3)]));
    reviews.update(review("a", 3, []));
    expect(a.resets).toEqual(["added 3", "removed", "added", "removed"]);
  });

  it("waits while the typing is ahead of the report", () => {
    a.document.version = 7;
    reviews.update(review("a", 1, [hunk("1", 3)], 6));
    expect(a.resets).toEqual([]);
    reviews.update(review("a", 2, [hunk("1", 4)], 7));
    expect(a.resets).toEqual(["added 4", "removed"]);
  });

  it("paints an editor anew that was hidden", () => {
    reviews.update(review("a", 1, [hunk("1", 3)]));
    const again = new FakeEditor("file:///w/a");
    desk.editors = [again];
    desk.changed();
    expect(again.resets).toEqual(["added 3", "removed"]);
  });
});

describe("what was done to a file as a whole", () => {
  const start = { line: 0, character: 0 };
  const whole = (wholeFile: "deleted" | "moved", over: Partial<Hunk> = {}): Hunk =>
    hunk("file-1", 0, { range: { start, end: start }, newText: "", addedLines: 0, wholeFile, ...over });

  async function shown(...hunks: Hunk[]): Promise<{ lenses: string[]; fixes: string[]; painted: string[]; zones: string[] }> {
    const reviews = new ReviewStore();
    const editor = new FakeEditor("file:///w/a");
    desk.editors = [editor];
    zones.length = 0;
    new HunkDecorations(reviews, "ext" as unknown as Uri);
    new RemovedZones(reviews);
    reviews.update({ ...review("a", 1, hunks), from: "old/a" });
    const document = editor.document as unknown as TextDocument;
    const lenses = await new HunkLenses(reviews).provideCodeLenses(document, {} as CancellationToken);
    const fixes = new HunkActions(reviews).provideCodeActions(document, { start } as unknown as Range);
    return {
      lenses: lenses.map((lens) => `${lens.range.start.line} ${lens.command?.title.replace(/^.*\u00a0/, "") ?? ""}`),
      fixes: fixes.map(({ title }) => title),
      painted: editor.resets,
      zones: [...zones],
    };
  }

  it("is a move in words, beside the edits", async () => {
    const { lenses, fixes, painted, zones: labels } = await shown(whole("moved"), hunk("1", 0));
    expect(lenses).toEqual([
      ...["0 Accept move", "0 Reject move", "0 Moved from old/a", "0 Accept file", "0 Reject file"],
      ...["0 Accept", "0 Reject", "0 Edit 2/2 (+1 −0)"],
    ]);
    expect(fixes).toEqual([
      ...["Accept this edit (2 of 2)", "Reject this edit (2 of 2)", "Reject this edit with a reason…"],
      ...["Accept this move (1 of 2)", "Reject this move (1 of 2)", "Reject this move with a reason…"],
      ...["Accept all 2 edits in this file", "Reject all 2 edits in this file"],
    ]);
    expect(painted).toEqual(["added 0", "removed"]);
    expect(labels).toEqual([]);
  });

  it("is nothing in the text of a file that is deleted", async () => {
    for (const removedLines of [1, 9]) {
      const { lenses, fixes, painted, zones: labels } = await shown(whole("deleted", { oldText: "one", removedLines }));
      expect([lenses, labels]).toEqual([[], []]);
      expect(fixes[0]).toBe("Accept this deletion");
      expect(painted).toEqual(["added", "removed"]);
    }
    // A zone of lines is one still.
    expect((await shown(hunk("1", 3, { oldText: "a\nb", removedLines: 2 }))).zones).toEqual(["Edit 1 of 1  +1 −2"]);
  });
});

describe("a tab that comes after an edit of a hidden file", () => {
  const uri = FakeUri.parse("file:///w/a");

  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  /** Opens one, and does to it what comes next; whether it is closed in the end. */
  async function isClosed({ after = 1_000, dirty = false }, next: (tab: FakeTab) => void = () => {}): Promise<boolean> {
    const stray = new StrayTabs();
    stray.expect(uri as unknown as Uri);
    await vi.advanceTimersByTimeAsync(after);
    const tab: FakeTab = { input: new TabInputText(uri), isActive: false, isDirty: dirty };
    desk.tabs?.({ opened: [tab], changed: [], closed: [] });
    next(tab);
    desk.tabs?.({ opened: [], changed: [tab], closed: [] });
    await vi.advanceTimersByTimeAsync(10_000);
    stray.dispose();
    return desk.closed.includes(tab);
  }

  it("is closed when nobody asked for it, once it is saved", async () => {
    expect(await isClosed({})).toBe(true);
    expect(await isClosed({ dirty: true }, (tab) => (tab.isDirty = false))).toBe(true);
  });

  it("stays when the user opened it, went to it, or has unsaved text in it", async () => {
    expect(await isClosed({}, (tab) => (tab.isActive = true))).toBe(false);
    expect(await isClosed({ dirty: true })).toBe(false);
    expect(await isClosed({ after: 6_000 })).toBe(false);
  });
});

describe("an outdated edit", () => {
  const shown = async (canApply: boolean | undefined): Promise<{ lenses: string[]; actions: string[] }> => {
    const reviews = new ReviewStore();
    const over = canApply === undefined ? {} : { canApply };
    reviews.update(review("a", 1, [hunk("h", 1, { outdated: true, ...over })]));
    const document = new FakeEditor("file:///w/a").document as unknown as TextDocument;
    const lenses = await new HunkLenses(reviews).provideCodeLenses(document, { isCancellationRequested: false } as CancellationToken);
    const at = { start: { line: 1, character: 0 } } as Range;
    const actions = new HunkActions(reviews).provideCodeActions(document, at);
    return { lenses: lenses.map(({ command }) => command?.command ?? ""), actions: actions.map(({ title }) => title) };
  };

  it.each([true, undefined])("can be made again while its lines stand (%s)", async (canApply) => {
    const { lenses, actions } = await shown(canApply);
    expect(lenses).toEqual(["cairn.acceptHunk", "cairn.rejectHunk", "cairn.openDiff"]);
    expect(actions[0]).toBe("Accept this edit");
  });

  it("can only be forgotten when its lines are gone", async () => {
    const { lenses, actions } = await shown(false);
    expect(lenses).toEqual(["cairn.rejectHunk", "cairn.openDiff"]);
    expect(actions).toEqual(["Reject this edit", "Reject this edit with a reason…"]);
  });
});
