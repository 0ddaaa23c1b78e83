import type { ApproveParams } from "../protocol";
import { inert, oneLine } from "./display";

/** Longest command that a notification shows well. */
const COMMAND_CHARS = 240;

/**
 * The text of the notification that asks for an approval. Only when it is `whole` does it show
 * exactly what would run; else nobody may allow it from there.
 */
export function approvalNotice({ title, command, child }: Pick<ApproveParams, "title" | "command" | "child">): { message: string; whole: boolean } {
  const shown = oneLine(command, COMMAND_CHARS);
  return { message: inert(`${oneLine(title, 80)}${child === undefined ? "" : ` (${oneLine(child, 60)})`}? ${shown}`), whole: shown === command.trim() };
}

/** The name of the document that shows what would change: `Change package.json.diff`. */
export function previewName({ command }: Pick<ApproveParams, "command">): string {
  return `${oneLine(command, 80).replaceAll(/[/\\?#]/g, "∕")}.diff`;
}
