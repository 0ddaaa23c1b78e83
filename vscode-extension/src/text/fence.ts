import { visible } from "./display";

/** Lines shown of a text. */
const LIMIT = 40;

/**
 * Lines as a fenced code block in a language of the editor: coloured, and read as code. Nothing in the
 * text can end the fence, which is longer than any run of backticks in it.
 */
export function fenced(text: string, language: string, rest: (lines: number) => string): string {
  const lines = visible(text).split("\n");
  const shown = lines.slice(0, LIMIT).join("\n");
  const longest = Math.max(2, ...[...shown.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const block = `${fence}${/^[\w+#.-]*$/u.test(language) ? language : ""}\n${shown}\n${fence}`;
  return lines.length > LIMIT ? `${block}\n\n${rest(lines.length - LIMIT)}` : block;
}
