import { l10n } from "vscode";

import type { EndReason, ToolState } from "../protocol";

const ENDS: Readonly<Record<EndReason, string>> = {
  completed: l10n.t("done"),
  needsInput: l10n.t("waits for your reply"),
  cancelled: l10n.t("cancelled"),
  failed: l10n.t("failed"),
  limit: l10n.t("stopped at a limit"),
  interrupted: l10n.t("interrupted"),
};
export const endText = (reason: EndReason): string => ENDS[reason];

const STATES: Readonly<Record<ToolState, string>> = {
  queued: l10n.t("queued"),
  awaitingApproval: l10n.t("waits for approval"),
  running: l10n.t("running"),
  done: l10n.t("done"),
  failed: l10n.t("failed"),
  declined: l10n.t("declined"),
  cancelled: l10n.t("cancelled"),
};

/** State of a command. Without a running turn, an unfinished command was interrupted. */
export function stateText(state: ToolState, running: boolean): string {
  const isOver = state !== "queued" && state !== "awaitingApproval" && state !== "running";
  return running || isOver ? STATES[state] : l10n.t("interrupted");
}

export const END_ICONS: Readonly<Record<EndReason, string>> = {
  completed: "check",
  needsInput: "question",
  cancelled: "circle-slash",
  failed: "error",
  limit: "debug-pause",
  interrupted: "debug-disconnect",
};

export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
