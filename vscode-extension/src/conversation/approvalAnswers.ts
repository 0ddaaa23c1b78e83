import { approvalIn } from "../stores/approval";
import { ARMED_AFTER_MS, type Asking } from "../stores/approval";
import type { Store } from "../stores/store";
import type { FromPage } from "./messages";

/** Answers to approvals on the page. An answer counts only for a question that was on screen for long enough. */
export class ApprovalAnswers {
  /** Time at which each waiting approval came on screen. */
  readonly #asked = new Map<string, number>();

  constructor(
    private readonly store: Store,
    private readonly asking: Asking,
    private readonly port: { run(command: string, ...args: unknown[]): void; now(): number },
  ) {}

  /** No page is in sight, or a new one. */
  clear(): void {
    this.#asked.clear();
  }

  /** These approvals are on screen. */
  shown(ids: readonly string[]): void {
    for (const id of ids) {
      this.#asked.set(id, this.#asked.get(id) ?? this.port.now());
    }
  }

  /** An approval is over. The cards below it move to another place: they are new. */
  settled(id: string): void {
    this.#asked.delete(id);
    const now = this.port.now();
    for (const waiting of this.#asked.keys()) {
      this.#asked.set(waiting, now);
    }
  }

  /** Gives an answer, and returns the turn in which it counted. The time is checked by the page's clock and by ours. */
  give({ id, decision, words, shownForMs }: Extract<FromPage, { type: "approve" }>): string | undefined {
    const params = approvalIn(this.store.state, id);
    const asked = this.#asked.get(id);
    if (params === undefined) {
      return undefined;
    }
    if (decision === "change") {
      this.port.run("cairn.approval.showChange", id);
      return undefined;
    }
    if (asked === undefined || shownForMs < ARMED_AFTER_MS || this.port.now() - asked < ARMED_AFTER_MS) {
      return undefined;
    }
    return this.asking.answerApproval(id, decision, words) ? params.turnId : undefined;
  }
}
