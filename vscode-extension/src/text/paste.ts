/**
 * The text as it was on the clipboard, where a box of one line took the line breaks out of it.
 * `undefined` if the value does not hold the clipboard's text, or that text is one line.
 */
export function withLineBreaks(value: string, clipboard: string): string | undefined {
  const lines = clipboard.replace(/\r\n?/gu, "\n").replace(/\n+$/u, "");
  if (!lines.includes("\n")) {
    return undefined;
  }
  // The box drops line breaks, or makes them spaces.
  for (const flat of [lines.replace(/\n/gu, ""), lines.replace(/\n/gu, " ")]) {
    const at = value.indexOf(flat);
    if (at >= 0) {
      return value.slice(0, at) + lines + value.slice(at + flat.length).trimEnd();
    }
  }
  return undefined;
}
