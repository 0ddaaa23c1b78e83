import * as vscode from "vscode";

import type { ActionId, UiArgument, UiMessage } from "../protocol";

/** Text of a message: its template in the user's language, with the arguments. */
export function textOf({ template, args = {} }: UiMessage): string {
  const shown = Object.entries(args).map(([name, argument]) => [name, shownArgument(argument)] as const);
  return vscode.l10n.t(template, Object.fromEntries(shown));
}

function shownArgument(argument: UiArgument): string {
  if (typeof argument === "number") {
    return argument < 10_000 ? `${argument}` : argument.toLocaleString();
  }
  if (typeof argument === "string") {
    return argument;
  }
  if (Array.isArray(argument)) {
    return argument.join(", ");
  }
  return "template" in argument ? textOf(argument) : argument.items.map(textOf).join(argument.separator);
}

/** Text argument of a message; empty without one of that name. */
export function argOf({ args }: UiMessage, name: string): string {
  const argument = args?.[name];
  return typeof argument === "string" ? argument : "";
}

/** A message, or a problem of the extension's own, that names an action. */
type Actionable = Partial<Pick<UiMessage, "action" | "args">>;

export interface Action {
  readonly label: string;
  readonly command: readonly [string, ...unknown[]];
}

/** Label and command of each action. The compiler refuses an action without them. */
const actions: Readonly<Record<ActionId, (args: NonNullable<UiMessage["args"]>, sessionId: string | undefined) => Action>> = {
  new_task: () => ({ label: vscode.l10n.t("New Task"), command: ["cairn.newTask"] }),
  retry: (_, sessionId) => ({ label: vscode.l10n.t("Try Again"), command: ["cairn.tryAgain", sessionId] }),
  reply: () => ({ label: vscode.l10n.t("Reply"), command: ["cairn.reply"] }),
  continue_task: () => ({ label: vscode.l10n.t("Continue Plan"), command: ["cairn.continue"] }),
  cancel_turn: () => ({ label: vscode.l10n.t("Cancel Task"), command: ["cairn.cancel"] }),
  open_session: () => ({ label: vscode.l10n.t("Open Session…"), command: ["cairn.openSession"] }),
  restore_checkpoint: () => ({ label: vscode.l10n.t("Restore Checkpoint…"), command: ["cairn.restoreCheckpoint"] }),
  show_conversation: () => ({ label: vscode.l10n.t("Show Conversation"), command: ["cairn.showConversation"] }),
  show_log: () => ({ label: vscode.l10n.t("Show Log"), command: ["cairn.showLog"] }),
  restart: () => ({ label: vscode.l10n.t("Restart Cairn"), command: ["cairn.restart"] }),
  open_folder: () => ({ label: vscode.l10n.t("Open Folder…"), command: ["vscode.openFolder"] }),
  open_settings: ({ setting }) => ({
    label: vscode.l10n.t("Open Settings"),
    command: ["workbench.action.openSettings", typeof setting === "string" ? setting : "cairn"],
  }),
  trust_workspace: () => ({ label: vscode.l10n.t("Manage Workspace Trust"), command: ["workbench.trust.manage"] }),
  set_api_key: ({ provider }) => ({ label: vscode.l10n.t("Set API Key…"), command: ["cairn.setApiKey", provider] }),
  choose_model: () => ({ label: vscode.l10n.t("Choose Model…"), command: ["cairn.chooseModel"] }),
};

/** Action that a message names, or `undefined` for none or for one of a newer daemon. */
export function actionOf(message: Actionable | undefined, sessionId?: string): Action | undefined {
  return lookUp(actions as Record<string, (typeof actions)[ActionId]>, message?.action)?.(message?.args ?? {}, sessionId);
}

/**
 * Buttons for the problem that ended a turn: what the daemon names, another model where a key is
 * missing or wrong, and the same task again.
 */
export function actionsOfEnd(problem: Actionable | undefined, sessionId: string, canRetry: boolean): Action[] {
  const ids: ActionId[] = problem?.action === "set_api_key" ? ["choose_model"] : [];
  const first = actionOf(problem, sessionId);
  const more = [...ids, ...(canRetry ? (["retry"] as const) : [])].map((id) => actions[id](problem?.args ?? {}, sessionId));
  const all = first === undefined ? more : [first, ...more];
  return all.filter(
    (action, at) => (canRetry || action.command[0] !== "cairn.tryAgain") && all.findIndex(({ label }) => label === action.label) === at,
  );
}

function lookUp<V>(table: Readonly<Record<string, V>>, key: string | undefined): V | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}
