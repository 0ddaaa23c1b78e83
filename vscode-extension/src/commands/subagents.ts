import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import type { Row } from "../plan/rows";
import { requests } from "../protocol";

/** Cancels the subagent of a row. The agent gets a result with that reason and continues. */
export async function cancelSubagent(agent: Agent, row: Row | undefined): Promise<void> {
  if (row?.kind !== "subagent") {
    return;
  }
  const { sessionId, turnId } = row.subagent;
  try {
    await agent.request(requests.cancel, { sessionId, turnId });
  } catch (error) {
    // It may have ended while the row was on the screen.
    vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: {0}", reasonOf(error)), 5_000);
  }
}
