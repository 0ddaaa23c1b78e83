import { visible } from "./display";

/**
 * Removed lines as the small HTML a comment body may hold. Every character that is not a letter
 * or a digit becomes a numeric entity, so that neither Markdown nor HTML can find anything in it.
 */

const TAB = 4;
const LIMIT = 40;

// The editor's sanitiser keeps a style only in exactly this form and order.
const style = (color: string): string => `color:var(--vscode-editor-foreground);background-color:var(--vscode-cairn-${color});`;

export function removedLines(text: string): string {
  return shownLines(text, "−", "removed", style("removedLineBackground"));
}

/** Lines of a proposal that stands in no text. */
export function addedText(text: string): string {
  return shownLines(text, "+", "proposed", style("addedLineBackground"));
}

function shownLines(text: string, sign: string, what: string, css: string): string {
  const lines = visible(text).split("\n");
  const shown = lines.slice(0, LIMIT);
  const width = Math.max(...shown.map((line) => columns(line).length));
  const rows = shown.map((line) => span(`${sign} ${columns(line).padEnd(width + 1)}`, css));
  if (lines.length > shown.length) {
    rows.push(`… ${lines.length - shown.length} more lines ${what}`);
  }
  return rows.join("<br>");
}

function span(text: string, css: string): string {
  return `<code><span style="${css}">${entities(text)}</span></code>`;
}

function entities(text: string): string {
  return [...text].map((char) => (char === " " ? "&nbsp;" : /^[\p{L}\p{N}]$/u.test(char) ? char : `&#${char.codePointAt(0) ?? 0};`)).join("");
}

function columns(line: string): string {
  let out = "";
  for (const char of line) {
    out += char === "\t" ? " ".repeat(TAB - (out.length % TAB)) : char;
  }
  return out;
}
