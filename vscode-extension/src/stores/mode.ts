import type { ReviewMode } from "../protocol";
import { Emitter } from "./emitter";

/** Storage that outlives the window: the part of `vscode.Memento` that is needed. */
export interface Memory {
  get(key: string): unknown;
  update(key: string, value: unknown): unknown;
}

interface Session {
  /** Mode of the next turn. */
  readonly next: ReviewMode;
  /** The newest turn, if it was one that only planned. */
  readonly planned?: string;
}

interface Remembered {
  readonly chosen?: ReviewMode;
  /** Oldest first. */
  readonly sessions: readonly (readonly [string, Session])[];
}

const KEY = "cairn.modes";
const SESSIONS_KEPT = 20;

/**
 * Review mode of the next turn: a session keeps its mode; a new one gets the mode that the user
 * chose last in this window, else the mode of the settings. A turn keeps the mode it began with.
 */
export class ModeStore {
  #chosen: ReviewMode | undefined;
  readonly #sessions: Map<string, Session>;
  readonly #changed = new Emitter<void>();

  readonly onDidChange = this.#changed.event;

  constructor(
    private readonly memory: Memory,
    private readonly setting: () => ReviewMode,
  ) {
    const { chosen, sessions } = (memory.get(KEY) as Remembered | undefined) ?? { sessions: [] };
    this.#chosen = chosen;
    this.#sessions = new Map(sessions);
  }

  /** Without a session: of a new one. */
  of(sessionId?: string): ReviewMode {
    const own = sessionId === undefined ? undefined : this.#sessions.get(sessionId)?.next;
    return own ?? this.#chosen ?? this.setting();
  }

  /** For the session in view, and for new ones. */
  choose(mode: ReviewMode, sessionId: string | undefined): void {
    this.#chosen = mode;
    if (sessionId !== undefined) {
      this.#put(sessionId, { ...this.#sessions.get(sessionId), next: mode });
    }
    this.#keep();
  }

  /** A turn has begun in this mode. */
  began(sessionId: string, turnId: string, mode: ReviewMode): void {
    this.#put(sessionId, mode === "plan" ? { next: mode, planned: turnId } : { next: mode });
    this.#keep();
  }

  /** True if the turn ran in plan mode. */
  isPlanning(sessionId: string, turnId: string): boolean {
    return this.#sessions.get(sessionId)?.planned === turnId;
  }

  /** The user changed the setting: the last word counts. */
  settingChanged(): void {
    this.#chosen = undefined;
    const next = this.setting();
    for (const [id, session] of this.#sessions) {
      this.#sessions.set(id, { ...session, next });
    }
    this.#keep();
  }

  #put(sessionId: string, session: Session): void {
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, session);
    for (const oldest of [...this.#sessions.keys()].slice(0, -SESSIONS_KEPT)) {
      this.#sessions.delete(oldest);
    }
  }

  #keep(): void {
    const remembered: Remembered = {
      ...(this.#chosen === undefined ? {} : { chosen: this.#chosen }),
      sessions: [...this.#sessions],
    };
    void this.memory.update(KEY, remembered);
    this.#changed.fire();
  }
}
