import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { DecidedRows, KEPT_MS, MOVED_MS } from "../src/review/decidedRows";
import { editAt } from "./entries";
import { TestStore } from "./testStore";

const uri = "file:///w/a";

describe("the row of an edit that a click has decided", () => {
  const released = vi.fn();
  let store: TestStore;
  let rows: DecidedRows;

  const report = (...ids: number[]): void => {
    const rev = (store.reviews.get(uri)?.rev ?? 0) + 1;
    store.review({ uri, path: "a", rev, kind: "edited", hunks: ids.map((id) => editAt(id, 2 * id)) });
  };
  const edit = (id: number) => store.reviews.placed(uri).find(({ hunk }) => hunk.id === String(id)) ?? expect.fail(`no edit ${id}`);
  const shown = (): string[] =>
    rows.placed(uri).map((placed) => [placed.hunk.id, rows.decision(placed)].filter((part) => part !== undefined).join(" "));

  beforeEach(() => {
    vi.useFakeTimers();
    released.mockReset();
    store = new TestStore();
    rows = new DecidedRows(store, released);
    report(0, 1, 2);
  });
  afterEach(() => {
    rows.dispose();
    vi.useRealTimers();
  });

  it("keeps its place for a second, and then the rows below move up", () => {
    rows.keep(edit(1), "reject");
    expect(shown()).toEqual(["0", "1", "2"]);
    report(0, 2);
    expect(shown()).toEqual(["0", "1 reject", "2"]);
    vi.advanceTimersByTime(KEPT_MS - 1);
    expect([shown().length, released.mock.calls.length]).toEqual([3, 0]);
    vi.advanceTimersByTime(1);
    expect([shown(), released.mock.calls.length, rows.hasMoved()]).toEqual([["0", "2"], 1, true]);
    vi.advanceTimersByTime(MOVED_MS);
    expect(rows.hasMoved()).toBe(false);
  });

  it("keeps its place beside other decided rows, also as the last of its file", () => {
    rows.keep(edit(0), "accept");
    report(1, 2);
    rows.keep(edit(1), "reject");
    report(2);
    rows.keep(edit(2), "accept");
    report();
    expect(shown()).toEqual(["0 accept", "1 reject", "2 accept"]);
    expect(rows.files().map((file) => file.uri)).toEqual([uri]);
    vi.advanceTimersByTime(KEPT_MS);
    expect([shown(), rows.files()]).toEqual([[], []]);
  });

  it("is an ordinary row if the edit was not decided", () => {
    rows.keep(edit(1), "reject");
    expect(rows.decision(edit(1))).toBeUndefined();
    vi.advanceTimersByTime(KEPT_MS);
    expect([shown(), released.mock.calls.length, rows.hasMoved()]).toEqual([["0", "1", "2"], 0, false]);
  });
});
