import type * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { requests } from "../protocol";
import type { PlanStore } from "../stores/plan";
import type { SessionStore } from "../stores/session";

/** Asks for the plans of earlier turns when there can be news of them: at the end of a turn. */
export class PlanHistory implements vscode.Disposable {
  readonly #subscription: vscode.Disposable;

  constructor(
    private readonly agent: Agent,
    private readonly plans: PlanStore,
    private readonly sessions: SessionStore,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.#subscription = sessions.onDidEndTurn(({ turnId }) => {
      if (plans.plan?.turnId === turnId) {
        void this.refresh();
      }
    });
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  async refresh(): Promise<void> {
    const sessionId = this.sessions.current;
    if (sessionId === undefined) {
      return;
    }
    try {
      const { turns } = await this.agent.request(requests.planHistory, { sessionId });
      if (this.sessions.current === sessionId) {
        this.plans.setEarlier(sessionId, turns);
      }
    } catch (error) {
      this.log.warn(`Plans of earlier turns could not be read: ${reasonOf(error)}`);
    }
  }
}
