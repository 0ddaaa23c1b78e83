import type * as api from "vscode";
import { beforeEach, describe, expect, it } from "vitest";

import { CurrentEdit } from "../src/review/currentEdit";
import { type PlacedHunk } from "../src/stores/review";
import { editAt } from "./entries";
import { FakeEditor, Position, TextEditorSelectionChangeKind, selectionChanges, window } from "./vscode";
import { TestStore } from "./testStore";

const FILE = "file:///w/a";

describe("the current edit", () => {
  let editor: FakeEditor;
  let store: TestStore;
  let current: CurrentEdit;
  let rev: number;

  const report = (...ids: number[]): void =>
    store.review({ uri: FILE, path: "a", rev: ++rev, kind: "edited", hunks: ids.map((id) => editAt(id, 2 * id)) });
  const goTo = (id: number): void => {
    const placed = store.reviews.placed(FILE).find(({ hunk }) => hunk.id === String(id)) as PlacedHunk;
    current.goneTo(placed, new Position(2 * id, 0) as unknown as api.Position);
  };
  const moved = (line: number, kind: TextEditorSelectionChangeKind | undefined): void => {
    editor.cursor(line);
    selectionChanges.forEach((listener) => listener({ textEditor: editor, selections: [{ active: new Position(line, 0) }], kind }));
  };

  beforeEach(() => {
    selectionChanges.length = 0;
    rev = 0;
    editor = new FakeEditor(FILE);
    window.activeTextEditor = editor;
    store = new TestStore();
    current = new CurrentEdit(store);
    report(0, 1, 2, 3);
  });

  it("is the one at the cursor until a command goes to one", () => {
    editor.cursor(4);
    expect(current.get()?.hunk.id).toBe("2");
    editor.cursor(7);
    expect(current.get()).toBeUndefined();
  });

  it("is the one that a command went to, although VS Code reports the cursor late", () => {
    goTo(1);
    expect(current.get()?.hunk.id).toBe("1");
    goTo(2);
    moved(2, TextEditorSelectionChangeKind.Command);
    expect(current.get()?.hunk.id).toBe("2");
    moved(3, undefined);
    expect(current.get()?.hunk.id).toBe("2");
  });

  it("is known over a thousand moves that are reported at last", () => {
    for (let round = 0; round < 250; round++) {
      [0, 1, 2, 3].forEach(goTo);
    }
    moved(0, TextEditorSelectionChangeKind.Command);
    expect(current.get()?.hunk.id).toBe("3");
  });

  it("is the one at the cursor again once the user moves it", () => {
    const { Command, Keyboard, Mouse } = TextEditorSelectionChangeKind;
    for (const kind of [Keyboard, Mouse, Command]) {
      goTo(1);
      moved(6, kind);
      expect(current.get()?.hunk.id).toBe("3");
    }
  });

  it("is the one at the cursor once the edit is decided, and in another editor", () => {
    goTo(1);
    editor.cursor(4);
    report(0, 2, 3);
    expect(current.get()?.hunk.id).toBe("2");
    goTo(3);
    window.activeTextEditor = new FakeEditor("file:///w/b");
    expect(current.get()).toBeUndefined();
  });
});
