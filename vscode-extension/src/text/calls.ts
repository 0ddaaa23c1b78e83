import { l10n } from "vscode";

import type { UiMessage } from "../protocol";
import { argOf, textOf } from "./messages";

interface Titled {
  readonly title: UiMessage;
}

/** Command line of a call, bounded; `undefined` before the arguments of the call are known. */
export function commandOf({ name, title }: Titled & { readonly name: string }): string | undefined {
  if (title.code === "run") {
    return argOf(title, "command");
  }
  const text = textOf(title);
  return text === name ? undefined : text;
}

/** File that a call changes, as the model named it; both names for a move. */
export function fileOf({ title }: Titled): string {
  if (title.code === "move_file") {
    return l10n.t("{from} to {to}", { from: argOf(title, "from"), to: argOf(title, "to") });
  }
  return argOf(title, "file") || textOf(title);
}

/** Subject of a call: the pattern of a search, or the task of a subagent; empty for other calls. */
export function subjectOf(title: UiMessage): string {
  return argOf(title, "pattern") || (title.code === "subagent" ? argOf(title, "title") : "");
}

/** True for a call that replaced the plan. */
export function updatesPlan({ title }: Titled): boolean {
  return title.code === "update_plan";
}
