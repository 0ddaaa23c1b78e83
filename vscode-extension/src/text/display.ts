/**
 * Text of a model, a file or a command, made fit to be seen: nothing in it can move the cursor,
 * reverse the reading direction, hide, or pass for a link. For eyes only; what runs is never
 * what came through here.
 */

/** Controls other than tab and newline, bidi marks and overrides, zero-width and line separators. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(UNSEEN, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 4)}}`;
  });
}

/** One line, cut to `limit` characters (not inside a surrogate pair). */
export function oneLine(text: string, limit = 200): string {
  const line = visible(text).trim().replace(/\t/g, " ").replace(/ *\n+ */g, " ⏎ ");
  const chars = [...line];
  return chars.length <= limit ? line : `${chars.slice(0, limit - 1).join("")}…`;
}

/** `1 edit`, `3 edits`; nothing for none. */
export function count(number: number, noun: string): string {
  return number === 0 ? "" : number === 1 ? `1 ${noun}` : `${number} ${noun}s`;
}

/**
 * For a notification, where the editor turns `[text](target)` into a link and `$(name)` into an
 * icon: a word joiner takes both readings away and is not seen.
 */
export function inert(text: string): string {
  return text.replace(/\]\(/g, "]\u2060(").replace(/\$\(/g, "$\u2060(");
}

/** Labels, where only `$(name)` means something. */
export function label(text: string, limit?: number): string {
  return inert(oneLine(text, limit));
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
