import * as vscode from "vscode";
import { l10n } from "vscode";

import type { ProcessInfo, SubagentNotification } from "../protocol";
import { isRunning } from "../stores/session";
import type { Plans } from "../stores/plan";
import type { Store } from "../stores/store";
import { answersNeeded } from "../text/counts";
import { label } from "../text/display";
import { textOf } from "../text/messages";
import { hasFailed } from "../text/processes";
import { readyPlan } from "./planReady";
import {
  type SubagentRow,
  type EarlierRow,
  type HistoryRow,
  type ItemRow,
  type RootRow,
  type Row,
  type TurnRow,
  byKind,
  contextOf,
  idOf,
  isLive,
  itemRows,
} from "./rows";
import { commandOf, iconOf, rowText } from "./rowItems";

const REVEAL_TRIES = 3;

/** Time after the user was in the tree during which the tree does not scroll, in milliseconds. */
const AT_REST_MS = 10_000;

/** Plan view, made from the state. Text of the model is shown as plain text. */
export class PlanTree implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #view: vscode.TreeView<Row>;
  readonly #subscriptions: vscode.Disposable;
  /**
   * Rows the user opened, by id: VS Code forgets them when the root above them is another one. It
   * asks for the children of open rows only; its event of opening is lost during a refresh.
   */
  readonly #opened = new Set<string>();
  /** Rows that had opened by themselves and that the user folded. */
  readonly #folded = new Set<string>();
  #session: string | undefined;
  #drawn = "";
  /** The root that the user folded, by id: nothing in it is revealed. */
  #foldedRoot = "";
  /** The root for whose children VS Code asked since the last change, by id. It is open: the event of folding can be lost, too. */
  #openRoot = "";
  /** The item in progress that was revealed last, by id. */
  #revealedItem = "";
  /** Time at which the user last selected, opened or folded a row. VS Code reports no scrolling. */
  #touched = -AT_REST_MS;

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(private readonly store: Store) {
    this.#view = vscode.window.createTreeView<Row>("cairn.plan", { treeDataProvider: this });
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      this.#view,
      this.#view.onDidChangeSelection(() => this.#touch()),
      this.#view.onDidExpandElement(({ element }) => {
        this.#touch();
        if (idOf(element) === this.#foldedRoot) {
          this.#foldedRoot = "";
        }
      }),
      this.#view.onDidChangeVisibility(({ visible }) => {
        if (visible) {
          // A tree that appears next to open views has no height for 2 s, unless VS Code is given a message, also an empty one.
          this.#view.message = "";
          void this.#revealRunning();
        }
      }),
      this.#view.onDidCollapseElement(({ element }) => {
        this.#touch();
        if (element.kind === "root") {
          this.#foldedRoot = idOf(element);
        }
        this.#opened.delete(idOf(element));
        if (isLive(element)) {
          this.#folded.add(idOf(element));
        }
      }),
      store.on(["sessions", "plans", "approvals", "questions", "reviews", "modes"], ({ before }) => {
        this.#refresh();
        if (store.state.plans.reveals > before.plans.reveals) {
          void this.#reveal();
        }
      }),
    );
  }

  getChildren(row?: Row): Row[] {
    if (row === undefined) {
      return this.#top();
    }
    this.#opened.add(idOf(row));
    this.#folded.delete(idOf(row));
    if (row.kind === "root") {
      this.#openRoot = idOf(row);
      void this.#revealRunning();
    }
    return this.#children(row);
  }

  readonly #children = byKind<Row[]>(
    {
      root: (row) => [
        ...this.#items(row),
        ...this.#loose(row),
        ...(row.dropped.length === 0 ? [] : [{ kind: "dropped", parent: row, texts: row.dropped } as const]),
      ],
      item: (row) => this.#work(row),
      history: (row) => row.turns.map((earlier) => ({ kind: "earlier", parent: row, earlier })),
      earlier: (row) => this.#past(row),
      subagent: (row) => this.#ofSubagent(row),
    },
    [],
  );

  /** Parent of a row, which `reveal` needs. */
  getParent(row: Row): Row | undefined {
    return "parent" in row ? row.parent : undefined;
  }

  getTreeItem(row: Row): vscode.TreeItem {
    const { label, description, tooltip, spoken } = rowText(row);
    const id = idOf(row);
    const item = new vscode.TreeItem(label, expansionOf(row, this.#opened.has(id), this.#folded.has(id)));
    item.id = id;
    item.description = description;
    item.tooltip = tooltip;
    item.accessibilityInformation = { label: spoken };
    item.iconPath = iconOf(row);
    item.contextValue = contextOf(row);
    if (row.kind === "file") {
      item.resourceUri = vscode.Uri.parse(row.file.uri);
    }
    const command = commandOf(row);
    if (command !== undefined) {
      item.command = command;
    }
    return item;
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #top(): Row[] {
    const { plans, sessions } = this.store.state;
    const plan = this.#currentPlan();
    const turn = sessions.turn;
    const ready = readyPlan(this.store.state);
    const waits = turn?.phase.kind === "started" && this.#waiting() > 0;
    if (plan === undefined) {
      return turn === undefined ? [] : [...this.#turn({ kind: "turn", turn, waits }), ...this.#processes(undefined)];
    }
    const own = turn?.turnId === plan.turnId;
    const root: RootRow = {
      kind: "root",
      plan,
      generation: plans.generation,
      // A plan that waits for approval must be visible.
      collapsed: plans.collapsed && !(own && ready !== undefined),
      running: turn?.phase.kind === "started",
      waits,
      turn: own ? turn : undefined,
      task: own ? turn.text : plans.earlierTask(plan.turnId),
      ready: own && ready !== undefined,
      dropped: plans.dropped,
    };
    const earlier = plans.earlier;
    const history: HistoryRow[] = earlier.length === 0 ? [] : [{ kind: "history", sessionId: plan.sessionId, turns: earlier }];
    // A turn without a plan (so far) leaves the older one collapsed, and shows its current action.
    return [...(own || turn === undefined ? [] : this.#turn({ kind: "turn", turn, waits })), root, ...this.#processes(root), ...history];
  }

  /** Number of answers that the user has to give: approvals, edits, a plan to run, a question of the agent. */
  #waiting(): number {
    const { approvals, questions, reviews, sessions } = this.store.state;
    const phase = sessions.turn?.phase;
    const asks = phase?.kind === "ended" && phase.reason === "needsInput";
    return approvals.waiting.length + reviews.waiting.length + questions.waiting.length + (asks || readyPlan(this.store.state) !== undefined ? 1 : 0);
  }

  /** Processes of an item. While the plan is folded they are below it. */
  #processesOf({ running, collapsed, plan }: RootRow, item: string): readonly ProcessInfo[] {
    return running && !collapsed ? this.store.state.sessions.processesOf(plan.sessionId).filter(({ planItem }) => planItem === item) : [];
  }

  /** Other processes that run, and the newest that failed. */
  #processes(root: RootRow | undefined): Row[] {
    const sessionId = this.store.state.sessions.current ?? "";
    const shown = new Set(root?.plan.items.flatMap(({ id }) => this.#processesOf(root, id)));
    const others = this.store.state.sessions.processesOf(sessionId).filter((process) => !shown.has(process));
    const failed = others.findLast(hasFailed);
    return others.filter((process) => isRunning(process) || process === failed).map((process) => ({ kind: "process", sessionId, process }));
  }

  #items(root: RootRow): ItemRow[] {
    const { sessions, reviews } = this.store.state;
    const activity = root.running && sessions.activeTool !== undefined ? textOf(sessions.activeTool.title) : "";
    const subagents = this.#subagentsOf(root);
    return itemRows(root, ({ id, status }) => ({
      activity: status === "inProgress" ? activity : "",
      edits: reviews.ofItem(root.plan.sessionId, id).length,
      subagents: subagents.some(({ parent }) => parent.planItem === id),
      processes: this.#processesOf(root, id),
      live:
        this.#processesOf(root, id).some(isRunning) ||
        (root.running && subagents.some(({ parent, phase }) => parent.planItem === id && phase.kind !== "ended")),
    }));
  }

  #subagentsOf({ plan }: RootRow): SubagentNotification[] {
    return this.store.state.sessions.subagentsOf(plan.sessionId, plan.turnId);
  }

  /** Subagents that no item of the plan was in progress for, or an item that has left the plan. */
  #loose(root: RootRow): SubagentRow[] {
    const ids = new Set(root.plan.items.map(({ id }) => id));
    const loose = this.#subagentsOf(root).filter(({ parent }) => parent.planItem === undefined || !ids.has(parent.planItem));
    return loose.map((subagent) => this.#subagent(root, subagent, root.running));
  }

  /** A turn without a plan, and its subagents. */
  #turn(row: TurnRow): Row[] {
    const { sessionId, turnId, phase } = row.turn;
    const subagents = this.store.state.sessions.subagentsOf(sessionId, turnId);
    return [row, ...subagents.map((subagent) => this.#subagent(row, subagent, phase.kind === "started"))];
  }

  #subagent(parent: SubagentRow["parent"], subagent: SubagentNotification, running: boolean): SubagentRow {
    const live = running && subagent.phase.kind !== "ended";
    const tool = live ? this.store.state.sessions.activeToolOf(subagent.turnId) : undefined;
    return { kind: "subagent", parent, subagent, live, activity: tool === undefined ? "" : textOf(tool.title) };
  }

  #ofSubagent(row: SubagentRow): ItemRow[] {
    return itemRows(row, ({ id, status }) => ({
      activity: status === "inProgress" ? row.activity : "",
      edits: this.store.state.reviews.ofItem(row.subagent.sessionId, id).length,
    }));
  }

  /** Items of an earlier plan, read-only. Edits to review belong to the newest plan. */
  #past(row: EarlierRow): ItemRow[] {
    return itemRows(row, () => ({ activity: "", edits: 0 }));
  }

  #work(row: ItemRow): Row[] {
    const { parent } = row;
    if (parent.kind === "earlier") {
      return [];
    }
    const { files, id } = row.item;
    const subagents = parent.kind === "root" ? this.#subagentsOf(parent).filter((subagent) => subagent.parent.planItem === id) : [];
    // Work under a subagent's own step is not listed a second time.
    const below = new Set(
      subagents.flatMap(({ sessionId, items }) => items.flatMap((item) => item.commands.map(({ callId }) => `${sessionId}/${callId}`))),
    );
    const commands = row.item.commands.filter(({ callId }) => !below.has(callId));
    return [
      ...subagents.map((subagent) => this.#subagent(row, subagent, row.running)),
      ...row.processes.map((process): Row => ({ kind: "process", parent: row, sessionId: row.sessionId, process })),
      ...files.map((file): Row => {
        const edits = this.store.state.reviews.ofItem(row.sessionId, id, file.uri).length;
        return { kind: "file", parent: row, file, edits };
      }),
      ...commands.map((command): Row => ({ kind: "command", parent: row, command })),
    ];
  }

  /** The plan, unless it is another session's than the one in view. */
  #currentPlan(): Plans["plan"] {
    const { plan } = this.store.state.plans;
    const { current } = this.store.state.sessions;
    return current === undefined || plan?.sessionId === current ? plan : undefined;
  }

  #refresh(): void {
    const plan = this.#currentPlan();
    if (plan?.sessionId !== this.#session) {
      this.#session = plan?.sessionId;
      this.#opened.clear();
      this.#folded.clear();
    }
    this.#view.description = plan === undefined ? "" : `${plan.completed}/${plan.total}`;
    // VS Code adds up the badges of all views, so only open questions and edits are counted.
    const waiting = this.#waiting();
    this.#view.badge = waiting === 0 ? undefined : { value: waiting, tooltip: l10n.t("Cairn: {0}", answersNeeded(waiting)) };
    const { readOnly } = this.store.state.sessions;
    const message = readOnly === undefined ? "" : l10n.t("Read-only: {0}", label(textOf(readOnly), 200));
    if ((this.#view.message ?? "") !== message) {
      this.#view.message = message;
    }
    // VS Code draws a view at most every 0.2 s: drawing it for news that change no row would make
    // the next plan wait.
    const drawn = this.#asDrawn();
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      this.#openRoot = "";
      this.#changed.fire(undefined);
    }
  }

  /** The visible content of the rows as text, to compare. Plans of earlier turns no longer change. */
  #asDrawn(): string {
    const lines: string[] = [];
    const visit = (rows: readonly Row[]): void => {
      for (const row of rows) {
        lines.push(JSON.stringify([idOf(row), rowText(row), contextOf(row), iconOf(row), expansionOf(row, false, false)]));
        if (row.kind === "history") {
          lines.push(...row.turns.map(({ turnId }) => turnId));
        } else {
          visit(this.#children(row));
        }
      }
    };
    visit(this.#top());
    return lines.join("\n");
  }

  #touch(): void {
    this.#touched = performance.now();
  }

  /** Brings the item in progress into view when it is another one, unless the user is in the tree. */
  async #revealRunning(): Promise<void> {
    const root = this.#top().find((row) => row.kind === "root");
    if (!this.#view.visible || root === undefined || !root.running || root.collapsed) {
      return;
    }
    // To reveal an item would unfold the plan.
    if (idOf(root) === this.#foldedRoot || idOf(root) !== this.#openRoot) {
      return;
    }
    const running = this.#items(root).find(({ item }) => item.status === "inProgress");
    const id = running === undefined ? "" : idOf(running);
    if (running === undefined || id === this.#revealedItem || performance.now() - this.#touched < AT_REST_MS) {
      return;
    }
    this.#revealedItem = id;
    try {
      await this.#view.reveal(running, { expand: false, focus: false, select: false });
    } catch {
      // The next change of the plan brings its successor.
      this.#revealedItem = "";
    }
  }

  /**
   * Only in a view that is visible: it takes no other view's place. A root that has been replaced
   * cannot be revealed; its successor can.
   */
  async #reveal(): Promise<void> {
    if (!this.#view.visible) {
      return;
    }
    for (let tries = 0; tries < REVEAL_TRIES; tries++) {
      const root = this.#top().find((row) => row.kind === "root");
      if (root === undefined) {
        return;
      }
      try {
        // It is open because it is new: an `expand` that comes late would undo the user's folding.
        await this.#view.reveal(root, { expand: false, focus: false, select: false });
        return;
      } catch {
        // Again, with the root as it is now.
      }
    }
  }
}

function expansionOf(row: Row, opened: boolean, folded: boolean): vscode.TreeItemCollapsibleState {
  const { None, Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const own = opened ? Expanded : Collapsed;
  if (row.kind === "root") {
    return row.collapsed ? Collapsed : Expanded;
  }
  if (row.kind === "subagent") {
    return row.subagent.total === 0 ? None : row.live && !folded ? Expanded : own;
  }
  if (row.kind === "item") {
    const { files, commands } = row.item;
    const hasWork = row.parent.kind !== "earlier" && (row.subagents || row.processes.length + files.length + commands.length > 0);
    return row.live ? (folded ? Collapsed : Expanded) : hasWork ? own : None;
  }
  return row.kind === "history" || row.kind === "earlier" ? own : None;
}
