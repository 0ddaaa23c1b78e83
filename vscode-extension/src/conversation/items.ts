import { l10n } from "vscode";

import type { Hunk, ToolKind, ToolState } from "../protocol";
import type { Entry } from "../stores/transcript";
import { timeOfDay } from "../text/ago";
import { decisionWords } from "../text/approval";
import { commandOf, fileOf, subjectOf, updatesPlan } from "../text/calls";
import { oneLine } from "../text/display";
import { textOf } from "../text/messages";
import { wordsOfOwn } from "../text/ownMessages";
import { restoreOf } from "./restored";
import { sentWith } from "./attachments";
import type { Action, Call, Item } from "./messages";

type Tool = Extract<Entry, { kind: "tool" }>;
type Message = Extract<Entry, { kind: "message" }>;
type End = Extract<Entry, { kind: "end" }>;

/** Facts that are not in the transcript. */
export interface ItemFacts {
  /** Edits that wait for a decision in a file, made in this turn. */
  readonly pending: (uri: string, turn: string) => { readonly rev: number; readonly hunks: readonly Pick<Hunk, "addedLines" | "removedLines">[] };
  /** Time at which a restored checkpoint took the changes of the turn back, in milliseconds since 1970. */
  readonly restored: (turn: string) => number | undefined;
  /** Reports what an ended turn took and how many files it changed, and what can be done next. */
  readonly footer: (end: End, files: number) => { readonly facts: string; readonly actions: readonly Action[] };
}

/** Effects of tools by name, for calls of earlier versions, which do not tell them. */
const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: "read",
  grep: "search",
  glob: "search",
  edit_file: "edit",
  write_file: "edit",
  delete_file: "delete",
  move_file: "move",
  bash: "run",
  task: "task",
};
/** Calls about the plan that only look. */
const PLAN_READS = new Set(["task_get", "task_list"]);
const VERBS = { edit: "edited", create: "created", delete: "deleted", move: "moved" } as const;
/** Lines of a command's output that are sent: the beginning, and the end, where the news is. */
const HEAD_LINES = 40;
const TAIL_LINES = 160;
/** Lines of a running command's output that are sent, the newest. */
const LIVE_LINES = 10;
/** Longest line of output that is sent. */
const LINE_CHARS = 2_000;
/** Calls of a subagent that are sent, the newest. */
const SUBAGENT_CALLS = 50;

/** Items of one turn, from its entries in order. */
export function turnItems(entries: readonly Entry[], facts: ItemFacts): Item[] {
  const items: Item[] = [];
  const below = callsBelow(entries);
  const edits = editsByFile(entries);
  const isOver = entries.some(({ kind }) => kind === "end");
  let work: (Message | Tool)[] = [];
  const closeWork = (): void => {
    if (work.length > 0) {
      items.push(workItem(work));
      work = [];
    }
  };
  const put = (item: Item): void => {
    closeWork();
    items.push(item);
  };
  for (const entry of entries) {
    switch (entry.kind) {
      case "message":
        if (entry.text.trim() === "" && entry.attachments === undefined) {
          break;
        }
        if (entry.role === "thinking") {
          work.push(entry);
        } else {
          put(messageItem(entry, items.length === 0, isOver));
        }
        break;
      case "tool": {
        if (entry.parent !== undefined && below.has(entry.parent)) {
          break;
        }
        const item = toolItem(entry, edits, below, facts);
        if (item === "work") {
          work.push(entry);
        } else if (item === "plan") {
          stepItems(entry).forEach(put);
        } else if (item !== undefined) {
          put(item);
        }
        break;
      }
      case "end":
        put(endItem(entry, changedFiles(edits), facts, textOfAgent(entries) !== ""));
        break;
    }
  }
  closeWork();
  const kept = new Set(entries.filter((entry) => restoreOf(entry) !== undefined).map(({ id }) => id));
  const isUndone = facts.restored(entries[0]?.turn ?? "") !== undefined;
  return [...checkpointItem(entries, edits), ...items].map((item) => (isUndone && !kept.has(item.id) ? { ...item, undone: true } : item));
}

