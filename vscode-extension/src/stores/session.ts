import type {
  FollowUp,
  ProcessInfo,
  ProcessesNotification,
  ReadOnly,
  SessionSnapshot,
  SubagentNotification,
  ToolNotification,
  TurnNotification,
  UsageNotification,
} from "../protocol";
import { isNews } from "./status";

/** The newest turn of a session, in the form for display. */
export interface Turn {
  readonly sessionId: string;
  readonly turnId: string;
  /** Text of the user; empty if the client connected after the turn started. */
  readonly text: string;
  readonly phase: TurnNotification["phase"] | { readonly kind: "interrupted" };
}

/** Facts about a session. */
type Session = { readonly [K in keyof Told]?: Told[K] | undefined } & {
  /** Text of the user that began the turn. */
  readonly task: string;
  /** Calls of the turn and of its subagents, in the order they were made. */
  readonly tools: readonly ToolNotification[];
  /** An empty list stays: an older notification that comes later must not bring its processes back. */
  readonly processes?: Pick<ProcessesNotification, "rev" | "processes"> | undefined;
  /** True if it ran when the user opened another one: its turns do not come into view by themselves. */
  readonly left?: boolean | undefined;
};

/** Facts that are kept as the snapshot of the daemon tells them. */
type Told = Omit<SessionSnapshot, "sessionId" | "plan" | "transcript" | "earlier" | "tools" | "subagents" | "processes">;

/** Facts that a notification replaces as a whole, if it is newer. */
type Replaced = { [K in keyof Session]-?: NonNullable<Session[K]> extends { readonly rev: number } ? K : never }[keyof Session];

/** Maximum number of subagents kept. Older ones are only in the conversation. */
const SUBAGENTS_KEPT = 200;

interface Facts {
  readonly all: ReadonlyMap<string, Session>;
  readonly current: string | undefined;
  /** False from the end of the daemon until the next one has told its state. */
  readonly connected: boolean;
  readonly subagents: ReadonlyMap<string, SubagentNotification>;
}

/** Sessions: the newest turn of each, its calls, queue and processes. One of them is in view. */
export class Sessions {
  constructor(private readonly facts: Facts = { all: new Map(), current: undefined, connected: true, subagents: new Map() }) {}

  /** The sessions that a daemon tells when it is asked for its state. */
  static of(sessions: readonly SessionSnapshot[]): Sessions {
    return sessions.reduce((all, session) => {
      const next = all.#taken(session);
      // A running one wins; else the session last in view, which is listed last.
      const { turn } = session;
      return turn !== undefined && (!next.running || turn.phase.kind === "started") ? next.#with({ current: session.sessionId }) : next;
    }, new Sessions());
  }

  /** The session in view: the one whose turn started last, or that was opened since. */
  get current(): string | undefined {
    return this.facts.current;
  }

  /** Reason why no turn can start in the session in view. */
  get readOnly(): ReadOnly | undefined {
    return this.inView?.readOnly;
  }

  get turn(): Turn | undefined {
    return this.turnOf(this.current ?? "");
  }

  get running(): boolean {
    return this.turn?.phase.kind === "started";
  }

  /** Sessions with a running turn. */
  get runningSessions(): string[] {
    return [...this.facts.all.keys()].filter((id) => this.turnOf(id)?.phase.kind === "started");
  }

  /** Name of the session in view, or the words that it began with. */
  get title(): string {
    return this.titleOf(this.current ?? "");
  }

  /** The same of any session. */
  titleOf(sessionId: string): string {
    const session = this.facts.all.get(sessionId);
    return session?.name ?? session?.title ?? "";
  }

  /** Name that the user gave to the session in view. */
  get name(): string | undefined {
    return this.inView?.name;
  }

  /** True if the task in view failed or was interrupted, and its text is known. */
  get canTryAgain(): boolean {
    const { turn } = this;
    return turn?.phase.kind === "ended" && (turn.phase.reason === "failed" || turn.phase.reason === "interrupted") && turn.text !== "";
  }

  get usage(): UsageNotification | undefined {
    return this.inView?.usage;
  }

  /** Calls of the turn in view, in the order they were made. */
  get tools(): ToolNotification[] {
    return this.inView?.tools.filter(({ turnId }) => turnId === this.inView?.turn?.turnId) ?? [];
  }

  /** The call being worked on now. */
  get activeTool(): ToolNotification | undefined {
    return this.tools.findLast(isActive);
  }

  /** The same of any turn, also of a subagent. */
  activeToolOf(turnId: string): ToolNotification | undefined {
    return [...this.facts.all.values()].flatMap(({ tools }) => tools).findLast((tool) => tool.turnId === turnId && isActive(tool));
  }

  turnOf(sessionId: string): Turn | undefined {
    const { turn, task } = this.#of(sessionId);
    if (turn === undefined) {
      return undefined;
    }
    const { turnId, phase } = turn;
    return { sessionId, turnId, text: task, phase: phase.kind === "started" && !this.facts.connected ? { kind: "interrupted" } : phase };
  }

  /** Queued follow-ups of a session. */
  queueOf(sessionId: string | undefined): { readonly items: readonly FollowUp[]; readonly held: boolean } {
    return this.#of(sessionId ?? "").queue ?? { items: [], held: false };
  }

