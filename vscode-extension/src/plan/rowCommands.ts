import type * as vscode from "vscode";
import { l10n } from "vscode";

import type { Row } from "./rows";

/** Command of a click or Enter. Rows with children open and close instead. */
export function commandOf(row: Row): vscode.Command | undefined {
  switch (row.kind) {
    case "turn":
      return { command: "cairn.showConversation", title: l10n.t("Show Conversation") };
    case "command": {
      const call = { sessionId: row.parent.sessionId, callId: row.command.callId };
      return { command: "cairn.showConversation", title: l10n.t("Show Conversation"), arguments: [call] };
    }
    case "file":
      return { command: "cairn.openPlanFile", title: l10n.t("Open"), arguments: [row] };
    case "process":
      return { command: "cairn.watchProcess", title: l10n.t("Watch Process"), arguments: [row] };
    case "subagent":
      return row.subagent.total === 0 ? { command: "cairn.showConversation", title: l10n.t("Show Conversation") } : undefined;
    case "root":
    case "item":
    case "dropped":
    case "history":
    case "earlier":
      return undefined;
  }
}
