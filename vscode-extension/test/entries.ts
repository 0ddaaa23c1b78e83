import type { EndReason, Hunk, MessageRole, UiMessage } from "../src/protocol";
import type { Entry } from "../src/stores/transcript";

type Tool = Extract<Entry, { kind: "tool" }>;
type Message = Extract<Entry, { kind: "message" }>;

const place = { session: "s", turn: "t" };
const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };

/** A message of the turn `t` of the session `s`. */
export function message(id: string, role: MessageRole, text: string, over: Partial<Message> = {}): Message {
  return { ...place, kind: "message", id, role, text, incomplete: false, ended: true, ...over };
}

/** A message of the daemon; by itself the title of a call of which only its words are known. */
export function said(template: string, args: NonNullable<UiMessage["args"]> = {}, code = "named"): UiMessage {
  return { code, template, args };
}

/** A call in the same turn, by its title. */
export function call(id: string, title: string, over: Partial<Tool> = {}): Tool {
  const none = { command: undefined, uri: undefined, parent: undefined, facts: {}, live: "", liveSeq: -1 };
  return { ...place, ...none, kind: "tool", id, callId: id, name: "", title: said(title), state: "done", detail: "", ...over };
}

/** The end of the same turn. */
export function end(id: string, reason: EndReason, summary = ""): Extract<Entry, { kind: "end" }> {
  return { ...place, kind: "end", id, reason, summary, openItems: 0, uncheckedEdits: false, usage };
}

/** A proposed edit of one line. */
export function editAt(id: number, line: number): Hunk {
  return {
    id: String(id),
    sessionId: "s",
    turnId: "t",
    range: { start: { line, character: 0 }, end: { line: line + 1, character: 0 } },
    oldText: "",
    newText: "new",
    removedLines: 0,
    addedLines: 1,
    mixed: false,
    outdated: false,
  };
}
