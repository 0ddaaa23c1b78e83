import type {
  Attachment,
  EndReason,
  MessageNotification,
  MessageRole,
  OutputNotification,
  ParentCall,
  ToolNotification,
  ToolState,
  TranscriptEntry,
  TurnNotification,
  TurnSpent,
  UiMessage,
  Usage,
} from "../protocol";
import type { Approval } from "../text/approval";
import { Emitter } from "./emitter";

/** Facts about a call that later versions of the daemon tell. */
export type CallFacts = Pick<ToolNotification, "toolKind" | "target" | "stats" | "startedAt" | "endedAt" | "decision" | "completed">;

export type CallPlace = Pick<ParentCall, "sessionId" | "callId">;

/** Session and turn in which an entry is shown: those of the call that started the subagent, for what a subagent did. */
interface Place {
  readonly session: string;
  readonly turn: string;
}

export type Entry = Place &
  (
    | {
        readonly kind: "message";
        readonly id: string;
        role: MessageRole;
        text: string;
        incomplete: boolean;
        ended: boolean;
        readonly notice?: UiMessage | undefined;
        /** Times in milliseconds since 1970, if they are known. */
        readonly at?: number | undefined;
        endedAt?: number | undefined;
        /** Words for a running task that its model has not read; `false`: it has. */
        unread?: boolean;
        /** Sent with a message of the user. */
        readonly attachments?: readonly Attachment[] | undefined;
      }
    | {
        readonly kind: "tool";
        readonly id: string;
        readonly callId: string;
        /** Name of the tool; empty until the call itself is known. */
        name: string;
        title: UiMessage;
        state: ToolState;
        detail: string;
        command: string | undefined;
        uri: string | undefined;
        facts: CallFacts;
        /** Output while it runs: the newest of it. */
        live: string;
        /** Number of the newest piece of that; -1 for none. */
        liveSeq: number;
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

/** Change of one turn: an entry that is new or different; all of the conversation, if no place is named. */
export interface TranscriptChange {
  readonly place?: Place;
  /** Text that was appended to a message, which is all that changed. */
  readonly grown?: { readonly id: string; readonly delta: string };
}

/** Newest characters of a running command's output that are kept. */
const LIVE_CHARS = 64 * 1024;

/** Entries kept of each session: a window of a long conversation, not an archive. */
const LIMIT = 2_000;

/** The conversation in the order it happened, one line of entries for the window. */
export class TranscriptStore {
  readonly #entries = new Map<string, Entry>();
  readonly #revs = new Map<string, number>();
  /** Entries of each turn of each session, in the order of the conversation. */
  readonly #turns = new Map<string, Map<string, Entry[]>>();
  /** Sessions whose oldest entries are not here. */
  readonly #cut = new Set<string>();
  readonly #changed = new Emitter<TranscriptChange>();

  readonly onDidChange = this.#changed.event;

  get entries(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  get(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /** Entries of each turn of one session, oldest turn first. */
  turnsOf(sessionId: string): ReadonlyMap<string, readonly Entry[]> {
    return this.#turns.get(sessionId) ?? new Map<string, Entry[]>();
  }

  /** True if a session has entries before those that are kept. */
  isCut(sessionId: string): boolean {
    return this.#cut.has(sessionId);
  }

  /** Drops the entries of its session before an entry. */
  forgetBefore(id: string): void {
    const session = this.#entries.get(id)?.session;
    const all = [...this.turnsOf(session ?? "").values()].flat();
    for (const entry of all.slice(
      0,
      Math.max(
        0,
        all.findIndex((other) => other.id === id),
      ),
    )) {
      this.#forget(entry);
    }
  }

  turn(turn: TurnNotification): void {
    const place = { session: turn.sessionId, turn: turn.turnId };
    if (turn.phase.kind === "started") {
      // The user's message may arrive as a message too; whichever comes first opens the turn.
      const id = `user:${turn.turnId}`;
      const { text, attachments } = turn.phase;
      if (!this.#entries.has(id)) {
        this.#put({ ...place, kind: "message", id, role: "user", text, attachments, incomplete: false, ended: true });
      }
    } else {
      const { summary, uncheckedEdits = false } = turn.phase;
      const shown = this.#said(summary) ? "" : summary;
      this.#put({ ...place, ...turn.phase, kind: "end", id: `end:${turn.turnId}`, summary: shown, uncheckedEdits });
    }
    this.#changed.fire({ place });
  }

  message(next: MessageNotification): void {
    const id = messageKey(next);
    const last = this.#entries.get(id);
    if (!this.#isNews(id, next.rev)) {
      return;
    }
    const place = { session: next.sessionId, turn: next.turnId };
    const ended = next.text !== undefined;
    if (last?.kind === "message") {
      last.role = next.role;
      last.text = next.text ?? last.text + next.delta;
      last.incomplete = next.incomplete;
      last.ended = ended;
      last.endedAt = next.endedAt;
      if (last.unread === true && next.unread !== true) {
        last.unread = false;
        this.#moveToEnd(last);
      }
      this.#changed.fire(ended || next.incomplete ? { place } : { place, grown: { id, delta: next.delta } });
      return;
    }
    if (next.role !== "user" || next.unread === true || !this.#isFirstOfTurn(next)) {
      const text = next.text ?? next.delta;
      this.#put({
        ...place,
        kind: "message",
        id,
        role: next.role,
        text,
        incomplete: next.incomplete,
        ended,
        notice: next.notice,
        attachments: next.attachments,
        at: next.at,
        endedAt: next.endedAt,
        ...(next.unread !== undefined && { unread: next.unread }),
      });
    }
    this.#changed.fire({ place });
  }

  tool(next: ToolNotification): void {
    const id = toolKey(next);
    if (!this.#isNews(id, next.rev)) {
      return;
    }
    const last = this.#entries.get(id);
    if (last?.kind === "tool") {
      last.name = next.name;
      last.title = next.title;
      last.state = next.state;
      last.detail = next.detail ?? last.detail;
      last.uri = next.uri ?? last.uri;
      last.facts = factsOf(next);
      if (next.endedAt !== undefined) {
        last.live = "";
      }
      this.#changed.fire({ place: last });
      return;
    }
    const { callId, name, title, state, detail = "", uri } = next;
    const parent = next.parent === undefined ? undefined : toolKey(next.parent);
    const place = this.#placeOf(next);
    this.#put({
      ...place,
      kind: "tool",
      id,
      callId,
      name,
      title,
      state,
      detail,
      command: undefined,
      uri,
      facts: factsOf(next),
      live: "",
      liveSeq: -1,
      parent,
    });
    this.#changed.fire({ place });
  }

  /** A piece of the output of a running command. A missing number is output that was left out. */
  output({ sessionId, callId, seq, text }: OutputNotification): void {
    const entry = this.#entries.get(toolKey({ sessionId, callId }));
    if (entry?.kind !== "tool" || entry.facts.endedAt !== undefined || seq <= entry.liveSeq) {
      return;
    }
    const gap = seq > entry.liveSeq + 1 ? `${entry.live === "" || entry.live.endsWith("\n") ? "" : "\n"}…\n` : "";
    const all = entry.live + gap + text;
    // Whole lines are left out, if there are any.
    const cut = all.length <= LIVE_CHARS ? 0 : all.indexOf("\n", all.length - LIVE_CHARS) + 1 || all.length - LIVE_CHARS;
    entry.live = all.slice(cut);
    entry.liveSeq = seq;
    this.#changed.fire({ place: entry });
  }

  /** The whole command of a call that waits for approval. Other approvals have no command; the call's title describes them. */
  approval(asked: Approval): void {
    const { question: title } = asked;
    const command = asked.kind === "change" || asked.kind === "read" ? undefined : asked.command;
    const id = toolKey(asked);
    const last = this.#entries.get(id);
    if (last?.kind === "tool") {
      last.command ??= command;
      this.#changed.fire({ place: last });
      return;
    }
    const place = { session: asked.sessionId, turn: asked.turnId };
    const { callId } = asked;
    this.#put({
      ...place,
      kind: "tool",
      id,
      callId,
      name: "",
      title,
      state: "awaitingApproval",
      detail: "",
      command,
      uri: undefined,
      facts: {},
      live: "",
      liveSeq: -1,
      parent: undefined,
    });
    this.#changed.fire({ place });
  }

  /**
   * Handles the state of a new daemon, whose revisions start again. Its transcript replaces the former
   * one; if it has none, the former transcript stays readable.
   */
  reconnect(before: readonly TranscriptEntry[] = [], cut: readonly string[] = []): void {
    if (before.length > 0) {
      this.open(before, cut);
    } else {
      this.#revs.clear();
    }
  }

  /** Shows the transcript of another session. `cut`: sessions that have entries before these. */
  open(said: readonly TranscriptEntry[], cut: readonly string[] = []): void {
    this.#revs.clear();
    this.#entries.clear();
    this.#turns.clear();
    this.#cut.clear();
    cut.forEach((session) => this.#cut.add(session));
    for (const entry of said) {
      switch (entry.kind) {
        case "turn":
          this.turn(entry);
          break;
        case "message":
          this.message(entry);
          break;
        case "tool":
          this.tool(entry);
          break;
      }
    }
    this.#changed.fire({});
  }

  #put(entry: Entry): void {
    const known = this.#entries.has(entry.id);
    this.#entries.set(entry.id, entry);
    const turns = this.#turns.get(entry.session) ?? new Map<string, Entry[]>();
    this.#turns.set(entry.session, turns);
    const turn = turns.get(entry.turn) ?? [];
    turns.set(entry.turn, turn);
    if (known) {
      turns.set(
        entry.turn,
        turn.map((other) => (other.id === entry.id ? entry : other)),
      );
    } else {
      turn.push(entry);
    }
    let count = [...turns.values()].reduce((sum, { length }) => sum + length, 0);
    for (; count > LIMIT; count -= 1) {
      const [oldest] = [...turns.values()][0] ?? [];
      if (oldest === undefined) {
        break;
      }
      this.#forget(oldest);
    }
  }

  /** Words for a running task stand where they were read. */
  #moveToEnd(entry: Entry): void {
    this.#entries.delete(entry.id);
    this.#entries.set(entry.id, entry);
    const turns = this.#turns.get(entry.session);
    const others = turns?.get(entry.turn)?.filter((other) => other !== entry) ?? [];
    turns?.set(entry.turn, [...others, entry]);
  }

  #forget({ id, session, turn }: Entry): void {
    this.#entries.delete(id);
    this.#revs.delete(id);
    this.#cut.add(session);
    const turns = this.#turns.get(session);
    const left = turns?.get(turn)?.filter((entry) => entry.id !== id) ?? [];
    if (left.length > 0) {
      turns?.set(turn, left);
    } else {
      turns?.delete(turn);
    }
    this.#changed.fire({ place: { session, turn } });
  }

  /** Calls of a subagent stand in the turn of the call that started it, however deep. */
  #placeOf({ sessionId, turnId, parent }: ToolNotification): Place {
    const above = parent === undefined ? undefined : this.#entries.get(toolKey(parent));
    const { session, turn } = above ?? { session: parent?.sessionId ?? sessionId, turn: parent?.turnId ?? turnId };
    return { session, turn };
  }

  #isNews(id: string, rev: number): boolean {
    if (rev <= (this.#revs.get(id) ?? -1)) {
      return false;
    }
    this.#revs.set(id, rev);
    return true;
  }

  /** The message that repeats the words the turn was started with. */
  #isFirstOfTurn(next: MessageNotification): boolean {
    const opening = this.#entries.get(`user:${next.turnId}`);
    return opening?.kind === "message" && opening.text === (next.text ?? next.delta);
  }

  /** The summary of a turn is usually the assistant's last message: not said twice. */
  #said(summary: string): boolean {
    const last = [...this.#entries.values()].findLast((entry) => entry.kind === "message" && entry.role === "assistant");
    return last?.kind === "message" && last.text.trim() === summary.trim();
  }
}

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
function messageKey({ sessionId, itemId }: MessageNotification): string {
  return `message:${sessionId}/${itemId}`;
}

/** Id of the entry of a call. */
export function toolKey({ sessionId, callId }: CallPlace): string {
  return `tool:${sessionId}/${callId}`;
}