/** Item of a call. `work`: it belongs to a row of reading; `plan`: it changes steps; `undefined`: another call has the row of its file. */
function toolItem(
  entry: Tool,
  edits: ReadonlyMap<string, readonly [Tool, ...Tool[]]>,
  below: ReadonlyMap<string, readonly Tool[]>,
  facts: ItemFacts,
): Item | "work" | "plan" | undefined {
  const file = edits.get(entry.id);
  const kind = kindOf(entry);
  if (kind === "read" || kind === "search" || PLAN_READS.has(entry.name)) {
    return "work";
  }
  if (file !== undefined) {
    return file[0] === entry ? editItem(file, facts) : undefined;
  }
  if (updatesPlan(entry) || entry.facts.completed !== undefined) {
    return "plan";
  }
  if (kind === "run" || entry.command !== undefined) {
    return commandItem(entry);
  }
  return kind === "task" ? subagentItem(entry, below.get(entry.id) ?? []) : callItem(entry);
}

/** The value of a function of an entry, kept for as long as the entry is: an entry never changes. */
function once<T>(make: (entry: Tool) => T): (entry: Tool) => T {
  const made = new WeakMap<Tool, T>();
  return (entry) => {
    const value = made.get(entry) ?? make(entry);
    made.set(entry, value);
    return value;
  };
}

/** Row above a turn that changed files: what it leads back to. */
function checkpointItem(entries: readonly Entry[], edits: ReadonlyMap<string, readonly [Tool, ...Tool[]]>): Item[] {
  const changed = [...new Set(edits.values())].filter((calls) => calls.some(({ state }) => state === "done"));
  const [first] = entries;
  // A page of a long turn may begin in its midst.
  if (first?.kind !== "message" || first.role !== "user" || changed.length === 0) {
    return [];
  }
  const id = `checkpoint:${first.turn}`;
  const time = timeOfDay(first.at ?? changed[0]?.[0].facts.startedAt);
  const files = changed.map(([call]) => ({ path: fileOf(call), uri: call.uri }));
  return [{ id, kind: "checkpoint", message: first.id, time, files }];
}

function messageItem(entry: Message, first: boolean, isOver: boolean): Item {
  const { id, role, ended, incomplete } = entry;
  const text = entry.notice === undefined ? entry.text : textOf(entry.notice);
  switch (role) {
    case "user": {
      const own = wordsOfOwn(text);
      if (own !== undefined) {
        return { id, kind: "notice", text: own, reminder: false };
      }
      return { id, kind: "user", ...sentWith(text, entry.attachments ?? []), first, time: timeOfDay(entry.at), state: stateOfWords(entry, isOver) };
    }
    case "assistant":
    case "thinking":
      return { id, kind: "text", text: entry.text, streaming: !ended && !incomplete, cut: incomplete };
    case "reminder":
    case "notice":
      return { id, kind: "notice", text, reminder: role === "reminder" };
  }
}

/** State of words for a running task; empty for other words. */
function stateOfWords({ unread, endedAt }: Message, isOver: boolean): string {
  if (unread === undefined) {
    return "";
  }
  if (!unread) {
    return l10n.t("read {0}", timeOfDay(endedAt));
  }
  return isOver ? l10n.t("not read; goes with the next message") : l10n.t("not read yet");
}

function workItem(entries: readonly (Message | Tool)[]): Item {
  const calls = entries.filter((entry) => entry.kind === "tool");
  const thoughts = entries.filter((entry) => entry.kind === "message");
  return {
    id: `work:${entries[0]?.id ?? ""}`,
    kind: "work",
    calls: calls.map(callOf),
    thoughts: thoughts.map(({ text }) => text).join("\n\n"),
    thoughtMs: thoughts.reduce((all, { at, endedAt }) => all + elapsed(at, endedAt), 0),
    running: calls.some(({ state }) => isLive(state)) || thoughts.some(({ ended, incomplete }) => !ended && !incomplete),
  };
}

