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

function planOf(row: RootRow | EarlierRow | SubagentRow): Pick<PlanNotification, "sessionId" | "items"> {
  switch (row.kind) {
    case "root":
      return row.plan;
    case "earlier":
      return row.earlier.plan;
    case "subagent":
      return row.subagent;
  }
}

function runs(row: RootRow | EarlierRow | SubagentRow): boolean {
  switch (row.kind) {
    case "root":
      return row.running;
    case "earlier":
      return false;
    case "subagent":
      return row.live && row.subagent.phase.kind === "running";
  }
}

/** Rows that open by themselves while a subagent works or a process runs, and fold up afterwards. */
export const isLive = (row: Row): boolean => (row.kind === "item" || row.kind === "subagent") && row.live;

/** One name per row, kept for as long as it is the same thing: VS Code hangs the expansion on it. */
export function idOf(row: Row): string {
  switch (row.kind) {
    case "turn":
      return `turn:${row.turn.turnId}`;
    case "root":
      // A new generation makes the tree apply the requested expansion.
      return `plan:${row.plan.sessionId}#${row.generation}${row.ready ? " ready" : ""}`;
    case "item":
      return row.parent.kind === "earlier"
        ? `earlier:${row.parent.earlier.turnId}:item:${row.item.id}`
        : `item:${row.sessionId}:${row.item.id}${row.live ? " live" : ""}`;
    case "subagent":
      // A new id makes the tree apply the requested expansion: at its first item, and at its end.
      return `subagent:${row.subagent.sessionId}${row.live ? " live" : ""}${row.subagent.total > 0 ? " planned" : ""}`;
    case "file":
      return `${idOf(row.parent)}:file:${row.file.uri}`;
    case "command":
      return `${idOf(row.parent)}:command:${row.command.callId}`;
    case "process":
      return `process:${row.sessionId}:${row.process.id}${row.parent === undefined ? "" : ":item"}`;
    case "dropped":
      return `${idOf(row.parent)}:dropped`;
    case "history":
      return `history:${row.sessionId}`;
    case "earlier":
      return `earlier:${row.earlier.turnId}`;
  }
}

/** Words that the menus of `package.json` look for. */
export function contextOf(row: Row): string {
  switch (row.kind) {
    case "file":
    case "command":
    case "dropped":
    case "history":
    case "earlier":
      return row.kind;
    case "subagent":
      return row.live ? "subagent running" : "subagent";
    case "process":
      return row.process.phase.kind === "running" ? "process.running" : "process";
    case "turn":
      return row.turn.phase.kind === "ended" ? "turn.ended" : row.turn.phase.kind === "started" ? "turn.running" : "turn";
    case "root": {
      const phase = row.turn?.phase;
      const asks = phase?.kind === "ended" && phase.reason === "needsInput";
      const open = openItems(row.plan) > 0 && phase?.kind !== "interrupted";
      const next = row.ready ? ["ready"] : open ? ["open"] : [];
      return ["plan", ...(row.running ? ["running"] : [...next, ...(asks ? ["asks"] : [])])].join(" ");
    }
    case "item":
      return [
        row.parent.kind === "earlier" ? "past item" : "item",
        ...(row.item.files.length > 0 ? ["files"] : []),
        ...(row.edits > 0 ? ["edits"] : []),
      ].join(" ");
  }
}
