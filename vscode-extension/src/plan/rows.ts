import type { SubagentNotification, EarlierPlan, LinkedCommand, LinkedFile, PlanItem, PlanNotification, ProcessInfo } from "../protocol";
import type { Turn } from "../stores/session";

/** Row of the plan view, before it becomes a tree item. */
export type Row = TurnRow | RootRow | ItemRow | FileRow | CommandRow | DroppedRow | HistoryRow | EarlierRow | SubagentRow | ProcessRow;

export interface TurnRow {
  readonly kind: "turn";
  readonly turn: Turn;
  /** True while it waits for an answer or a decision of the user. */
  readonly waits: boolean;
}

export interface RootRow {
  readonly kind: "root";
  readonly plan: PlanNotification;
  readonly generation: number;
  readonly collapsed: boolean;
  /** True if the session runs something; only then may an icon spin. */
  readonly running: boolean;
  /** True while the running turn waits for an answer or a decision of the user. */
  readonly waits: boolean;
  /** The turn the plan was made in; `undefined` when another one followed. */
  readonly turn: Turn | undefined;
  /** First message of that turn; empty if it is not known. */
  readonly task: string;
  /** True while the plan waits for approval and no item of it has started. */
  readonly ready: boolean;
  readonly dropped: readonly string[];
}

export interface ItemRow {
  readonly kind: "item";
  readonly parent: RootRow | EarlierRow | SubagentRow;
  readonly item: PlanItem;
  readonly sessionId: string;
  /** Shows the ids of the items, which happens when items are blocked by others. */
  readonly numbered: boolean;
  /** The items it waits for. */
  readonly blockers: readonly PlanItem[];
  /** Title of the tool call that runs for it now. */
  readonly activity: string;
  /** Proposed edits made under it that wait for a decision. */
  readonly edits: number;
  readonly running: boolean;
  /** True if it has rows of subagents. */
  readonly subagents: boolean;
  /** Processes that were started for it. */
  readonly processes: readonly ProcessInfo[];
  /** True while a subagent works or a process runs for it; the row is then open. */
  readonly live: boolean;
}

/** A subagent, under the item that its call was made for, else under its turn. */
export interface SubagentRow {
  readonly kind: "subagent";
  readonly parent: ItemRow | RootRow | TurnRow;
  readonly subagent: SubagentNotification;
  /** Title of the tool call that it runs now. */
  readonly activity: string;
  /** True while it and its turn run or wait. */
  readonly live: boolean;
}

export interface FileRow {
  readonly kind: "file";
  readonly parent: ItemRow;
  readonly file: LinkedFile;
  readonly edits: number;
}

export interface CommandRow {
  readonly kind: "command";
  readonly parent: ItemRow;
  readonly command: LinkedCommand;
}

export interface DroppedRow {
  readonly kind: "dropped";
  readonly parent: RootRow;
  readonly texts: readonly string[];
}

/** Process, under the item in progress when it was started while the turn runs, else below the plan. */
export interface ProcessRow {
  readonly kind: "process";
  readonly parent?: ItemRow;
  readonly sessionId: string;
  readonly process: ProcessInfo;
}

export interface HistoryRow {
  readonly kind: "history";
  readonly sessionId: string;
  readonly turns: readonly EarlierPlan[];
}

export interface EarlierRow {
  readonly kind: "earlier";
  readonly parent: HistoryRow;
  readonly earlier: EarlierPlan;
}

export const openItems = ({ total, completed }: PlanNotification): number => total - completed;

/** A completed item without visible work: only the model reported it as done. */
export const isDeclaredOnly = ({ status, calls }: PlanItem): boolean => status === "completed" && calls === 0;

/** A value or function for each kind of row. */
type ByKind<T> = { readonly [K in Row["kind"]]: (row: Extract<Row, { readonly kind: K }>) => T };

/** Function of a row, from one for each kind. Kinds without one have the last value. */
export function byKind<T>(table: ByKind<T>): (row: Row) => T;
export function byKind<T>(table: Partial<ByKind<T>>, other: T): (row: Row) => T;
export function byKind<T>(table: Partial<ByKind<T>>, other?: T) {
  return (row: Row) => ((table[row.kind] as ((row: Row) => T) | undefined) ?? (() => other))(row);
}

