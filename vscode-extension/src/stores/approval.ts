import type { ApprovalDecision, ApproveResult, AskParams, AskResult } from "../protocol";
import type { Approval } from "../text/approval";
import type { Disposable } from "./emitter";
import type { State } from "./state";
import type { Store } from "./store";

/**
 * Time that a question is in view before an answer counts, in milliseconds. A click or key that comes
 * sooner was meant for the former content of that place.
 */
export const ARMED_AFTER_MS = 700;

/** Requests that wait for the user, oldest first. */
export class Waiting<T> {
  constructor(readonly waiting: readonly T[] = []) {}

  with(request: T): Waiting<T> {
    return new Waiting([...this.waiting, request]);
  }

  without(matches: (request: T) => boolean): Waiting<T> {
    return this.waiting.some(matches) ? new Waiting(this.waiting.filter((request) => !matches(request))) : this;
  }
}

/** Approvals that wait. The first answer wins. */
export const approvalIn = ({ approvals }: Pick<State, "approvals">, id: string): Approval | undefined =>
  approvals.waiting.find(({ approvalId }) => approvalId === id);

/**
 * Requests of the daemon to the user. Each is answered once: by the user, or without words when the state no longer has
 * it, because its call or its turn is over.
 */
export class Asking implements Disposable {
  /** Takers of the answer to each request, or of none. */
  readonly #open = new Map<string, (result?: ApproveResult & AskResult) => void>();
  readonly #subscription: Disposable;

  constructor(private readonly store: Store) {
    this.#subscription = store.on(["approvals", "questions"], () => this.#follow());
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  approve(approval: Approval): Promise<ApproveResult> {
    return new Promise((resolve) => {
      this.#open.set(approval.approvalId, (result = { decision: "deny" }) => resolve(result));
      this.store.apply({ kind: "approval", approval });
    });
  }

  ask(question: AskParams): Promise<AskResult> {
    return new Promise((resolve) => {
      this.#open.set(question.questionId, (result) => resolve(result ?? {}));
      this.store.apply({ kind: "question", question });
    });
  }

  /** Answers an approval, with feedback for the agent or without; false if it was answered or withdrawn before. */
  answerApproval(approvalId: string, decision: ApprovalDecision, words = ""): boolean {
    const isOpen = approvalIn(this.store.state, approvalId) !== undefined;
    const feedback = words.trim();
    this.#resolve(approvalId, { decision, ...(feedback !== "" && { feedback }) });
    this.store.apply({ kind: "settled", approvalId });
    return isOpen;
  }

  /** Answers a question; without words it is dismissed. */
  answer(questionId: string, words: string): void {
    const answer = words.trim();
    this.#resolve(questionId, answer === "" ? {} : { answer });
    this.store.apply({ kind: "answered", questionId });
  }

  /** The daemon no longer waits. A denial is the only safe answer if it still does. */
  withdraw(approvalId: string): void {
    this.answerApproval(approvalId, "deny");
  }

  #resolve(id: string, result?: Partial<ApproveResult & AskResult>): void {
    this.#open.get(id)?.(result as ApproveResult & AskResult);
    this.#open.delete(id);
  }

  /** Answers what the state no longer has. */
  #follow(): void {
    const { approvals, questions } = this.store.state;
    const ids = new Set([...approvals.waiting.map(({ approvalId }) => approvalId), ...questions.waiting.map(({ questionId }) => questionId)]);
    [...this.#open.keys()].filter((id) => !ids.has(id)).forEach((id) => this.#resolve(id));
  }
}
