import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { requests } from "../protocol";

/** Compacts now, or after the current round. The conversation shows the result. */
export async function compactConversation(agent: Agent, current: string | undefined): Promise<void> {
  if (current === undefined) {
    vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: there is no conversation to compact."), 5_000);
    return;
  }
  try {
    await agent.request(requests.compact, { sessionId: current });
  } catch (error) {
    void vscode.window.showInformationMessage(reasonOf(error));
  }
}
