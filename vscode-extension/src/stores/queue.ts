import type { FollowUp, QueueNotification, SessionSnapshot, StateResult } from "../protocol";
import { Emitter } from "./emitter";

/** Queued follow-ups of each session. */
export class QueueStore {
  readonly #queues = new Map<string, QueueNotification>();
  readonly #changed = new Emitter<void>();

  readonly onDidChange = this.#changed.event;

  of(sessionId: string | undefined): { readonly items: readonly FollowUp[]; readonly held: boolean } {
    const queue = sessionId === undefined ? undefined : this.#queues.get(sessionId);
    return queue ?? { items: [], held: false };
  }

  /** Sessions with follow-ups. */
  get sessions(): string[] {
    return [...this.#queues.values()].filter(({ items }) => items.length > 0).map(({ sessionId }) => sessionId);
  }

  update(next: QueueNotification): void {
    const last = this.#queues.get(next.sessionId);
    if (last !== undefined && next.rev <= last.rev) {
      return;
    }
    this.#queues.set(next.sessionId, next);
    this.#changed.fire();
  }

  /** Takes the answer to `agent/sessions/open`. Without a queue in it, nothing is queued. */
  open({ sessionId, queue }: SessionSnapshot): void {
    this.#queues.delete(sessionId);
    if (queue !== undefined) {
      this.#queues.set(sessionId, queue);
    }
    this.#changed.fire();
  }

  /** Replaces everything with the answer to `agent/state` after a (re)connect. */
  restore(sessions: StateResult["sessions"]): void {
    this.#queues.clear();
    for (const { queue } of sessions) {
      if (queue !== undefined) {
        this.#queues.set(queue.sessionId, queue);
      }
    }
    this.#changed.fire();
  }
}
