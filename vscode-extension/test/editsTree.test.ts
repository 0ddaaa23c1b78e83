import { beforeEach, describe, expect, it } from "vitest";

import { EditsTree } from "../src/review/tree";
import { editAt } from "./entries";
import { registered, view } from "./vscode";
import { TestStore } from "./testStore";

const uri = "file:///w/a";

describe("a key in the list of edits", () => {
  const rejected: unknown[] = [];
  let store: TestStore;
  let tree: EditsTree;

  const report = (rev: number, ...ids: number[]): void => {
    store.review({ uri, path: "a", rev, kind: "edited", hunks: ids.map((id) => editAt(id, 2 * id)) });
  };
  const select = (...ids: number[]): void => {
    const rows = tree.getChildren().flatMap((file) => tree.getChildren(file));
    view.selection = ids.map((id) => rows[id]);
    view.select({ selection: view.selection });
  };

  beforeEach(() => {
    rejected.length = 0;
    store = new TestStore();
    tree = new EditsTree(store, { get: () => undefined, update: () => undefined });
    registered.set("cairn.rejectHunk", (row) => rejected.push(row) === 0);
    report(1, 0, 1, 2);
    select(1);
  });

  it("decides the selected edit, as it is now, while VS Code draws the rows anew", async () => {
    report(2, 0, 1, 2);
    view.selection = [];
    await registered.get("cairn.edits.reject")?.();
    expect(rejected).toEqual([expect.objectContaining({ hunkId: "1", rev: 2 })]);
  });

  it("decides nothing when the selected edit is gone, or none was selected", async () => {
    report(2, 0, 2);
    view.selection = [];
    await registered.get("cairn.edits.reject")?.();
    tree = new EditsTree(store, { get: () => undefined, update: () => undefined });
    await registered.get("cairn.edits.reject")?.();
    expect(rejected).toEqual([]);
  });
});
