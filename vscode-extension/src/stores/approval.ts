import type { ApprovalDecision, ApproveResult, AskParams, AskResult } from "../protocol";
import type { Approval } from "../text/approval";
import type { Disposable } from "./emitter";
import type { Store } from "./store";

/**
 * Time that a question is in view before an answer counts, in milliseconds. A click or key that comes
 * sooner was meant for the former content of that place.
 */
export const ARMED_AFTER_MS = 700;

/** Approvals that wait for the user, oldest first. The first answer wins. */
export class Approvals {
  constructor(readonly waiting: readonly Approval[] = []) {}

  get(approvalId: string): Approval | undefined {
    return this.waiting.find((approval) => approval.approvalId === approvalId);
  }

  with(approval: Approval): Approvals {
    return new Approvals([...this.waiting, approval]);
  }

  without(matches: (approval: Approval) => boolean): Approvals {
    return this.waiting.some(matches) ? new Approvals(this.waiting.filter((approval) => !matches(approval))) : this;
  }
}

/** Questions of the agent that wait for the user's words, oldest first. */
export class Questions {
  constructor(readonly waiting: readonly AskParams[] = []) {}

  with(question: AskParams): Questions {
    return new Questions([...this.waiting, question]);
  }

  without(matches: (question: AskParams) => boolean): Questions {
    return this.waiting.some(matches) ? new Questions(this.waiting.filter((question) => !matches(question))) : this;
  }
}

/**
 * Requests of the daemon to the user. Each is answered once: by the user, or without words when the state no longer has
 * it, because its call or its turn is over.
 */
export class Asking implements Disposable {
  readonly #approvals = new Map<string, (result: ApproveResult) => void>();
  readonly #questions = new Map<string, (result: AskResult) => void>();
  readonly #subscription: Disposable;

  constructor(private readonly store: Store) {
    this.#subscription = store.on(["approvals", "questions"], () => this.#follow());
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  approve(approval: Approval): Promise<ApproveResult> {
    return new Promise((resolve) => {
      this.#approvals.set(approval.approvalId, resolve);
      this.store.apply({ kind: "approval", approval });
    });
  }

  ask(question: AskParams): Promise<AskResult> {
    return new Promise((resolve) => {
      this.#questions.set(question.questionId, resolve);
      this.store.apply({ kind: "question", question });
    });
  }

  /** Answers an approval, with feedback for the agent or without; false if it was answered or withdrawn before. */
  answerApproval(approvalId: string, decision: ApprovalDecision, words = ""): boolean {
    if (this.store.state.approvals.get(approvalId) === undefined) {
      return false;
    }
    const feedback = words.trim();
    this.#settle(approvalId, feedback === "" ? { decision } : { decision, feedback });
    return true;
  }

  /** Answers a question; without words it is dismissed. */
  answer(questionId: string, words: string): void {
    const answer = words.trim();
    this.#resolve(questionId, answer === "" ? {} : { answer });
    this.store.apply({ kind: "answered", questionId });
  }

  /** The daemon no longer waits. A denial is the only safe answer if it still does. */
  withdraw(approvalId: string): void {
    this.#settle(approvalId, { decision: "deny" });
  }

  #settle(approvalId: string, result: ApproveResult): void {
    this.#approvals.get(approvalId)?.(result);
    this.#approvals.delete(approvalId);
    this.store.apply({ kind: "settled", approvalId });
  }

  #resolve(questionId: string, result: AskResult): void {
    this.#questions.get(questionId)?.(result);
    this.#questions.delete(questionId);
  }

  /** Answers what the state no longer has. */
  #follow(): void {
    const { approvals, questions } = this.store.state;
    for (const [id, resolve] of this.#approvals) {
      if (approvals.get(id) === undefined) {
        resolve({ decision: "deny" });
        this.#approvals.delete(id);
      }
    }
    const asked = new Set(questions.waiting.map(({ questionId }) => questionId));
    [...this.#questions.keys()].filter((id) => !asked.has(id)).forEach((id) => this.#resolve(id, {}));
  }
}
