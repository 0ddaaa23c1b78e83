import type { ReadOnly, SessionSnapshot, StateResult, ToolNotification, TurnNotification, UsageNotification } from "../protocol";
import { Emitter } from "./emitter";

/** The newest turn of a session, in the form for display. */
export interface Turn {
  readonly sessionId: string;
  readonly turnId: string;
  /** Text of the user; empty if the client connected after the turn started. */
  readonly text: string;
  readonly phase: TurnNotification["phase"] | { readonly kind: "interrupted" };
}

/** Sessions, the newest turn of each, and the tool calls of the turn in view. */
export class SessionStore {
  readonly #turns = new Map<string, TurnNotification>();
  readonly #texts = new Map<string, string>();
  /** By session and call: two sessions may make calls of the same id. */
  readonly #tools = new Map<string, ToolNotification>();
  readonly #usage = new Map<string, UsageNotification>();
  readonly #readOnly = new Map<string, ReadOnly>();
  /** Sessions that ran when the user opened another one: their turns do not come into view by themselves. */
  readonly #left = new Set<string>();
  /** Names that the user gave to sessions. */
  readonly #names = new Map<string, string>();
  /** First words of each session. */
  readonly #titles = new Map<string, string>();
  #current: string | undefined;
  #connected = true;
  readonly #changed = new Emitter<void>();
  readonly #ended = new Emitter<Turn>();
  readonly #lost = new Emitter<Turn>();
  readonly #tool = new Emitter<ToolNotification>();

  readonly onDidChange = this.#changed.event;
  readonly onDidEndTurn = this.#ended.event;
  /** A turn that ran when its daemon ended. The next one may know its session, or may not. */
  readonly onDidLoseTurn = this.#lost.event;
  readonly onDidChangeTool = this.#tool.event;

  /** The session in view: the one whose turn started last, or that was opened since. */
  get current(): string | undefined {
    return this.#current;
  }

  /** Reason why no turn can start in the session in view. */
  get readOnly(): ReadOnly | undefined {
    return this.#current === undefined ? undefined : this.#readOnly.get(this.#current);
  }

  get turn(): Turn | undefined {
    return this.#current === undefined ? undefined : this.turnOf(this.#current);
  }

  get running(): boolean {
    return this.turn?.phase.kind === "started";
  }

