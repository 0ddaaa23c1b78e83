// Upper bounds for the width of text in em, in the proportional letters of the editor's lists, whose rows
// are cut at their end. An extension cannot measure text. The bounds are those of DejaVu Sans, the widest
// common font.

const NARROW = /[ !'(),\-./:;I[\\\]fijlrt|]/;
const USUAL = /[a-z0-9$?_{}"*`]/;
const WIDE = /[%@MWmw]/;

/** Upper bound of the width of a character. The widths of rare letters are estimates. */
export function width(char: string): number {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x80) {
    return NARROW.test(char) ? 0.42 : WIDE.test(char) ? 1 : USUAL.test(char) ? 0.65 : 0.84;
  }
  const within = (first: number, last: number) => code >= first && code <= last;
  if (within(0x80, 0x52f) || within(0x2e80, 0x9fff) || within(0xac00, 0xd7a3) || within(0xff00, 0xffef)) {
    return 1.1;
  }
  return within(0x1f000, 0x1faff) ? 1.5 : 12;
}

/**
 * The text in pieces, none wider than `limit` unless it is one character. Cut between two letters where
 * they have them: a blank at an end would not be seen.
 */
export function pieces(text: string, limit: number): string[] {
  const pieces = [];
  let piece: string[] = [];
  for (const char of text) {
    if (piece.length > 0 && widthOf(piece) + width(char) > limit) {
      const rest = piece.splice(end(piece, char, limit));
      pieces.push(piece.join(""));
      piece = rest;
    }
    piece.push(char);
  }
  return [...pieces, piece.join("")];
}

function widthOf(chars: string[]): number {
  return chars.reduce((sum, char) => sum + width(char), 0);
}

/** Length of the part of a piece that stays. A cluster that continues in the next character must fit. */
function end(piece: string[], next: string, limit: number): number {
  const all = [...piece, next];
  for (let at = piece.length; at > 0 && widthOf(all.slice(at)) <= limit; at -= 1) {
    if (all[at - 1] !== " " && all[at] !== " ") {
      return at;
    }
  }
  return piece.length;
}
