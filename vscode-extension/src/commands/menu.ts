import * as vscode from "vscode";

import { readyPlan } from "../plan/planReady";
import { openItems } from "../plan/rows";
import type { State } from "../stores/state";
import { label, oneLine } from "../text/display";
import { modeText } from "../text/modes";

interface Entry extends vscode.QuickPickItem {
  readonly command?: string;
}

/** Menu of the status bar item: the commands that apply now. */
export async function showMenu(state: State): Promise<void> {
  const { link } = state.status;
  const title = link.kind === "failed" ? oneLine(link.message, 300) : "Cairn";
  const picked = await vscode.window.showQuickPick(menuEntries(state), { title });
  if (picked?.command !== undefined) {
    await vscode.commands.executeCommand(picked.command);
  }
}

/** Entries of the menu. The first is selected when the menu opens, so it only shows something. */
export function menuEntries(state: State): Entry[] {
  const { status, sessions, plans, reviews, modes } = state;
  const running = sessions.running;
  const ready = readyPlan(state) !== undefined;
  const open = !running && plans.plan !== undefined && openItems(plans.plan) > 0;
  const groups: (Entry | false)[][] = [
    [
      { label: `$(comment-discussion) ${vscode.l10n.t("Show Conversation")}`, command: "cairn.showConversation" },
      running && { label: `$(comment) ${vscode.l10n.t("Send to the Running Task…")}`, command: "cairn.reply" },
      ready && { label: `$(play) ${vscode.l10n.t("Run Plan")}`, command: "cairn.runPlan" },
      !running && { label: `$(add) ${vscode.l10n.t("New Task…")}`, command: "cairn.runTask" },
      !running && sessions.turn !== undefined && { label: `$(comment) ${vscode.l10n.t("Reply…")}`, command: "cairn.reply" },
      open && !ready && { label: `$(debug-continue) ${vscode.l10n.t("Continue Plan")}`, command: "cairn.continue" },
      running && { label: `$(debug-stop) ${vscode.l10n.t("Cancel Task")}`, command: "cairn.cancel" },
    ],
    [
      reviews.pending > 0 && { label: `$(diff-multiple) ${vscode.l10n.t("Review All Edits")}`, command: "cairn.reviewAll" },
      reviews.pending > 0 && { label: `$(arrow-down) ${vscode.l10n.t("Next Edit")}`, command: "cairn.nextHunk" },
    ],
    [
      { label: `$(folder-opened) ${vscode.l10n.t("Open Session…")}`, command: "cairn.openSession" },
      sessions.turn !== undefined && { label: `$(fold) ${vscode.l10n.t("Compact Conversation")}`, command: "cairn.compact" },
      sessions.current !== undefined && { label: `$(markdown) ${vscode.l10n.t("Export Session as Markdown…")}`, command: "cairn.exportMarkdown" },
    ],
    [
      { label: `$(settings) ${vscode.l10n.t("Edit Mode…")}`, description: modeText(modes.of(sessions.current)).name, command: "cairn.chooseMode" },
      { label: `$(server) ${vscode.l10n.t("Choose Model…")}`, description: label(status.status?.model.name ?? ""), command: "cairn.chooseModel" },
      { label: `$(key) ${vscode.l10n.t("Set API Key…")}`, command: "cairn.setApiKey" },
      { label: `$(shield) ${vscode.l10n.t("Manage Allowed Commands…")}`, command: "cairn.manageRules" },
      status.untrusted && { label: `$(workspace-untrusted) ${vscode.l10n.t("Manage Workspace Trust…")}`, command: "workbench.trust.manage" },
    ],
    [
      { label: `$(output) ${vscode.l10n.t("Show Log")}`, command: "cairn.showLog" },
      { label: `$(debug-restart) ${vscode.l10n.t("Restart Cairn")}`, command: "cairn.restart" },
    ],
  ];
  const separator: Entry = { label: "", kind: vscode.QuickPickItemKind.Separator };
  const shown = groups.map((group) => group.filter((entry) => entry !== false)).filter((group) => group.length > 0);
  return shown.flatMap((group, at) => (at === 0 ? group : [separator, ...group]));
}
