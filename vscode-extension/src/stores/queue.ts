import type { FollowUp, QueueNotification, SessionSnapshot, StateResult } from "../protocol";
import { Emitter } from "./emitter";

/** What waits to be done next, by session. */
export class QueueStore {
  readonly #queues = new Map<string, QueueNotification>();
  readonly #changed = new Emitter<void>();

  readonly onDidChange = this.#changed.event;

  of(sessionId: string | undefined): { readonly items: readonly FollowUp[]; readonly held: boolean } {
    const queue = sessionId === undefined ? undefined : this.#queues.get(sessionId);
    return queue ?? { items: [], held: false };
  }

  update(next: QueueNotification): void {
    const last = this.#queues.get(next.sessionId);
    if (last !== undefined && next.rev <= last.rev) {
      return;
    }
    this.#queues.set(next.sessionId, next);
    this.#changed.fire();
  }

  /** What `agent/sessions/open` says: what it says nothing of does not wait. */
  open({ sessionId, queue }: SessionSnapshot): void {
    this.#queues.delete(sessionId);
    if (queue !== undefined) {
      this.#queues.set(sessionId, queue);
    }
    this.#changed.fire();
  }

  /** What `agent/state` says after a (re)connect: everything known before is void. */
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
