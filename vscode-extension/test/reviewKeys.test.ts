import { beforeEach, describe, expect, it } from "vitest";

import type { Hunk } from "../src/protocol";
import { CurrentEdit } from "../src/review/currentEdit";
import { ReviewKeys } from "../src/review/reviewKeys";
import { editAt } from "./entries";
import { FakeEditor, Position, documentChanges, drawn, registered, window } from "./vscode";
import { TestStore } from "./testStore";

/** A file with this many edits, and an editor with the cursor in the first. */
class Desk {
  readonly store = new TestStore();
  readonly editor = new FakeEditor("file:///w/a");
  readonly decided: string[] = [];
  applying = false;
  #rev = 0;
  #left: Hunk[];

  constructor(count: number) {
    this.#left = Array.from({ length: count }, (_, index) => editAt(index, 2 * index));
    this.report();
    registered.clear();
    drawn.length = 0;
    documentChanges.length = 0;
    window.activeTextEditor = this.editor;
    for (const decision of ["accept", "reject"]) {
      registered.set(`cairn.${decision}Hunk`, async () => {
        const [first] = this.#left;
        await Promise.resolve();
        this.decided.push(`${decision} ${first?.id ?? "nothing"}`);
        this.#left.shift();
        this.report();
        this.goTo(this.#left[0]);
      });
    }
    registered.set("cairn.revealHunk", () => this.goTo(this.#left[0]));
    registered.set("cairn.nextHunk", () => this.goTo(this.#left[0]));
    new ReviewKeys(this.store, { isApplying: () => this.applying }, new CurrentEdit(this.store));
  }

  report(): void {
    this.store.review({ uri: "file:///w/a", path: "a", rev: ++this.#rev, kind: "edited", hunks: [...this.#left] });
  }

  goTo(to: Hunk | undefined): void {
    this.editor.cursor(to?.range.start.line ?? 0);
  }

  press(key: string): unknown {
    return registered.get("cairn.review.key")?.(key);
  }

  type(text: string, line: number): void {
    const range = { start: { line, character: 0 }, end: { line, character: 0 } };
    documentChanges.forEach((listener) => listener({ document: this.editor.document, reason: undefined, contentChanges: [{ range, text }] }));
  }

  get status(): string | undefined {
    return drawn.findLast((line) => line.startsWith("cairn.status.reviewing "));
  }
}

/** The text of an editor, in which the window types. It refuses an edit that was made for an older text. */
class TextOf {
  text = "";
  refused = 0;
  #version = 0;
  #cursor = 0;

  constructor(private readonly editor: FakeEditor) {
    const offset = ({ character }: { character: number }): number => character;
    Object.assign(editor.document, { offsetAt: offset, positionAt: (character: number) => ({ line: 0, character }) });
    Object.assign(editor, { edit: (build: (edit: unknown) => void) => this.#edit(build) });
    this.#show();
  }

  type(text: string): void {
    this.#replace(this.#cursor, text);
  }

  async #edit(build: (edit: unknown) => void): Promise<boolean> {
    const inserts: [number, string][] = [];
    const version = this.#version;
    build({ insert: ({ character }: { character: number }, text: string) => inserts.push([character, text]) });
    await Promise.resolve();
    if (version !== this.#version) {
      this.refused += 1;
      return false;
    }
    inserts.forEach(([at, text]) => this.#replace(at, text));
    return true;
  }

  #replace(at: number, text: string): void {
    this.text = this.text.slice(0, at) + text + this.text.slice(at);
    this.#cursor += at <= this.#cursor ? text.length : 0;
    this.#version += 1;
    const place = { line: 0, character: at };
    const change = { range: { start: place, end: place }, rangeOffset: at, rangeLength: 0, text };
    documentChanges.forEach((listener) => listener({ document: this.editor.document, reason: undefined, contentChanges: [change] }));
    this.#show();
  }

  /** The selection follows the change of the text. */
  #show(): void {
    this.editor.selection = { active: new Position(0, this.#cursor) };
  }
}

describe("the review mode", () => {
  let desk: Desk;

  beforeEach(async () => {
    desk = new Desk(40);
    await registered.get("cairn.review.start")?.();
  });

  it("says where one is and what the keys do", () => {
    expect(desk.status).toBe("cairn.status.reviewing $(checklist) REVIEW 1/40 · Y accept · N reject · R reason · J/K move · U undo · Esc");
  });

  it("decides forty edits with forty keys, however quickly they come", async () => {
    await Promise.all(Array.from({ length: 40 }, (_, index) => desk.press(index % 2 === 0 ? "accept" : "reject")));
    expect(desk.decided).toEqual(Array.from({ length: 40 }, (_, index) => `${index % 2 === 0 ? "accept" : "reject"} ${index}`));
    expect(desk.store.reviews.pending).toBe(0);
    await desk.press("accept");
    expect(desk.decided.length).toBe(40);
  });

  it("decides nothing where no edit is at the cursor, and goes to one", async () => {
    desk.editor.cursor(99);
    await desk.press("reject");
    expect(desk.decided).toEqual([]);
    await desk.press("reject");
    expect(desk.decided).toEqual(["reject 0"]);
  });

  it("loses no letter of what is typed while the mode ends", async () => {
    const text = new TextOf(desk.editor);
    text.type("z");
    const letters = [desk.press("accept"), desk.press("reject"), desk.press("rejectFile")];
    await Promise.all(letters);
    expect([text.text, desk.decided]).toEqual(["zynN", []]);
    await registered.get("cairn.review.start")?.();
    await registered.get("cairn.review.stop")?.();
    await desk.press("accept");
    expect([text.text, desk.decided]).toEqual(["zynN", []]);
  });

  it("keeps the order of letters, of which VS Code types some itself before the others arrive", async () => {
    const text = new TextOf(desk.editor);
    text.type(" ");
    text.type("z");
    const first = desk.press("accept");
    // Typed in the window before the letter `y` is inserted.
    text.type("n");
    text.type("e");
    const second = desk.press("undo");
    text.type("w");
    await Promise.all([first, second]);
    expect(text.text).toBe(" zyneuw");
    expect(text.refused).toBeGreaterThan(0);
  });

  it("keeps the order if VS Code types the letter that is just being inserted", async () => {
    const text = new TextOf(desk.editor);
    text.type(" ");
    text.type("z");
    const late = [desk.press("accept"), desk.press("reject"), desk.press("next")];
    text.type("y");
    await Promise.all(late);
    expect(text.text).toBe(" zynjy");
    expect(text.refused).toBe(1);
  });

  it("ends when the user types, not when the agent does", async () => {
    new TextOf(desk.editor);
    desk.applying = true;
    desk.type("x", 0);
    desk.applying = false;
    desk.type("far away", 50);
    await desk.press("accept");
    expect(desk.decided.length).toBe(1);
    desk.type("x", 2);
    await desk.press("accept");
    expect(desk.decided.length).toBe(1);
  });
});