  /** Sessions with a running turn. */
  get runningSessions(): string[] {
    return [...this.#turns.keys()].filter((id) => this.turnOf(id)?.phase.kind === "started");
  }

  /** Name of the session in view, or the words that it began with. */
  get title(): string {
    return this.#current === undefined ? "" : this.titleOf(this.#current);
  }

  /** The same of any session. */
  titleOf(sessionId: string): string {
    return this.#names.get(sessionId) ?? this.#titles.get(sessionId) ?? "";
  }

  /** Name that the user gave to the session in view. */
  get name(): string | undefined {
    return this.#current === undefined ? undefined : this.#names.get(this.#current);
  }

  /** True if the task in view failed or was interrupted, and its text is known. */
  get canTryAgain(): boolean {
    const { turn } = this;
    return turn?.phase.kind === "ended" && (turn.phase.reason === "failed" || turn.phase.reason === "interrupted") && turn.text !== "";
  }

  get usage(): UsageNotification | undefined {
    return this.#current === undefined ? undefined : this.#usage.get(this.#current);
  }

  /** Calls of the turn in view, in the order they were made. */
  get tools(): ToolNotification[] {
    const turnId = this.turn?.turnId;
    return [...this.#tools.values()].filter((tool) => tool.turnId === turnId);
  }

  /** The call being worked on now. */
  get activeTool(): ToolNotification | undefined {
    return this.tools.findLast(({ state }) => state === "running" || state === "awaitingApproval");
  }

  /** The same of any turn, also of a subagent. */
  activeToolOf(turnId: string): ToolNotification | undefined {
    return [...this.#tools.values()].findLast((tool) => tool.turnId === turnId && (tool.state === "running" || tool.state === "awaitingApproval"));
  }

  turnOf(sessionId: string): Turn | undefined {
    const turn = this.#turns.get(sessionId);
    if (turn === undefined) {
      return undefined;
    }
    const { turnId, phase } = turn;
    const interrupted = phase.kind === "started" && !this.#connected;
    return { sessionId, turnId, text: this.#texts.get(turnId) ?? "", phase: interrupted ? { kind: "interrupted" } : phase };
  }

  update(next: TurnNotification): void {
    const last = this.#turns.get(next.sessionId);
    if (last !== undefined && next.rev <= last.rev) {
      return;
    }
    if (last?.turnId !== next.turnId) {
      this.#forget(next.sessionId, last?.turnId);
    }
    this.#turns.set(next.sessionId, next);
    if (next.phase.kind === "started") {
      this.#texts.set(next.turnId, next.phase.text);
      if (!this.#titles.has(next.sessionId)) {
        this.#titles.set(next.sessionId, next.phase.text);
      }
      if (!this.#left.has(next.sessionId)) {
        this.#current = next.sessionId;
      }
    }
    this.#current ??= next.sessionId;
    this.#changed.fire();
    const turn = this.turnOf(next.sessionId);
    if (turn?.phase.kind === "ended") {
      this.#ended.fire(turn);
    }
  }

  updateTool(next: ToolNotification): void {
    const key = keyOf(next);
    const last = this.#tools.get(key);
    if (last !== undefined && next.rev <= last.rev) {
      return;
    }
    this.#tools.set(key, next);
    this.#tool.fire(next);
    this.#changed.fire();
  }

  updateUsage(next: UsageNotification): void {
    const last = this.#usage.get(next.sessionId);
    if (last !== undefined && next.rev <= last.rev) {
      return;
    }
    this.#usage.set(next.sessionId, next);
    this.#changed.fire();
  }

  /** Handles the end of the daemon: running turns and calls have ended. */
  disconnect(): void {
    this.#connected = false;
    this.#changed.fire();
  }

  /** Replaces everything with the answer to `agent/state` after a (re)connect. */
  restore(sessions: StateResult["sessions"]): void {
    const before = this.turn;
    this.#connected = true;
    this.#turns.clear();
    this.#tools.clear();
    this.#usage.clear();
    this.#readOnly.clear();
    this.#names.clear();
    this.#titles.clear();
    this.#left.clear();
    this.#current = undefined;
    for (const session of sessions) {
      this.#take(session);
      // A running one wins; else the session last in view, which is listed last.
      if (session.turn !== undefined && (!this.running || session.turn.phase.kind === "started")) {
        this.#current = session.sessionId;
      }
    }
    this.#changed.fire();
    if (before?.phase.kind !== "interrupted") {
      return;
    }
    const now = this.turnOf(before.sessionId)?.phase;
    // It may have come to its end in the very last moment.
    if (now === undefined || (now.kind === "ended" && now.reason === "interrupted")) {
      this.#lost.fire(before);
    }
  }

  /** Takes the answer to `agent/sessions/open` and brings its session into view. */
  open(session: SessionSnapshot): void {
    this.#forget(session.sessionId, this.#turns.get(session.sessionId)?.turnId);
    this.#turns.delete(session.sessionId);
    this.#readOnly.delete(session.sessionId);
    this.#names.delete(session.sessionId);
    this.#take(session);
    if (this.running && this.#current !== undefined) {
      this.#left.add(this.#current);
    }
    this.#left.delete(session.sessionId);
    this.#current = session.sessionId;
    this.#changed.fire();
  }

  /** The user gave the session a name, or with an empty one took it away. */
  rename(sessionId: string, name: string): void {
    if (name === "") {
      this.#names.delete(sessionId);
    } else {
      this.#names.set(sessionId, name);
    }
    this.#changed.fire();
  }

  /** The session is no more. */
  remove(sessionId: string): void {
    this.#forget(sessionId, this.#turns.get(sessionId)?.turnId);
    this.#turns.delete(sessionId);
    this.#usage.delete(sessionId);
    this.#readOnly.delete(sessionId);
    this.#names.delete(sessionId);
    this.#titles.delete(sessionId);
    this.#left.delete(sessionId);
    if (this.#current === sessionId) {
      this.#current = undefined;
    }
    this.#changed.fire();
  }

  #take(session: SessionSnapshot): void {
    const { sessionId, turn, task, usage, readOnly, name, title } = session;
    if (turn !== undefined) {
      this.#turns.set(sessionId, turn);
      if (task !== undefined) {
        this.#texts.set(turn.turnId, task);
      }
    }
    if (usage !== undefined) {
      this.#usage.set(sessionId, usage);
    }
    if (readOnly !== undefined) {
      this.#readOnly.set(sessionId, readOnly);
    }
    if (name !== undefined) {
      this.#names.set(sessionId, name);
    }
    if (title !== undefined) {
      this.#titles.set(sessionId, title);
    }
    for (const tool of session.tools) {
      this.#tools.set(keyOf(tool), tool);
    }
  }

  /** Removes calls of earlier turns; the transcript keeps them. */
  #forget(sessionId: string, turnId: string | undefined): void {
    if (turnId !== undefined) {
      this.#texts.delete(turnId);
    }
    for (const [key, tool] of this.#tools) {
      const { sessionId: owner, turnId: turn } = tool.parent ?? tool;
      if (owner === sessionId && turn === turnId) {
        this.#tools.delete(key);
      }
    }
  }
}

function keyOf({ sessionId, callId }: ToolNotification): string {
  return `${sessionId}/${callId}`;
}
