import * as vscode from "vscode";

import type { EndReason, ToolState } from "../protocol";
import { isRunning } from "../stores/session";
import { hasFailed } from "../text/processes";
import { type ItemRow, type SubagentRow, byKind, isDeclaredOnly } from "./rows";

const WARNING = themed("warning", "list.warningForeground");
const FAILED = themed("error", "list.errorForeground");
const STOPPED = new vscode.ThemeIcon("circle-slash");
const GONE = new vscode.ThemeIcon("debug-disconnect");
const RUNS = themed("loading~spin", "cairn.activeForeground");

const ENDS: Readonly<Record<EndReason, vscode.ThemeIcon>> = {
  completed: themed("pass", "cairn.completedForeground"),
  needsInput: new vscode.ThemeIcon("question"),
  failed: FAILED,
  limit: WARNING,
  interrupted: WARNING,
  cancelled: STOPPED,
};

/** Icons of commands, while their turn runs and in any case. */
const LIVE: Readonly<Partial<Record<ToolState, vscode.ThemeIcon>>> = {
  awaitingApproval: WARNING,
  queued: new vscode.ThemeIcon("watch"),
  running: RUNS,
};
const OVER: typeof LIVE = { done: themed("check", "cairn.completedForeground"), failed: FAILED, declined: STOPPED, cancelled: STOPPED };

/** The icon of a row. Nothing spins unless something runs. */
export const iconOf = byKind<vscode.ThemeIcon>({
  turn: ({ waits, turn: { phase } }) =>
    waits ? WARNING : phase.kind === "ended" ? ENDS[phase.reason] : phase.kind === "started" ? new vscode.ThemeIcon("loading~spin") : GONE,
  root: () => new vscode.ThemeIcon("checklist"),
  item: itemIcon,
  subagent: subagentIcon,
  file: () => vscode.ThemeIcon.File,
  command: ({ command, parent }) => (parent.running ? LIVE[command.state] : undefined) ?? OVER[command.state] ?? GONE,
  process: ({ process }) => (isRunning(process) ? themed("server-process", "cairn.activeForeground") : hasFailed(process) ? FAILED : STOPPED),
  dropped: () => themed("dash", "descriptionForeground"),
  history: () => new vscode.ThemeIcon("history"),
  earlier: ({ earlier }) => ENDS[earlier.reason],
});

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
  if (phase.kind === "ended") {
    return ENDS[phase.reason === "needsInput" ? "completed" : phase.reason];
  }
  return !live ? GONE : phase.kind === "running" ? RUNS : new vscode.ThemeIcon("watch");
}

function themed(icon: string, color: string): vscode.ThemeIcon {
  return new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
}
