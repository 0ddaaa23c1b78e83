import * as vscode from "vscode";

/**
 * Registers a command of rows, keys and the palette. While VS Code redraws a view it passes `undefined` as
 * the clicked row. Such a click has no effect: without a row the command would be about something else.
 *
 * Not for a command in the title of a view: there VS Code passes the focused row, which is `undefined` for none.
 */
export function registerRowCommand(command: string, run: (...args: unknown[]) => unknown): vscode.Disposable {
  return vscode.commands.registerCommand(command, (...args: unknown[]) => {
    if (args.length > 0 && (args[0] === undefined || args[0] === null)) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: The rows have just changed, so the click had no effect: look again."), 6_000);
      return false;
    }
    return run(...args);
  });
}
