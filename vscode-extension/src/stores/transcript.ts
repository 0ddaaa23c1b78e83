import type {
  ApproveParams,
  EndReason,
  MessageNotification,
  MessageRole,
  ParentCall,
  ToolNotification,
  ToolState,
  TranscriptEntry,
  TurnNotification,
} from "../protocol";
import { Emitter } from "./emitter";

export type Entry =
  | { readonly kind: "message"; readonly id: string; readonly role: MessageRole; text: string; incomplete: boolean }
  | {
      readonly kind: "tool";
      readonly id: string;
      title: string;
      state: ToolState;
      detail: string;
      command: string | undefined;
      /** Call that started the subagent, for a call that a subagent made. */
      readonly parent: string | undefined;
    }
  | { readonly kind: "end"; readonly id: string; readonly reason: EndReason; readonly summary: string };

/** Entries kept: a window of a long conversation, not an archive. */
const LIMIT = 2_000;

/** The conversation in the order it happened, one line of entries for the window. */
export class TranscriptStore {
  readonly #entries = new Map<string, Entry>();
  readonly #revs = new Map<string, number>();
  readonly #changed = new Emitter<void>();

  readonly onDidChange = this.#changed.event;

  get entries(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  turn(turn: TurnNotification): void {
    if (turn.phase.kind === "started") {
      // The user's message may arrive as a message too; whichever comes first opens the turn.
      const id = `user:${turn.turnId}`;
      if (!this.#entries.has(id)) {
        this.#put({ kind: "message", id, role: "user", text: turn.phase.text, incomplete: false });
      }
    } else {
      const { reason, summary } = turn.phase;
      this.#put({ kind: "end", id: `end:${turn.turnId}`, reason, summary: this.#said(summary) ? "" : summary });
    }
    this.#changed.fire();
  }

  message(next: MessageNotification): void {
    const id = messageKey(next);
    const last = this.#entries.get(id);
    if (!this.#isNews(id, next.rev)) {
      return;
    }
    if (last?.kind === "message") {
      last.text = next.text ?? last.text + next.delta;
      last.incomplete = next.incomplete;
    } else if (next.role !== "user" || !this.#isFirstOfTurn(next)) {
      const text = next.text ?? next.delta;
      this.#put({ kind: "message", id, role: next.role, text, incomplete: next.incomplete });
    }
    this.#changed.fire();
  }

  tool(next: ToolNotification): void {
    const id = toolKey(next);
    if (!this.#isNews(id, next.rev)) {
      return;
    }
    const last = this.#entries.get(id);
    if (last?.kind === "tool") {
      last.title = next.title;
      last.state = next.state;
      last.detail = next.detail ?? last.detail;
    } else {
      const { title, state, detail = "" } = next;
      const parent = next.parent === undefined ? undefined : toolKey(next.parent);
      this.#put({ kind: "tool", id, title, state, detail, command: undefined, parent });
    }
    this.#changed.fire();
  }

  /** The whole command of a call that waits for approval. Other approvals have none: the call's title says what they are about. */
  approval(asked: ApproveParams): void {
    const { title } = asked;
    const command = asked.kind === "change" || asked.kind === "read" ? undefined : asked.command;
    const id = toolKey(asked);
    const last = this.#entries.get(id);
    if (last?.kind === "tool") {
      last.command ??= command;
    } else {
      this.#put({ kind: "tool", id, title, state: "awaitingApproval", detail: "", command, parent: undefined });
    }
    this.#changed.fire();
  }

  /**
   * A new daemon counts its revisions anew. What it knows of the time before is all there is to
   * know; where it knows nothing, what was said stays readable.
   */
  reconnect(before: readonly TranscriptEntry[] = []): void {
    if (before.length > 0) {
      this.open(before);
    } else {
      this.#revs.clear();
    }
  }

  /** Another session is in view: what was said in it, and nothing else. */
  open(said: readonly TranscriptEntry[]): void {
    this.#revs.clear();
    this.#entries.clear();
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
    this.#changed.fire();
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.id, entry);
    for (const id of this.#entries.keys()) {
      if (this.#entries.size <= LIMIT) {
        break;
      }
      this.#entries.delete(id);
      this.#revs.delete(id);
    }
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

/** Sessions count their messages anew, and a model its calls; the conversation holds them all. */
function messageKey({ sessionId, itemId }: MessageNotification): string {
  return `message:${sessionId}/${itemId}`;
}

function toolKey({ sessionId, callId }: ToolNotification | ApproveParams | ParentCall): string {
  return `tool:${sessionId}/${callId}`;
}
