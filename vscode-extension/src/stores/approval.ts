import type { ApprovalDecision, ApproveParams, ApproveResult, ToolNotification, TurnNotification } from "../protocol";
import { Emitter } from "./emitter";

/** Questions that wait for the user. The first answer wins, from any place in the UI. */
export class ApprovalStore {
  readonly #waiting = new Map<string, { params: ApproveParams; resolve: (result: ApproveResult) => void }>();
  readonly #added = new Emitter<ApproveParams>();
  readonly #settled = new Emitter<string>();

  readonly onDidAdd = this.#added.event;
  /** The id of an approval that was answered or withdrawn. */
  readonly onDidSettle = this.#settled.event;

  /** Oldest first. */
  get waiting(): ApproveParams[] {
    return [...this.#waiting.values()].map(({ params }) => params);
  }

  get(approvalId: string): ApproveParams | undefined {
    return this.#waiting.get(approvalId)?.params;
  }

  ask(params: ApproveParams): Promise<ApproveResult> {
    return new Promise((resolve) => {
      this.#waiting.set(params.approvalId, { params, resolve });
      this.#added.fire(params);
    });
  }

  /** With words for the agent, or none. False when it was answered or withdrawn before. */
  answer(approvalId: string, decision: ApprovalDecision, words = ""): boolean {
    const entry = this.#waiting.get(approvalId);
    if (entry === undefined) {
      return false;
    }
    this.#waiting.delete(approvalId);
    entry.resolve(words.trim() === "" ? { decision } : { decision, feedback: words.trim() });
    this.#settled.fire(approvalId);
    return true;
  }

  /** The daemon no longer waits. Only a denial is safe to say to whoever might still listen. */
  withdraw(approvalId: string): void {
    this.answer(approvalId, "deny");
  }

  tool(tool: ToolNotification): void {
    if (tool.state !== "awaitingApproval" && tool.state !== "queued") {
      this.#withdrawWhere(({ sessionId, callId }) => sessionId === tool.sessionId && callId === tool.callId);
    }
  }

  turn(turn: TurnNotification): void {
    if (turn.phase.kind === "ended") {
      this.#withdrawWhere(({ turnId }) => turnId === turn.turnId);
    }
  }

  /** The daemon is gone, and its questions with it. */
  clear(): void {
    this.#withdrawWhere(() => true);
  }

  #withdrawWhere(matches: (params: ApproveParams) => boolean): void {
    for (const params of this.waiting.filter(matches)) {
      this.withdraw(params.approvalId);
    }
  }
}