/** The rows of a plan's items. `work` adds the state of the running turn and of the review. */
export function itemRows(
  parent: RootRow | EarlierRow | SubagentRow,
  work: (item: PlanItem) => {
    readonly activity: string;
    readonly edits: number;
    readonly subagents?: boolean;
    readonly processes?: readonly ProcessInfo[];
    readonly live?: boolean;
  },
): ItemRow[] {
  const plan = planOf(parent);
  const byId = new Map(plan.items.map((item) => [item.id, item]));
  const numbered = plan.items.some(({ blockedBy }) => blockedBy.length > 0);
  return plan.items.map((item) => ({
    kind: "item",
    parent,
    item,
    sessionId: plan.sessionId,
    numbered,
    blockers: item.blockedBy.flatMap((id) => byId.get(id) ?? []),
    running: runs(parent),
    subagents: false,
    processes: [],
    live: false,
    ...work(item),
  }));
}

const planOf = (row: ItemRow["parent"]): Pick<PlanNotification, "sessionId" | "items"> =>
  row.kind === "root" ? row.plan : row.kind === "earlier" ? row.earlier.plan : row.subagent;

const runs = (row: ItemRow["parent"]): boolean =>
  row.kind === "root" ? row.running : row.kind === "subagent" && row.live && row.subagent.phase.kind === "running";

/** Rows that open by themselves while a subagent works or a process runs, and fold up afterwards. */
export const isLive = (row: Row): boolean => (row.kind === "item" || row.kind === "subagent") && row.live;

/** One name per row, kept for as long as it is the same thing: VS Code hangs the expansion on it. A new one makes the tree apply another expansion. */
export const idOf: (row: Row) => string = byKind({
  turn: ({ turn }) => `turn:${turn.turnId}`,
  root: ({ plan, generation, ready }) => `plan:${plan.sessionId}#${generation}${ready ? " ready" : ""}`,
  item: ({ parent, sessionId, item, live }) =>
    parent.kind === "earlier" ? `${idOf(parent)}:item:${item.id}` : `item:${sessionId}:${item.id}${live ? " live" : ""}`,
  subagent: ({ subagent, live }) => `subagent:${subagent.sessionId}${live ? " live" : ""}${subagent.total > 0 ? " planned" : ""}`,
  file: ({ parent, file }) => `${idOf(parent)}:file:${file.uri}`,
  command: ({ parent, command }) => `${idOf(parent)}:command:${command.callId}`,
  process: ({ parent, sessionId, process }) => `process:${sessionId}:${process.id}${parent === undefined ? "" : ":item"}`,
  dropped: ({ parent }) => `${idOf(parent)}:dropped`,
  history: ({ sessionId }) => `history:${sessionId}`,
  earlier: ({ earlier }) => `earlier:${earlier.turnId}`,
});

const contexts = byKind<string | undefined>(
  {
    subagent: ({ live }) => (live ? "subagent running" : "subagent"),
    process: ({ process: { phase } }) => (phase.kind === "running" ? "process.running" : "process"),
    turn: ({ turn: { phase } }) => (phase.kind === "ended" ? "turn.ended" : phase.kind === "started" ? "turn.running" : "turn"),
    root: ({ plan, turn, ready, running }) => {
      const phase = turn?.phase;
      const asks = phase?.kind === "ended" && phase.reason === "needsInput" ? " asks" : "";
      const open = openItems(plan) > 0 && phase?.kind !== "interrupted" ? " open" : "";
      return running ? "plan running" : `plan${ready ? " ready" : open}${asks}`;
    },
    item: ({ parent, item, edits }) =>
      `${parent.kind === "earlier" ? "past item" : "item"}${item.files.length > 0 ? " files" : ""}${edits > 0 ? " edits" : ""}`,
  },
  undefined,
);

/** Words that the menus of `package.json` look for. */
export const contextOf = (row: Row): string => contexts(row) ?? row.kind;
