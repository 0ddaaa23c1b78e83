import type { AskParams, AskResult, ToolNotification, TurnNotification } from "../protocol";
import { Emitter } from "./emitter";

interface Waiting {
  readonly params: AskParams;
  readonly resolve: (result: AskResult) => void;
}

/** Questions of the agent that wait for the user's words, oldest first. */
export class QuestionStore {
  readonly #waiting = new Map<string, Waiting>();
  readonly #changed = new Emitter<AskParams | undefined>();

  /** A question came, which is named, or one was answered or withdrawn. */
  readonly onDidChange = this.#changed.event;

  get waiting(): AskParams[] {
    return [...this.#waiting.values()].map(({ params }) => params);
  }

  ask(params: AskParams): Promise<AskResult> {
    return new Promise((resolve) => {
      this.#waiting.set(params.questionId, { params, resolve });
      this.#changed.fire(params);
    });
  }

  /** Answers a question; without words it is dismissed. False if it no longer waits. */
  answer(questionId: string, words: string): boolean {
    const question = this.#waiting.get(questionId);
    if (question === undefined) {
      return false;
    }
    this.#waiting.delete(questionId);
    question.resolve(words.trim() === "" ? {} : { answer: words.trim() });
    this.#changed.fire(undefined);
    return true;
  }

  tool({ sessionId, callId, state }: ToolNotification): void {
    if (state !== "queued" && state !== "running" && state !== "awaitingApproval") {
      this.#withdraw((params) => params.sessionId === sessionId && params.callId === callId);
    }
  }

  turn({ turnId, phase }: TurnNotification): void {
    if (phase.kind === "ended") {
      this.#withdraw((params) => params.turnId === turnId);
    }
  }

  /** The daemon is gone, and its questions with it. */
  clear(): void {
    this.#withdraw(() => true);
  }

  #withdraw(matches: (params: AskParams) => boolean): void {
    for (const { questionId } of this.waiting.filter(matches)) {
      this.answer(questionId, "");
    }
  }
}
