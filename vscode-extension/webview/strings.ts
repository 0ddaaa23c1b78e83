let table: Readonly<Record<string, string>> = {};

/** Takes the strings that the extension sends first. */
export function setStrings(strings: Readonly<Record<string, string>>): void {
  table = strings;
}

/** A string of the page in the user's language, with arguments in the places `{0}`, `{1}`. */
export function t(key: string, ...args: readonly (string | number)[]): string {
  const text = table[key] ?? key;
  return text.replace(/\{(\d)\}/gu, (whole, index: string) => String(args[Number(index)] ?? whole));
}