  /** Sessions with follow-ups. */
  get queued(): string[] {
    return [...this.facts.all.keys()].filter((id) => this.queueOf(id).items.length > 0);
  }

  /** Processes of a session, oldest first. */
  processesOf(sessionId: string | undefined): readonly ProcessInfo[] {
    return this.#of(sessionId ?? "").processes?.processes ?? [];
  }

  /** Subagents that a turn of this session started, in the order of its calls. */
  subagentsOf(sessionId: string, turnId: string): SubagentNotification[] {
    return [...this.facts.subagents.values()]
      .filter(({ parent }) => parent.sessionId === sessionId && parent.turnId === turnId)
      .sort((a, b) => a.place - b.place);
  }

  withTurn(next: TurnNotification): Sessions {
    const { sessionId, turnId, phase } = next;
    const last = this.#of(sessionId);
    if (!isNews(last.turn, next)) {
      return this;
    }
    const same = last.turn?.turnId === turnId;
    const text = phase.kind === "started" ? phase.text : undefined;
    // Calls of earlier turns are only in the transcript.
    const tools = same ? last.tools : last.tools.filter((tool) => (tool.parent ?? tool).turnId === turnId);
    const put = this.#put(sessionId, { turn: next, tools, task: text ?? (same ? last.task : ""), title: last.title ?? text });
    return put.#with({ current: text !== undefined && last.left !== true ? sessionId : (this.current ?? sessionId) });
  }

  withTool(next: ToolNotification): Sessions {
    const { sessionId } = next.parent ?? next;
    const { tools } = this.#of(sessionId);
    const at = tools.findLastIndex((tool) => tool.sessionId === next.sessionId && tool.callId === next.callId);
    if (!isNews(tools[at], next)) {
      return this;
    }
    return this.#put(sessionId, { tools: at < 0 ? [...tools, next] : tools.with(at, next) });
  }

  /** Takes a notification that replaces a fact of its session. */
  told<K extends Replaced>(kind: K, next: NonNullable<Session[K]> & { readonly sessionId: string }): Sessions {
    return isNews(this.#of(next.sessionId)[kind], next) ? this.#put(next.sessionId, { [kind]: next }) : this;
  }

  withSubagents(...news: readonly SubagentNotification[]): Sessions {
    const fresh = news.filter((next) => isNews(this.facts.subagents.get(next.sessionId), next));
    const all = [...this.facts.subagents, ...fresh.map((next) => [next.sessionId, next] as const)];
    return fresh.length === 0 ? this : this.#with({ subagents: new Map([...new Map(all)].slice(-SUBAGENTS_KEPT)) });
  }

  /** The daemon has ended: running turns and calls have ended, and processes are gone. */
  disconnected(): Sessions {
    const all = new Map([...this.facts.all].map(([id, session]) => [id, { ...session, processes: undefined }]));
    return this.#with({ all, connected: false });
  }

  /** Takes the answer to `agent/sessions/open` and brings its session into view. */
  opened(session: SessionSnapshot): Sessions {
    const next = this.#taken(session);
    const { current } = this;
    const leaves = current !== undefined && next.turnOf(current)?.phase.kind === "started";
    const left = leaves ? next.#put(current, { left: true }) : next;
    return left.#put(session.sessionId, { left: false }).#with({ current: session.sessionId });
  }

  /** The user gave the session a name, or with an empty one took it away. */
  renamed(sessionId: string, name: string): Sessions {
    return this.#put(sessionId, { name: name === "" ? undefined : name });
  }

  /** The session is no more. */
  without(sessionId: string): Sessions {
    const all = new Map(this.facts.all);
    all.delete(sessionId);
    return this.#with({ all, current: this.current === sessionId ? undefined : this.current });
  }

  /** A session as the daemon describes it. News of its processes that came before stay. */
  #taken({ sessionId, plan, transcript, earlier, subagents, ...session }: SessionSnapshot): Sessions {
    const last = this.#of(sessionId);
    const { task = "", usage = last.usage, title = last.title } = session;
    const processes = last.processes ?? { rev: 0, processes: session.processes ?? [] };
    const all = new Map([...this.facts.all, [sessionId, { ...session, task, usage, title, processes, left: last.left }]]);
    return this.#with({ all }).withSubagents(...subagents);
  }

  /** Facts about the session in view. */
  get inView(): Session | undefined {
    return this.facts.all.get(this.current ?? "");
  }

  #of(sessionId: string): Session {
    return this.facts.all.get(sessionId) ?? { task: "", tools: [] };
  }

  #put(sessionId: string, changed: Partial<Session>): Sessions {
    return this.#with({ all: new Map([...this.facts.all, [sessionId, { ...this.#of(sessionId), ...changed }]]) });
  }

  #with(changed: Partial<Facts>): Sessions {
    return new Sessions({ ...this.facts, ...changed });
  }
}

export const isRunning = ({ phase }: ProcessInfo): boolean => phase.kind === "running";

function isActive({ state }: ToolNotification): boolean {
  return state === "running" || state === "awaitingApproval";
}
