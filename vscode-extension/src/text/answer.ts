const SENTENCES = new Intl.Segmenter(undefined, { granularity: "sentence" });

/** Text of a model's Markdown as it reads, without its marks. Code in fences is left out. */
export function withoutMarkdown(text: string): string {
  return text
    .replace(/\r\n?/gu, "\n")
    .replace(/^ {0,3}(```|~~~)[^\n]*\n[^]*?(?:^ {0,3}\1[^\n]*$|$(?![^]))/gmu, "")
    .replace(/^ {0,3}#{1,6} +/gmu, "")
    .replace(/^ {0,3}> ?/gmu, "")
    .replace(/^ *(?:[-*+]|\d+[.)]) +/gmu, "")
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/gu, "$1")
    .replace(/(\*\*|__)(?=\S)([^\n]*?\S)\1/gu, "$2")
    .replace(/(?<![\w*])\*(?=[^\s*])([^*\n]*?[^\s*])\*(?![\w*])/gu, "$1")
    .replace(/`([^`\n]+)`/gu, "$1");
}

/** First paragraph of an answer; a heading before it is left out. */
export function firstParagraph(answer: string): string {
  const blocks = blocksOf(answer.replace(/^ {0,3}#{1,6} [^\n]*$/gmu, ""));
  return blocks[0] ?? withoutMarkdown(answer).trim();
}

/** The question at the end of an answer: its last sentence that asks, else its last one. */
export function lastQuestion(answer: string): string {
  const last = (blocksOf(answer).at(-1) ?? "").replace(/\s+/gu, " ");
  const sentences = [...SENTENCES.segment(last)].map(({ segment }) => segment.trim());
  return sentences.findLast((sentence) => /[?？]["'”’)]*$/u.test(sentence)) ?? sentences.at(-1) ?? "";
}

function blocksOf(text: string): string[] {
  return withoutMarkdown(text)
    .split(/\n\s*\n/u)
    .map((block) => block.trim())
    .filter((block) => block !== "");
}
