/** Number of lines whose ending a save changes, in a file that has several kinds: an editor writes one kind. */
export function changedEndings(file: string, written: "\n" | "\r\n"): number {
  const endings = file.match(/\r\n|\r|\n/gu) ?? [];
  return new Set(endings).size > 1 ? endings.filter((ending) => ending !== written).length : 0;
}
