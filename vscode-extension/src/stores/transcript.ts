import type {
  Attachment,
  EndReason,
  MessageNotification,
  MessageRole,
  OutputNotification,
  ParentCall,
  SessionSnapshot,
  ToolNotification,
  ToolState,
  TranscriptEntry,
  TurnNotification,
  TurnSpent,
  UiMessage,
  Usage,
} from "../protocol";
import type { Approval } from "../text/approval";

/** Facts about a call that later versions of the daemon tell. */
export type CallFacts = Pick<ToolNotification, "toolKind" | "target" | "stats" | "startedAt" | "endedAt" | "decision" | "completed">;

export type CallPlace = Pick<ParentCall, "sessionId" | "callId">;

/** Session and turn in which an entry is shown: those of the call that started the subagent, for what a subagent did. */
interface Place {
  readonly session: string;
  readonly turn: string;
  /** Revision of the newest notification about it; absent for one of a daemon that ended. */
  readonly rev?: number | undefined;
}

export type Entry = Place &
  (
    | {
        readonly kind: "message";
        readonly id: string;
        readonly role: MessageRole;
        readonly text: string;
        readonly incomplete: boolean;
        readonly ended: boolean;
        readonly notice?: UiMessage | undefined;
        /** Times in milliseconds since 1970, if they are known. */
        readonly at?: number | undefined;
        readonly endedAt?: number | undefined;
        /** Words for a running task that its model has not read; `false`: it has. */
        readonly unread?: boolean;
        /** Sent with a message of the user. */
        readonly attachments?: readonly Attachment[] | undefined;
      }
    | {
        readonly kind: "tool";
        readonly id: string;
        readonly callId: string;
        /** Name of the tool; empty until the call itself is known. */
        readonly name: string;
        readonly title: UiMessage;
        readonly state: ToolState;
        readonly detail: string;
        readonly command: string | undefined;
        readonly uri: string | undefined;
        readonly facts: CallFacts;
        /** Output while it runs: the newest of it. */
        readonly live: string;
        /** Number of the newest piece of that; -1 for none. */
        readonly liveSeq: number;
        /** Call that started the subagent, for a call that a subagent made. */
        readonly parent: string | undefined;
      }
    | {
        readonly kind: "end";
        readonly id: string;
        readonly reason: EndReason;
        readonly summary: string;
        /** Number of items of the plan that the turn left open. */
        readonly openItems: number;
        /** No command has checked the last edit of the turn with success. */
        readonly uncheckedEdits: boolean;
        readonly usage: Usage;
        readonly problem?: UiMessage | undefined;
        readonly spent?: TurnSpent | undefined;
      }
  );

/** Newest characters of a running command's output that are kept. */
const LIVE_CHARS = 64 * 1024;

/** Entries kept of each session: a window of a long conversation, not an archive. */
const LIMIT = 2_000;

/** Entries of each turn of a session, in the order of the conversation. */
export type Turns = ReadonlyMap<string, readonly Entry[]>;

type Tool = Extract<Entry, { kind: "tool" }>;
type Message = Extract<Entry, { kind: "message" }>;

/** The conversations of sessions in the order they happened, one line of entries for the window. */
export class Transcript {
  constructor(
    private readonly sessions: ReadonlyMap<string, Turns> = new Map(),
    /** Sessions whose oldest entries are not here. */
    private readonly cut: ReadonlySet<string> = new Set(),
  ) {}

