import type { ChildNotification } from "../protocol";
import { Emitter } from "./emitter";

/** Children kept: those of turns long gone are the conversation's business. */
const LIMIT = 200;

/** The loops that calls of the agent started, exactly as the daemon reports them. */
export class ChildStore {
  readonly #children = new Map<string, ChildNotification>();
  readonly #changed = new Emitter<void>();

  readonly onDidChange = this.#changed.event;

  /** Those that a turn of this session started, in the order of its calls. */
  ofTurn(sessionId: string, turnId: string): ChildNotification[] {
    return [...this.#children.values()]
      .filter(({ parent }) => parent.sessionId === sessionId && parent.turnId === turnId)
      .sort((a, b) => a.place - b.place);
  }

  update(next: ChildNotification): void {
    const last = this.#children.get(next.sessionId);
    if (last !== undefined && next.rev <= last.rev) {
      return;
    }
    this.#put(next);
    this.#changed.fire();
  }

  /** What `agent/state` says after a (re)connect: everything known before is void. */
  restore(children: readonly ChildNotification[]): void {
    this.#children.clear();
    for (const child of children) {
      this.#put(child);
    }
    this.#changed.fire();
  }

  #put(child: ChildNotification): void {
    this.#children.set(child.sessionId, child);
    for (const id of this.#children.keys()) {
      if (this.#children.size <= LIMIT) {
        break;
      }
      this.#children.delete(id);
    }
  }
}
