import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { type AllowedCommand, requests } from "../protocol";
import { plainText } from "../text/display";
import { ruleRows } from "../text/rules";
import { showFailure } from "../status/offer";

interface Row extends vscode.QuickPickItem {
  readonly rule?: AllowedCommand;
}

/** Lists the commands that the user always allows, and revokes them. */
export async function manageRules(agent: Agent): Promise<void> {
  const button: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("trash"), tooltip: vscode.l10n.t("Revoke: ask again") };
  const pick = vscode.window.createQuickPick<Row>();
  pick.title = vscode.l10n.t("Commands that are always allowed");
  pick.placeholder = vscode.l10n.t("Choose one to revoke it: from then on it is asked for again");
  pick.matchOnDescription = true;
  pick.busy = true;
  pick.onDidHide(() => pick.dispose());
  const fail = (error: unknown): void => {
    pick.hide();
    void showFailure(error);
  };
  const load = async (): Promise<void> => {
    const { rules } = await agent.request(requests.listRules, {});
    pick.items = ruleRows(rules).map((row): Row =>
      "separator" in row
        ? { label: row.separator, kind: vscode.QuickPickItemKind.Separator }
        : { label: plainText(row.label), description: plainText(row.description), rule: row.rule, buttons: [button] },
    );
    pick.busy = false;
    if (rules.length === 0) {
      pick.hide();
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: no command is always allowed. “Always” in a question allows one."), 8_000);
    }
  };
  const revoke = async ({ rule }: Row): Promise<void> => {
    if (rule !== undefined) {
      pick.busy = true;
      await agent.request(requests.revokeRule, { folder: rule.folder, command: rule.command });
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: “{0}” is asked for again.", plainText(rule.command)), 5_000);
      await load();
    }
  };
  pick.onDidTriggerItemButton(({ item }) => void revoke(item).catch(fail));
  // Buttons are not reachable by keyboard, so Enter revokes too. The worst case is one extra question.
  pick.onDidAccept(() => {
    const [row] = pick.selectedItems;
    if (row !== undefined) {
      void revoke(row).catch(fail);
    }
  });
  pick.show();
  await load().catch(fail);
}
