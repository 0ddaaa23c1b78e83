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
  // Calls of earlier versions have only an English title.
  const text = textOf(title);
  return text === name ? undefined : text.replace(/^Run /u, "");
}

/** File that a call changes, as the model named it; both names for a move. */
export function fileOf({ title }: Titled): string {
  if (title.code === "move_file") {
    return l10n.t("{from} to {to}", { from: argOf(title, "from"), to: argOf(title, "to") });
  }
  // Calls of earlier versions have only an English title.
  return argOf(title, "file") || textOf(title).replace(/^(?:Edit|Write|Delete|Move) /u, "");
}

/** True for a call that replaced the plan. */
export function updatesPlan({ title }: Titled): boolean {
  return title.code === "update_plan" || textOf(title) === "Update the plan";
}