  /** The conversations of sessions as a daemon tells them; `earlier`: there are entries before these. */
  static of(sessions: readonly Pick<SessionSnapshot, "sessionId" | "transcript" | "earlier">[]): Transcript {
    const cut = sessions.filter(({ earlier }) => earlier !== undefined).map(({ sessionId }) => sessionId);
    return sessions.flatMap(({ transcript }) => transcript).reduce((all, entry) => all.#withEntry(entry), new Transcript(new Map(), new Set(cut)));
  }

  get entries(): readonly Entry[] {
    return [...this.sessions.values()].flatMap((turns) => [...turns.values()].flat());
  }

  get(id: string): Entry | undefined {
    for (const turns of this.sessions.values()) {
      for (const entries of [...turns.values()].reverse()) {
        const found = entries.findLast((entry) => entry.id === id);
        if (found !== undefined) {
          return found;
        }
      }
    }
    return undefined;
  }

  /** Entries of each turn of one session, oldest turn first. */
  turnsOf(sessionId: string): Turns {
    return this.sessions.get(sessionId) ?? new Map<string, Entry[]>();
  }

  /** True if a session has entries before those that are kept. */
  isCut(sessionId: string): boolean {
    return this.cut.has(sessionId);
  }

  /** Without the entries of its session before an entry. */
  from(id: string): Transcript {
    const session = this.get(id)?.session ?? "";
    const all = [...this.turnsOf(session).values()].flat();
    const at = all.findIndex((entry) => entry.id === id);
    return at <= 0 ? this : this.#cutTo(session, all.length - at);
  }

  withTurn({ sessionId, turnId, phase }: TurnNotification): Transcript {
    const place = { session: sessionId, turn: turnId };
    if (phase.kind === "started") {
      // The user's message may arrive as a message too; whichever comes first opens the turn.
      const id = `user:${turnId}`;
      const { text, attachments } = phase;
      const isKnown = this.#turn(place).some((entry) => entry.id === id);
      return isKnown ? this : this.#put({ ...place, kind: "message", id, role: "user", text, attachments, incomplete: false, ended: true });
    }
    const { summary, uncheckedEdits = false } = phase;
    const shown = this.#isSaid(place, summary) ? "" : summary;
    return this.#put({ ...place, ...phase, kind: "end", id: `end:${turnId}`, summary: shown, uncheckedEdits });
  }

  withMessage(next: MessageNotification): Transcript {
    const id = messageKey(next);
    const place = { session: next.sessionId, turn: next.turnId };
    const last = this.#turn(place).findLast((entry): entry is Message => entry.id === id);
    if (last !== undefined) {
      return this.#withMore(last, next);
    }
    const opening = next.role === "user" && next.unread !== true ? this.#openingOf(next) : undefined;
    if (opening !== undefined) {
      return this.#put({ ...opening, at: next.at });
    }
    const { rev, role, incomplete, notice, attachments, at, endedAt, unread } = next;
    const [text, ended] = [next.text ?? next.delta, next.text !== undefined];
    const facts = { rev, role, text, incomplete, ended, notice, attachments, at, endedAt, ...(unread !== undefined && { unread }) };
    return this.#put({ ...place, ...facts, kind: "message", id });
  }

  /** More of a message, or its end. */
  #withMore(last: Message, { rev, role, text, delta, incomplete, endedAt, unread }: MessageNotification): Transcript {
    if (rev <= (last.rev ?? -1)) {
      return this;
    }
    const entry: Message = { ...last, rev, role, text: text ?? last.text + delta, incomplete, ended: text !== undefined, endedAt };
    if (last.unread !== true || unread === true) {
      return this.#put(entry);
    }
    // Words for a running task stand where they were read.
    const others = this.#turn(last).filter(({ id }) => id !== last.id);
    return this.#withTurn(last, [...others, { ...entry, unread: false }]);
  }

  withTool(next: ToolNotification): Transcript {
    const id = toolKey(next);
    const last = this.#tool(id);
    if (next.rev <= (last?.rev ?? -1)) {
      return this;
    }
    const { callId, rev, name, title, state, detail = last?.detail ?? "", uri = last?.uri } = next;
    const facts = factsOf(next);
    if (last !== undefined) {
      return this.#put({ ...last, rev, name, title, state, detail, uri, facts, live: next.endedAt === undefined ? last.live : "" });
    }
    const parent = next.parent === undefined ? undefined : toolKey(next.parent);
    return this.#put({ ...NEW_CALL, ...this.#placeOf(next), id, callId, rev, name, title, state, detail, uri, facts, parent });
  }

  /** A piece of the output of a running command. A missing number is output that was left out. */
  withOutput({ sessionId, callId, seq, text }: OutputNotification): Transcript {
    const entry = this.#tool(toolKey({ sessionId, callId }));
    if (entry === undefined || entry.facts.endedAt !== undefined || seq <= entry.liveSeq) {
      return this;
    }
    const gap = seq > entry.liveSeq + 1 ? `${entry.live === "" || entry.live.endsWith("\n") ? "" : "\n"}…\n` : "";
    const all = entry.live + gap + text;
    // Whole lines are left out, if there are any.
    const cut = all.length <= LIVE_CHARS ? 0 : all.indexOf("\n", all.length - LIVE_CHARS) + 1 || all.length - LIVE_CHARS;
    return this.#put({ ...entry, live: all.slice(cut), liveSeq: seq });
  }

  /** The whole command of a call that waits for approval. Other approvals have no command; the call's title describes them. */
  withApproval(asked: Approval): Transcript {
    const { question: title, sessionId, turnId, callId } = asked;
    const command = asked.kind === "change" || asked.kind === "read" ? undefined : asked.command;
    const id = toolKey(asked);
    const last = this.#tool(id);
    return last === undefined
      ? this.#put({ ...NEW_CALL, session: sessionId, turn: turnId, id, callId, title, state: "awaitingApproval", command })
      : this.#put({ ...last, command: last.command ?? command });
  }

