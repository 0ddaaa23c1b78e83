import { beforeEach, describe, expect, it } from "vitest";

import type { Hunk } from "../src/protocol";
import { CurrentEdit } from "../src/review/currentEdit";
import { ReviewKeys } from "../src/review/reviewKeys";
import { ReviewStore } from "../src/stores/review";
import { editAt } from "./entries";
import { FakeEditor, documentChanges, drawn, registered, window } from "./vscode";

/** A file with this many edits, and an editor with the cursor in the first. */
class Desk {
  readonly reviews = new ReviewStore();
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
    new ReviewKeys(this.reviews, { isApplying: () => this.applying }, new CurrentEdit(this.reviews));
  }

  report(): void {
    this.reviews.update({ uri: "file:///w/a", path: "a", rev: ++this.#rev, kind: "edited", hunks: [...this.#left] });
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
    expect(desk.reviews.pending).toBe(0);
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
    const typed: string[] = [];
    registered.set("type", (...args: unknown[]) => {
      typed.push((args[0] as { text: string }).text);
    });
    desk.type("z", 0);
    await Promise.all([desk.press("accept"), desk.press("reject"), desk.press("rejectFile")]);
    expect([typed, desk.decided]).toEqual([["y", "n", "N"], []]);
    await registered.get("cairn.review.start")?.();
    await registered.get("cairn.review.stop")?.();
    await desk.press("accept");
    expect([typed.length, desk.decided]).toEqual([3, []]);
  });

  it("ends when the user types, not when the agent does", async () => {
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
