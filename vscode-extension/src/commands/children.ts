import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import type { Row } from "../plan/rows";
import { requests } from "../protocol";

/** Ends one child from its row; the agent is told and goes on. */
export async function cancelChild(agent: Agent, row: Row | undefined): Promise<void> {
  if (row?.kind !== "child") {
    return;
  }
  const { sessionId, turnId } = row.child;
  try {
    await agent.request(requests.cancel, { sessionId, turnId });
  } catch (error) {
    // It may have ended by itself while the row was on the screen.
    vscode.window.setStatusBarMessage(`Cairn: ${reasonOf(error)}`, 5_000);
  }
}
