import { describe, expect, it } from "vitest";

import { firstParagraph, lastQuestion, withoutMarkdown } from "../src/text/answer";

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
