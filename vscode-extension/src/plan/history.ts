import type * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { requests } from "../protocol";
import type { Store } from "../stores/store";

/** Asks for the plans of earlier turns when there can be news of them: at the end of a turn. */
export class PlanHistory implements vscode.Disposable {
  readonly #subscription: vscode.Disposable;

  constructor(
    private readonly agent: Agent,
    private readonly store: Store,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.#subscription = store.on(["sessions"], ({ change }) => {
      if (change.kind === "turn" && change.turn.phase.kind === "ended" && store.state.plans.plan?.turnId === change.turn.turnId) {
        void this.refresh();
      }
    });
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  async refresh(): Promise<void> {
    const sessionId = this.store.state.sessions.current;
    if (sessionId === undefined) {
      return;
    }
    try {
      const { turns } = await this.agent.request(requests.planHistory, { sessionId });
      if (this.store.state.sessions.current === sessionId) {
        this.store.apply({ kind: "history", sessionId, turns });
      }
    } catch (error) {
      this.log.warn(`Plans of earlier turns could not be read: ${reasonOf(error)}`);
    }
  }
}
