import type { ApproveParams } from "../protocol";
import { exact, inert, oneExactLine, oneLine } from "./display";

/** Longest command that a notification shows well. */
const COMMAND_CHARS = 240;
/** Longest line that a list shows without cutting it. */
const ROW_CHARS = 90;
/** At the beginning of what belongs to the line above. */
const GOES_ON = "↪ ";

/**
 * The text of the notification that asks for an approval. Only when it is `whole` does it show
 * exactly what would run; else nobody may allow it from there.
 */
export function approvalNotice({ title, command, child }: Pick<ApproveParams, "title" | "command" | "child">): { message: string; whole: boolean } {
  const shown = oneExactLine(command, COMMAND_CHARS);
  return { message: inert(`${oneLine(title, 80)}${child === undefined ? "" : ` (${oneLine(child, 60)})`}? ${shown}`), whole: shown === command.replace(/\n+$/, "") };
}

/** The whole command, line by line; a line that is too long to be shown goes on in the next row. */
export function commandRows(command: string): string[] {
  return exact(command)
    .split("\n")
    .flatMap((line) => {
      const chars = [...line];
      const rows = [];
      for (let at = 0; at === 0 || at < chars.length; at += ROW_CHARS) {
        rows.push((at === 0 ? "" : GOES_ON) + chars.slice(at, at + ROW_CHARS).join(""));
      }
      return rows;
    })
    .map((row) => inert(row === "" ? " " : row));
}
