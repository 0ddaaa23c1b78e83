import * as vscode from "vscode";

import type { EndReason, ToolState } from "../protocol";
import { isRunning } from "../stores/session";
import { hasFailed } from "../text/processes";
import type { SubagentRow, ItemRow, Row } from "./rows";
import { isDeclaredOnly } from "./rows";

/** The icon of a row. Nothing spins unless something runs. */
export function iconOf(row: Row): vscode.ThemeIcon {
  switch (row.kind) {
    case "turn":
      if (row.waits) {
        return themed("warning", "list.warningForeground");
      }
      return row.turn.phase.kind === "ended"
        ? endIcon(row.turn.phase.reason)
        : new vscode.ThemeIcon(row.turn.phase.kind === "started" ? "loading~spin" : "debug-disconnect");
    case "root":
      return new vscode.ThemeIcon("checklist");
    case "item":
      return itemIcon(row);
    case "subagent":
      return subagentIcon(row);
    case "file":
      return vscode.ThemeIcon.File;
    case "command":
      return commandIcon(row.command.state, row.parent.running);
    case "process":
      return isRunning(row.process)
        ? themed("server-process", "cairn.activeForeground")
        : hasFailed(row.process)
          ? themed("error", "list.errorForeground")
          : new vscode.ThemeIcon("circle-slash");
    case "dropped":
      return themed("dash", "descriptionForeground");
    case "history":
      return new vscode.ThemeIcon("history");
    case "earlier":
      return endIcon(row.earlier.reason);
  }
}

function endIcon(reason: EndReason): vscode.ThemeIcon {
  switch (reason) {
    case "completed":
      return themed("pass", "cairn.completedForeground");
    case "needsInput":
      return new vscode.ThemeIcon("question");
    case "failed":
      return themed("error", "list.errorForeground");
    case "limit":
    case "interrupted":
      return themed("warning", "list.warningForeground");
    case "cancelled":
      return new vscode.ThemeIcon("circle-slash");
  }
}

function itemIcon({ item, running, blockers }: ItemRow): vscode.ThemeIcon {
  if (item.status === "completed") {
    return themed(isDeclaredOnly(item) ? "pass" : "pass-filled", "cairn.completedForeground");
  }
  if (item.status === "cancelled") {
    return themed("dash", "descriptionForeground");
  }
  if (item.status === "inProgress") {
    return running ? themed("loading~spin", "cairn.activeForeground") : new vscode.ThemeIcon("record");
  }
  return new vscode.ThemeIcon(item.blocked || blockers.length > 0 ? "circle-slash" : "circle-large-outline");
}

function subagentIcon({ subagent: { phase }, live }: SubagentRow): vscode.ThemeIcon {
  switch (phase.kind) {
    case "waiting":
      return new vscode.ThemeIcon(live ? "watch" : "debug-disconnect");
    case "running":
      return live ? themed("loading~spin", "cairn.activeForeground") : new vscode.ThemeIcon("debug-disconnect");
    case "ended":
      return endIcon(phase.reason === "needsInput" ? "completed" : phase.reason);
  }
}

function commandIcon(state: ToolState, running: boolean): vscode.ThemeIcon {
  switch (state) {
    case "done":
      return themed("check", "cairn.completedForeground");
    case "failed":
      return themed("error", "list.errorForeground");
    case "declined":
    case "cancelled":
      return new vscode.ThemeIcon("circle-slash");
    case "awaitingApproval":
      return running ? themed("warning", "list.warningForeground") : new vscode.ThemeIcon("debug-disconnect");
    case "queued":
      return new vscode.ThemeIcon(running ? "watch" : "debug-disconnect");
    case "running":
      return running ? themed("loading~spin", "cairn.activeForeground") : new vscode.ThemeIcon("debug-disconnect");
  }
}

function themed(icon: string, color: string): vscode.ThemeIcon {
  return new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
}
