import * as vscode from "vscode";

import { problemOf, reasonOf } from "../daemon/agent";
import { plainText, oneLine } from "../text/display";
import { type Action, actionOf } from "../text/messages";

export type Show = (message: string, ...items: string[]) => Thenable<string | undefined>;

/** Shows a notification with buttons, and runs the command of the chosen one. */
export async function offerActions(show: Show, message: string, actions: readonly Action[]): Promise<void> {
  const choice = await show(plainText(oneLine(message, 400)), ...actions.map(({ label }) => label));
  const action = actions.find(({ label }) => label === choice);
  if (action !== undefined) {
    const [command, ...args] = action.command;
    await vscode.commands.executeCommand(command, ...args);
  }
}

/** Shows why a request failed, with the action that solves it. */
export async function showFailure(error: unknown): Promise<void> {
  const action = actionOf(problemOf(error));
  await offerActions(vscode.window.showErrorMessage, reasonOf(error), action === undefined ? [] : [action]);
}
