import type { ApproveParams, ChildNotification, EarlierPlan, FollowUp, LinkedCommand, LinkedFile, PlanItem, PlanNotification } from "../protocol";
import type { Turn } from "../stores/session";

/** Row of the plan view, before it becomes a tree item. */
export type Row =
  ApprovalRow | ReadyRow | TurnRow | RootRow | ItemRow | FileRow | CommandRow | DroppedRow | QueuedRow | HistoryRow | EarlierRow | SubagentRow;

export interface ApprovalRow {
  readonly kind: "approval";
  readonly params: ApproveParams;
}

/** A plan that was made to be approved. */
export interface ReadyRow {
  readonly kind: "ready";
  readonly turn: Turn;
  readonly open: number;
}

export interface TurnRow {
  readonly kind: "turn";
  readonly turn: Turn;
}

export interface RootRow {
  readonly kind: "root";
  readonly plan: PlanNotification;
  readonly generation: number;
  readonly collapsed: boolean;
  /** Something of this session runs: only then may anything spin. */
  readonly running: boolean;
  /** The turn the plan was made in; `undefined` when another one followed. */
  readonly turn: Turn | undefined;
  /** It waits for approval: nothing of it has been done. */
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
  /** It has rows of subagents. */
  readonly subagents: boolean;
  /** A subagent works for it, so the row is open. */
  readonly live: boolean;
}

/** A subagent, under the item that its call was made for, else under its turn. */
export interface SubagentRow {
  readonly kind: "subagent";
  readonly parent: ItemRow | RootRow | TurnRow;
  readonly subagent: ChildNotification;
  /** Title of the tool call that it runs now. */
  readonly activity: string;
  /** It works or waits, and its turn does. */
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

/** Queued follow-up. */
export interface QueuedRow {
  readonly kind: "queued";
  readonly sessionId: string;
  readonly item: FollowUp;
  /** 1 is the next. */
  readonly place: number;
  /** Nothing of the queue begins by itself. */
  readonly held: boolean;
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

/** Done, as far as the model says; nothing shows that anything was done for it. */
export const isDeclaredOnly = ({ status, calls }: PlanItem): boolean => status === "completed" && calls === 0;

/** The rows of a plan's items. `work` adds what only the running turn and the review know. */
export function itemRows(
  parent: RootRow | EarlierRow | SubagentRow,
  work: (item: PlanItem) => { readonly activity: string; readonly edits: number; readonly subagents?: boolean; readonly live?: boolean },
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

/** Rows that open by themselves while a subagent works, and fold up when it has ended. */
export const isLive = (row: Row): boolean => (row.kind === "item" || row.kind === "subagent") && row.live;

/** One name per row, kept for as long as it is the same thing: VS Code hangs the expansion on it. */
export function idOf(row: Row): string {
  switch (row.kind) {
    case "approval":
      return `approval:${row.params.approvalId}`;
    case "ready":
      return `ready:${row.turn.turnId}`;
    case "turn":
      return `turn:${row.turn.turnId}`;
    case "root":
      // Another generation makes the tree take the expansion we want.
      return `plan:${row.plan.sessionId}#${row.generation}${row.ready ? " ready" : ""}`;
    case "item":
      return row.parent.kind === "earlier"
        ? `earlier:${row.parent.earlier.turnId}:item:${row.item.id}`
        : `item:${row.sessionId}:${row.item.id}${row.live ? " live" : ""}`;
    case "subagent":
      // Another id makes the tree take the expansion we want: at its first item, and at its end.
      return `subagent:${row.subagent.sessionId}${row.live ? " live" : ""}${row.subagent.total > 0 ? " planned" : ""}`;
    case "file":
      return `${idOf(row.parent)}:file:${row.file.uri}`;
    case "command":
      return `${idOf(row.parent)}:command:${row.command.callId}`;
    case "dropped":
      return `${idOf(row.parent)}:dropped`;
    case "queued":
      return `queued:${row.item.id}`;
    case "history":
      return `history:${row.sessionId}`;
    case "earlier":
      return `earlier:${row.earlier.turnId}`;
  }
}

/** Words that the menus of `package.json` look for. */
export function contextOf(row: Row): string {
  switch (row.kind) {
    case "approval":
      return row.params.rules.length > 0 ? "approval always" : "approval";
    case "ready":
    case "file":
    case "command":
    case "dropped":
    case "queued":
    case "history":
    case "earlier":
      return row.kind;
    case "subagent":
      return row.live ? "subagent running" : "subagent";
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
