import type { ReviewMode } from "../protocol";
import type { Disposable } from "./emitter";
import type { Store } from "./store";

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
export class Modes {
  readonly #sessions: ReadonlyMap<string, Session>;

  constructor(
    private readonly setting: ReviewMode,
    readonly remembered: Remembered = { sessions: [] },
  ) {
    this.#sessions = new Map(remembered.sessions);
  }

  /** Without a session: of a new one. */
  of(sessionId?: string): ReviewMode {
    const own = sessionId === undefined ? undefined : this.#sessions.get(sessionId)?.next;
    return own ?? this.remembered.chosen ?? this.setting;
  }

  /** True if the turn ran in plan mode. */
  isPlanning(sessionId: string, turnId: string): boolean {
    return this.#sessions.get(sessionId)?.planned === turnId;
  }

  /** The user chose a mode, for the session in view and for new ones. */
  chose(mode: ReviewMode, sessionId: string | undefined): Modes {
    const sessions = sessionId === undefined ? this.remembered.sessions : this.#with(sessionId, { ...this.#sessions.get(sessionId), next: mode });
    return new Modes(this.setting, { chosen: mode, sessions });
  }

  /** A turn has begun in this mode. */
  began(sessionId: string, turnId: string, mode: ReviewMode): Modes {
    const session = mode === "plan" ? { next: mode, planned: turnId } : { next: mode };
    return new Modes(this.setting, { ...this.remembered, sessions: this.#with(sessionId, session) });
  }

  /** The user changed the setting: the last word counts. */
  set(setting: ReviewMode): Modes {
    return new Modes(setting, { sessions: this.remembered.sessions.map(([id, session]) => [id, { ...session, next: setting }]) });
  }

  #with(sessionId: string, session: Session): Remembered["sessions"] {
    const others = this.remembered.sessions.filter(([id]) => id !== sessionId);
    return [...others, [sessionId, session] as const].slice(-SESSIONS_KEPT);
  }
}

/** The modes of the window before. */
export function readModes(memory: Memory, setting: ReviewMode): Modes {
  return new Modes(setting, memory.get(KEY) as Remembered | undefined);
}

/** Has the modes outlive the window. */
export function keepModes(store: Store, memory: Memory): Disposable {
  return store.on(["modes"], () => void memory.update(KEY, store.state.modes.remembered));
}
