import * as vscode from "vscode";

import type { Decision, Hunk } from "../protocol";
import { plainText, oneLine } from "../text/display";

/**
 * Decision for edits to be rejected. If the user typed inside a line of one, it asks what becomes of that
 * line: next to the former lines it may be broken code. `undefined`: nothing is decided.
 */
export async function rejectionOf(hunks: readonly Hunk[]): Promise<Decision | undefined> {
  const typed = hunks.flatMap(({ typedIn }) => typedIn ?? []);
  const [first] = typed;
  if (first === undefined) {
    return "reject";
  }
  const keep = vscode.l10n.t("Keep Mine");
  const drop = vscode.l10n.t("Drop All");
  const message =
    typed.length === 1 ? vscode.l10n.t("You changed a line of this edit.") : vscode.l10n.t("You changed lines in {0} of these edits.", typed.length);
  const detail = vscode.l10n.t(
    "“{0}”\n\nKeep Mine leaves each line that you changed beside the former lines. Drop All restores the former lines only. Both can be undone.",
    plainText(oneLine(first, 120)),
  );
  const answer = await vscode.window.showWarningMessage(message, { modal: true, detail }, keep, drop);
  return answer === keep ? "reject" : answer === drop ? "drop" : undefined;
}