function editItem(calls: readonly [Tool, ...Tool[]], facts: ItemFacts): Item {
  const [first] = calls;
  const { id, uri, turn } = first;
  const { rev, hunks: pending } = uri === undefined ? { rev: 0, hunks: [] } : facts.pending(uri, turn);
  const said = calls.map(countsOf);
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0);
  // What waits is counted as it is now; what was decided, as it was made.
  const counts =
    pending.length > 0
      ? { added: sum(pending.map(({ addedLines }) => addedLines)), removed: sum(pending.map(({ removedLines }) => removedLines)) }
      : { added: sum(said.map(({ added }) => added)), removed: sum(said.map(({ removed }) => removed)) };
  const running = calls.some(({ state }) => isLive(state));
  const verb = verbOf(first) ?? "edited";
  const decision = calls.findLast((call) => call.facts.decision !== undefined)?.facts.decision;
  const note = decision === undefined ? "" : decisionWords(decision);
  return { id, kind: "edit", verb, path: fileOf(first), uri, turn, rev, ...counts, pending: pending.length, running, note };
}

const commandItem = once<Item>((entry) => {
  const { id, state, detail, command, live } = entry;
  const { startedAt, endedAt, stats, decision } = entry.facts;
  const lines = detail.trimEnd() === "" ? [] : detail.trimEnd().split("\n");
  return {
    id,
    kind: "command",
    // Before its turn has come, nothing but the name of the tool is known of a call.
    command: command ?? commandOf(entry) ?? "…",
    state,
    output: shortened(lines),
    lines: lines.length,
    note: decision === undefined ? "" : decisionWords(decision),
    live: endOf(live),
    exitCode: stats?.exitCode,
    elapsedMs: startedAt === undefined ? undefined : elapsed(startedAt, endedAt ?? Date.now()),
  };
});

const reportOf = once(({ detail }) => shortened(detail.split("\n")));

function subagentItem(entry: Tool, calls: readonly Tool[]): Item {
  const newest = calls.slice(-SUBAGENT_CALLS);
  const earlier = calls.length - newest.length;
  return { id: entry.id, kind: "subagent", call: callOf(entry), calls: newest.map(callOf), earlier, report: reportOf(entry) };
}

function callItem(entry: Tool): Item {
  return { id: entry.id, kind: "call", call: callOf(entry), detail: reportOf(entry) };
}

