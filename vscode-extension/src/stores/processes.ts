import type { ProcessInfo, ProcessesNotification, SessionSnapshot } from "../protocol";
import { Emitter } from "./emitter";

/** Processes of the sessions as the daemon reports them. */
export class ProcessStore {
  readonly #sessions = new Map<string, { readonly rev: number; readonly processes: readonly ProcessInfo[] }>();
  readonly #changed = new Emitter<void>();

  readonly onDidChange = this.#changed.event;

  /** Processes of a session, oldest first. */
  of(sessionId: string | undefined): readonly ProcessInfo[] {
    return this.#sessions.get(sessionId ?? "")?.processes ?? [];
  }

  get(sessionId: string, id: number): ProcessInfo | undefined {
    return this.of(sessionId).find((process) => process.id === id);
  }

  update({ sessionId, rev, processes }: ProcessesNotification): void {
    if (rev <= (this.#sessions.get(sessionId)?.rev ?? 0)) {
      return;
    }
    // An empty list stays: an older notification that comes later must not bring its processes back.
    this.#sessions.set(sessionId, { rev, processes });
    this.#changed.fire();
  }

  /** A session as the daemon described it, unless there was news since. */
  open({ sessionId, processes = [] }: SessionSnapshot): void {
    if (!this.#sessions.has(sessionId)) {
      this.#sessions.set(sessionId, { rev: 0, processes });
      this.#changed.fire();
    }
  }

  /** Replaces everything with the answer to `agent/state` after a (re)connect. */
  restore(sessions: readonly SessionSnapshot[]): void {
    this.#sessions.clear();
    sessions.forEach((session) => this.open(session));
    this.#changed.fire();
  }

  /** The daemon has ended, and its processes with it. */
  disconnect(): void {
    this.#sessions.clear();
    this.#changed.fire();
  }
}

export const isRunning = ({ phase }: ProcessInfo): boolean => phase.kind === "running";
