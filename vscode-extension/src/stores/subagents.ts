import type { SubagentNotification } from "../protocol";
import { Emitter } from "./emitter";

/** Maximum number of subagents kept. Older ones are only in the conversation. */
const LIMIT = 200;

/** Subagents as the daemon reports them. */
export class SubagentStore {
  readonly #subagents = new Map<string, SubagentNotification>();
  readonly #changed = new Emitter<void>();

  readonly onDidChange = this.#changed.event;

  /** Subagents that a turn of this session started, in the order of its calls. */
  ofTurn(sessionId: string, turnId: string): SubagentNotification[] {
    return [...this.#subagents.values()]
      .filter(({ parent }) => parent.sessionId === sessionId && parent.turnId === turnId)
      .sort((a, b) => a.place - b.place);
  }

  update(next: SubagentNotification): void {
    const last = this.#subagents.get(next.sessionId);
    if (last !== undefined && next.rev <= last.rev) {
      return;
    }
    this.#put(next);
    this.#changed.fire();
  }

  /** Replaces everything with the answer to `agent/state` after a (re)connect. */
  restore(subagents: readonly SubagentNotification[]): void {
    this.#subagents.clear();
    for (const subagent of subagents) {
      this.#put(subagent);
    }
    this.#changed.fire();
  }

  #put(subagent: SubagentNotification): void {
    this.#subagents.set(subagent.sessionId, subagent);
    for (const id of this.#subagents.keys()) {
      if (this.#subagents.size <= LIMIT) {
        break;
      }
      this.#subagents.delete(id);
    }
  }
}
