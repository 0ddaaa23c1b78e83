import type * as vscode from "vscode";
import { l10n } from "vscode";

import { byKind } from "./rows";

const show = (...call: unknown[]): vscode.Command => ({ command: "cairn.showConversation", title: l10n.t("Show Conversation"), arguments: call });

/** Command of a click or Enter. Rows with children open and close instead. */
export const commandOf = byKind<vscode.Command | undefined>(
  {
    turn: () => show(),
    command: ({ parent: { sessionId }, command: { callId } }) => show({ sessionId, callId }),
    file: (row) => ({ command: "cairn.openPlanFile", title: l10n.t("Open"), arguments: [row] }),
    process: (row) => ({ command: "cairn.watchProcess", title: l10n.t("Watch Process"), arguments: [row] }),
    subagent: ({ subagent }) => (subagent.total === 0 ? show() : undefined),
  },
  undefined,
);
