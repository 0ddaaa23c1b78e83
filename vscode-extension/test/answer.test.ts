import { describe, expect, it } from "vitest";

import { DraftStore } from "../src/stores/drafts";
import { firstParagraph, lastQuestion, withoutMarkdown } from "../src/text/answer";
import { withLineBreaks } from "../src/text/paste";

describe("an answer in a row", () => {
  it.each([
    ["**Yes**, `make_str` is safe.\n\nMore of it.", "Yes, make_str is safe."],
    ["## Result\n\nAll *four* tests pass.\nIn 2 s.", "All four tests pass.\nIn 2 s."],
    ["```ts\nlet a;\n```\n\nThat is it.", "That is it."],
    ["- one\n- two", "one\ntwo"],
    ["See [the docs](https://e.example/x).", "See the docs."],
    ["# Only a heading", "Only a heading"],
    ["", ""],
  ])("%j begins with %j", (answer, first) => {
    expect(firstParagraph(answer)).toBe(first);
  });

  it("keeps what only looks like Markdown", () => {
    expect(withoutMarkdown("2 * 3 * 4, snake_case_name, a ** b")).toBe("2 * 3 * 4, snake_case_name, a ** b");
  });
});

describe("the question of an answer", () => {
  it.each([
    ["I changed `a.ts`.\n\n| a | b |\n|---|---|\n\nIt works. **Shall I add a test?**", "Shall I add a test?"],
    ["Which one? I would take the first.", "Which one?"],
    ["I need the name of the branch.", "I need the name of the branch."],
    ["Is a.ts or b.ts meant?", "Is a.ts or b.ts meant?"],
    ["改好了。要加测试吗？", "要加测试吗？"],
    ["", ""],
  ])("%j is %j", (answer, question) => {
    expect(lastQuestion(answer)).toBe(question);
  });
});

describe("text that was pasted into a box of one line", () => {
  const trace = "Traceback:\n  File a.py\n    x = 1\n";

  it.each([
    ["Traceback:  File a.py    x = 1", trace, "Traceback:\n  File a.py\n    x = 1"],
    ["Fix this: Traceback:   File a.py     x = 1 please", trace, "Fix this: Traceback:\n  File a.py\n    x = 1 please"],
    ["one line", "one line\n", undefined],
    ["something else", trace, undefined],
  ])("%j has its lines again", (value, clipboard, text) => {
    expect(withLineBreaks(value, clipboard)).toBe(text);
  });
});

describe("the drafts", () => {
  const memory = () => {
    let kept: unknown;
    return { get: () => kept, update: (_: string, value: unknown) => (kept = value) };
  };

  it("outlive the window until they are sent", () => {
    const kept = memory();
    new DraftStore(kept).keep("task", "Half a tas");
    expect(new DraftStore(kept).of("task")).toBe("Half a tas");
    new DraftStore(kept).sent("task", "Half a task");
    expect([new DraftStore(kept).of("task"), new DraftStore(kept).history]).toEqual(["", ["Half a task"]]);
  });

  it("are kept apart, and the history has each text once", () => {
    const drafts = new DraftStore(memory());
    drafts.keep("task", "a");
    drafts.keep("s-1", "b");
    drafts.keep("task", " ");
    drafts.sent("x", "one");
    drafts.sent("x", "two");
    drafts.sent("x", "one");
    expect([drafts.of("task"), drafts.of("s-1"), drafts.history]).toEqual(["", "b", ["one", "two"]]);
  });
});
