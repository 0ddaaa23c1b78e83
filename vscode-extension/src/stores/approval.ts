import type { ApprovalDecision, ApproveResult, ToolNotification, TurnNotification } from "../protocol";
import { Emitter } from "./emitter";
import type { Approval } from "../text/approval";

/**
 * Time that a question is in view before an answer counts, in milliseconds. A click or key that comes
 * sooner was meant for the former content of that place.
 */
export const ARMED_AFTER_MS = 700;

/** `early`: the question was not in view long enough. `gone`: it was answered or withdrawn before. */
export type Answered = "counted" | "early" | "gone";

interface Question {
  readonly params: Approval;
  readonly resolve: (result: ApproveResult) => void;
  arming: ReturnType<typeof setTimeout> | undefined;
}

/** Questions that wait for the user. The first answer wins, from any place in the UI. */
export class ApprovalStore {
  readonly #waiting = new Map<string, Question>();
  readonly #added = new Emitter<Approval>();
  readonly #armed = new Emitter<string>();
  readonly #settled = new Emitter<string>();

  readonly onDidAdd = this.#added.event;
  /** The id of an approval whose answers count from now on. */
  readonly onDidArm = this.#armed.event;
  /** The id of an approval that was answered or withdrawn. */
  readonly onDidSettle = this.#settled.event;

  /** Oldest first. */
  get waiting(): Approval[] {
    return [...this.#waiting.values()].map(({ params }) => params);
  }

  get(approvalId: string): Approval | undefined {
    return this.#waiting.get(approvalId)?.params;
  }

  ask(params: Approval): Promise<ApproveResult> {
    return new Promise((resolve) => {
      const question: Question = { params, resolve, arming: undefined };
      this.#waiting.set(params.approvalId, question);
      this.#disarm(question);
      this.#added.fire(params);
    });
  }

  /** True if an answer counts. */
  isArmed(approvalId: string): boolean {
    const question = this.#waiting.get(approvalId);
    return question !== undefined && question.arming === undefined;
  }

  /** Answers, with feedback for the agent or without. */
  answer(approvalId: string, decision: ApprovalDecision, words = ""): Answered {
    if (!this.#waiting.has(approvalId)) {
      return "gone";
    }
    // Words were written for this question, however soon.
    if (words.trim() === "" && !this.isArmed(approvalId)) {
      return "early";
    }
    this.#settle(approvalId, words.trim() === "" ? { decision } : { decision, feedback: words.trim() });
    return "counted";
  }

  /** The daemon no longer waits. A denial is the only safe answer if it still does. */
  withdraw(approvalId: string): void {
    this.#settle(approvalId, { decision: "deny" });
  }

  dispose(): void {
    for (const { arming } of this.#waiting.values()) {
      clearTimeout(arming);
    }
  }

  #settle(approvalId: string, result: ApproveResult): void {
    const question = this.#waiting.get(approvalId);
    if (question === undefined) {
      return;
    }
    clearTimeout(question.arming);
    this.#waiting.delete(approvalId);
    question.resolve(result);
    // Other questions may move to the place of this one.
    for (const other of this.#waiting.values()) {
      this.#disarm(other);
    }
    this.#settled.fire(approvalId);
  }

  #disarm(question: Question): void {
    clearTimeout(question.arming);
    question.arming = setTimeout(() => {
      question.arming = undefined;
      this.#armed.fire(question.params.approvalId);
    }, ARMED_AFTER_MS);
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

  #withdrawWhere(matches: (params: Approval) => boolean): void {
    for (const params of this.waiting.filter(matches)) {
      this.withdraw(params.approvalId);
    }
  }
}
