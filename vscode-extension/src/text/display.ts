/**
 * Sanitizes text of a model, a file or a command for display: nothing in it can move the cursor,
 * reverse the reading direction, hide, or look like a link. The result is only shown and never run.
 *
 * The daemon does the same for other editors (`sanitize.rs`); `tests/tables/visible.json` tests both.
 */

/** Controls other than tab and newline, characters that Unicode ignores, and halves of characters. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** Characters that look like a space but are letters to a shell; tabs; spaces that end a line. */
const BLANK = /[\t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]| +$/gmu;

export function visible(text: string): string {
  const lines = text.replace(/\r\n/g, "\n");
  return lines.replace(UNSEEN, (char, at: number) => (styles(char, lines.slice(Math.max(0, at - 2), at)) ? char : escaped(char)));
}

/** Sanitizes text that will run exactly as it is: unusual blanks are shown, too. */
export function exact(text: string): string {
  const lines = text.replace(/\r\n/g, "\n").replace(UNSEEN, escaped);
  return lines.replace(BLANK, (blanks) => [...blanks].map(escaped).join(""));
}

/** One line, cut to `limit` characters (not inside a surrogate pair). */
export function oneLine(text: string, limit = 200): string {
  return cut(visible(text), limit);
}

/** The same for text that will run. */
export function oneExactLine(text: string, limit = 200): string {
  return cut(exact(text), limit);
}

/** Lines as sentences for a screen reader: each ends with one mark. */
export function sentences(lines: readonly string[]): string {
  return lines.map((line) => (/[.!?…:。！？]$/u.test(line) ? line : `${line}.`)).join(" ");
}

/**
 * For a notification, where the editor turns `[text](target)` into a link and `$(name)` into an
 * icon: a word joiner takes both readings away and is not seen.
 */
export function plainText(text: string): string {
  return text.replace(/\]\(/g, "]\u2060(").replace(/\$\(/g, "$\u2060(");
}

/** Labels, where only `$(name)` means something. */
export function label(text: string, limit?: number): string {
  return plainText(oneLine(text, limit));
}

/** Names of hosts as the network knows them: letters of other alphabets may look like Latin ones. */
export function plainHosts(text: string): string {
  return text.replace(
    /(\b(?:https?|wss?|ftp):\/\/(?:[^\s/?#@]*@)?)([^\s/?#@:]*[^\u0000-\u007f][^\s/?#@:]*)/giu,
    (whole, before: string, host: string) => {
      try {
        return host.includes("\\") ? whole : before + new URL(`https://${host}`).host;
      } catch {
        return whole;
      }
    },
  );
}

function cut(shown: string, limit: number): string {
  const line = shown
    .trim()
    .replace(/\t/g, " ")
    .replace(/ *\n+ */g, " ⏎ ");
  const chars = [...line];
  return chars.length <= limit ? line : `${chars.slice(0, limit - 1).join("")}…`;
}

/** True for a variation selector of the emoji before it. Alone or repeated it has no effect. */
function styles(char: string, before: string): boolean {
  const last = [...before].at(-1) ?? "";
  return (char === "\ufe0e" || char === "\ufe0f") && (last.codePointAt(0) ?? 0) > 0x7f && last.search(UNSEEN) < 0;
}

function escaped(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 4)}}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