/** Text of the agent in a turn, as Markdown. */
function textOfAgent(entries: readonly Entry[]): string {
  const texts = entries.flatMap((entry) => (entry.kind === "message" && entry.role === "assistant" ? [entry.text.trim()] : []));
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Copies a message, or at the end of a turn the agent's messages of the turn. */
export function copyText(port: { copy(text: string): void }, entry: Entry | undefined, turns: ReadonlyMap<string, readonly Entry[]>): void {
  const ended = entry?.kind === "end" ? textOfAgent(turns.get(entry.turn) ?? []) : "";
  const text = entry?.kind === "message" ? entry.text : ended;
  if (text !== "") {
    port.copy(text);
  }
}

function endItem(end: End, files: number, facts: ItemFacts, copies: boolean): Item {
  const { id } = end;
  const restored = facts.restored(end.turn);
  const unfinished = end.reason === "completed" && (end.openItems > 0 || end.uncheckedEdits) ? "unfinished" : end.reason;
  const reason = restored === undefined ? unfinished : "restored";
  const summary = end.problem === undefined ? end.summary : textOf(end.problem);
  const footer =
    restored === undefined ? facts.footer(end, files) : { facts: l10n.t("restored {0}", timeOfDay(restored || undefined)).trim(), actions: [] };
  return { id, kind: "end", reason, summary, ...footer, copies };
}

/** Rows of the plan items that a call completed. */
function stepItems({ id, facts: { completed = [] } }: Tool): Item[] {
  return completed.map(({ id: item, content: text, place, total }) => ({ id: `${id}:${item}`, kind: "step", text, place: `${place}/${total}` }));
}

/** Calls of subagents, by the call that started each, if that is here. */
function callsBelow(entries: readonly Entry[]): Map<string, Tool[]> {
  const below = new Map<string, Tool[]>();
  for (const entry of entries) {
    if (entry.kind === "tool" && kindOf(entry) === "task") {
      below.set(entry.id, []);
    }
  }
  for (const entry of entries) {
    if (entry.kind === "tool" && entry.parent !== undefined) {
      below.get(entry.parent)?.push(entry);
    }
  }
  return below;
}

/** Calls that changed a file, or are about to, by each call: all those of the file. */
function editsByFile(entries: readonly Entry[]): Map<string, [Tool, ...Tool[]]> {
  const files = new Map<string, [Tool, ...Tool[]]>();
  const calls = new Map<string, [Tool, ...Tool[]]>();
  for (const entry of entries) {
    if (entry.kind !== "tool" || verbOf(entry) === undefined || !(isLive(entry.state) || entry.state === "done")) {
      continue;
    }
    const file = entry.uri ?? fileOf(entry);
    const known = files.get(file);
    known?.push(entry);
    const all = known ?? [entry];
    files.set(file, all);
    calls.set(entry.id, all);
  }
  return calls;
}

/** Number of files that calls of the turn changed, each counted once. */
function changedFiles(edits: ReadonlyMap<string, readonly Tool[]>): number {
  return new Set([...edits.values()].filter((calls) => calls.some(({ state }) => state === "done"))).size;
}

function kindOf({ name, facts }: Tool): ToolKind | undefined {
  return facts.toolKind ?? KINDS[name];
}

function verbOf(entry: Tool): (typeof VERBS)[keyof typeof VERBS] | undefined {
  const kind = kindOf(entry);
  return kind === "edit" || kind === "create" || kind === "delete" || kind === "move" ? VERBS[kind] : undefined;
}

const callOf = once((entry): Call => {
  const { title, state, uri, facts } = entry;
  const { decision } = facts;
  const [kind, range, matches] = [kindOf(entry), facts.target?.range, facts.stats?.matches];
  const lines = range === undefined || range.end.line === range.start.line ? undefined : ([range.start.line + 1, range.end.line] as const);
  const subject = subjectOf(title);
  return {
    title: oneLine(textOf(title), 200),
    state,
    ...(subject !== "" && { subject: oneLine(subject, 200) }),
    ...(kind && { kind }),
    ...(uri === undefined ? {} : { path: lines === undefined ? uri : `${uri}#L${lines[0]}-L${lines[1]}` }),
    ...(lines && { lines: lines[0] === lines[1] ? `${lines[0]}` : `${lines[0]}–${lines[1]}` }),
    ...(matches !== undefined && { matches }),
    ...(decision && { note: decisionWords(decision) }),
  };
});

/** Time between two moments; 0 if one is not known, or the clock was set back. */
function elapsed(from: number | undefined, to: number | undefined): number {
  return from === undefined || to === undefined ? 0 : Math.max(0, to - from);
}

function countsOf({ facts: { stats } }: Tool): { added: number; removed: number } {
  return { added: stats?.added ?? 0, removed: stats?.removed ?? 0 };
}

function isLive(state: ToolState): boolean {
  return state === "queued" || state === "running" || state === "awaitingApproval";
}

/** Last lines of the output of a running command. */
function endOf(live: string): string {
  const lines = live.trimEnd().split("\n").slice(-LIVE_LINES);
  return lines.map((line) => (line.length <= LINE_CHARS ? line : `${line.slice(0, LINE_CHARS)}…`)).join("\n");
}

function shortened(lines: readonly string[]): string {
  const left = lines.length - HEAD_LINES - TAIL_LINES;
  const kept = left <= 1 ? lines : [...lines.slice(0, HEAD_LINES), l10n.t("… {0} lines …", left), ...lines.slice(-TAIL_LINES)];
  return kept.map((line) => (line.length <= LINE_CHARS ? line : `${line.slice(0, LINE_CHARS)}…`)).join("\n");
}