  /** Before a new daemon, whose revisions start again. The conversation stays readable. */
  reconnected(): Transcript {
    const old = (entries: readonly Entry[]): Entry[] => entries.map((entry) => ({ ...entry, rev: undefined }));
    const turnsOf = (turns: Turns): Turns => new Map([...turns].map(([turn, entries]) => [turn, old(entries)]));
    return new Transcript(new Map([...this.sessions].map(([session, turns]) => [session, turnsOf(turns)])), this.cut);
  }

  #withEntry(entry: TranscriptEntry): Transcript {
    switch (entry.kind) {
      case "turn":
        return this.withTurn(entry);
      case "message":
        return this.withMessage(entry);
      case "tool":
        return this.withTool(entry);
    }
  }

  #turn({ session, turn }: Place): readonly Entry[] {
    return this.sessions.get(session)?.get(turn) ?? [];
  }

  #tool(id: string): Tool | undefined {
    const entry = this.get(id);
    return entry?.kind === "tool" ? entry : undefined;
  }

  /** With an entry in its place, or at the end of its turn. */
  #put(entry: Entry): Transcript {
    const entries = this.#turn(entry);
    const at = entries.findLastIndex(({ id }) => id === entry.id);
    const next = this.#withTurn(entry, at < 0 ? [...entries, entry] : entries.with(at, entry));
    return next.#cutTo(entry.session, LIMIT);
  }

  #withTurn({ session, turn }: Place, entries: readonly Entry[]): Transcript {
    const turns = new Map([...this.turnsOf(session), [turn, entries] as const]);
    return new Transcript(new Map([...this.sessions, [session, turns] as const]), this.cut);
  }

  /** With the newest entries of a session only, at most this many. */
  #cutTo(session: string, most: number): Transcript {
    const turns = this.turnsOf(session);
    let over = -most;
    turns.forEach((entries) => (over += entries.length));
    if (over <= 0) {
      return this;
    }
    const kept = new Map<string, readonly Entry[]>();
    for (const [turn, entries] of turns) {
      const left = over > 0 ? entries.slice(over) : entries;
      over -= entries.length;
      if (left.length > 0) {
        kept.set(turn, left);
      }
    }
    return new Transcript(new Map([...this.sessions, [session, kept] as const]), new Set([...this.cut, session]));
  }

  /** Calls of a subagent stand in the turn of the call that started it, however deep. */
  #placeOf({ sessionId, turnId, parent }: ToolNotification): Place {
    const above = parent === undefined ? undefined : this.get(toolKey(parent));
    return { session: above?.session ?? parent?.sessionId ?? sessionId, turn: above?.turn ?? parent?.turnId ?? turnId };
  }

  /** The words that the turn was started with, if the message repeats them. */
  #openingOf({ sessionId, turnId, text, delta }: MessageNotification): Message | undefined {
    const opening = this.#turn({ session: sessionId, turn: turnId }).find(({ id }) => id === `user:${turnId}`);
    return opening?.kind === "message" && opening.text === (text ?? delta) ? opening : undefined;
  }

  /** The summary of a turn is usually the assistant's last message: not said twice. */
  #isSaid(place: Place, summary: string): boolean {
    const last = this.#turn(place).findLast((entry): entry is Message => entry.kind === "message" && entry.role === "assistant");
    return last?.text.trim() === summary.trim();
  }
}

const NEW_CALL = {
  kind: "tool",
  name: "",
  detail: "",
  command: undefined,
  uri: undefined,
  facts: {},
  live: "",
  liveSeq: -1,
  parent: undefined,
} as const;

function factsOf({ toolKind, target, stats, startedAt, endedAt, decision, completed }: ToolNotification): CallFacts {
  return {
    ...(toolKind && { toolKind }),
    ...(target && { target }),
    ...(stats && { stats }),
    ...(startedAt !== undefined && { startedAt }),
    ...(endedAt !== undefined && { endedAt }),
    ...(decision && { decision }),
    ...(completed && { completed }),
  };
}

/** Each session counts its messages from the start, and each model its calls; the conversation holds them all. */
function messageKey({ sessionId, itemId }: Pick<MessageNotification, "itemId" | "sessionId">): string {
  return `message:${sessionId}/${itemId}`;
}

/** Id of the entry of a call. */
export function toolKey({ sessionId, callId }: CallPlace): string {
  return `tool:${sessionId}/${callId}`;
}
