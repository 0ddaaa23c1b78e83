import * as vscode from "vscode";

import type { Decision, Hunk, ReviewNotification } from "../protocol";
import type { Memory } from "../stores/mode";
import { type PlacedHunk, canAccept, counts, isRemoval, lineCounts } from "../stores/review";
import type { Store } from "../stores/store";
import { edits, proposedEdits } from "../text/counts";
import { label, oneLine } from "../text/display";
import { movedFrom } from "../text/review";
import { DecidedRows } from "./decidedRows";
import { type Group, type Step, byPlanItem } from "./groups";
import { type Keyed, advances, reportWithout } from "./report";

/** A row, which is also the argument of the commands in its menu. */
export type EditRow =
  | ({ readonly kind: "step" } & Group)
  | {
      readonly kind: "file";
      readonly file: ReviewNotification;
      readonly uri: string;
      readonly rev: number;
      /** Its edits are shown until the user folds it. */
      readonly opened: boolean;
    }
  | {
      readonly kind: "hunk";
      readonly placed: PlacedHunk;
      readonly uri: string;
      readonly hunkId: string;
      readonly rev: number;
      /** Under a step, where no row above it names the file. */
      readonly named: boolean;
    };

type HunkRow = Extract<EditRow, { kind: "hunk" }>;

const BY_STEP = "cairn.editsByStep";

/**
 * Number of files whose rows are expanded. After each decision VS Code requests every expanded row again:
 * a thousand rows take longer than the decision, and are not readable anyway.
 */
const MOST_OPENED = 20;

/** The Proposed Edits view: the edits by file, or by the step of the plan they were made for. */
export class EditsTree implements vscode.TreeDataProvider<EditRow>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #view: vscode.TreeView<EditRow>;
  readonly #subscriptions: vscode.Disposable;
  readonly #decided: DecidedRows;
  #byStep: boolean;
  #selected: EditRow | undefined;

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(
    private readonly store: Store,
    private readonly memory: Memory,
  ) {
    this.#byStep = memory.get(BY_STEP) === true;
    this.#decided = new DecidedRows(store, () => this.#refresh());
    this.#view = vscode.window.createTreeView<EditRow>("cairn.edits", { treeDataProvider: this, showCollapseAll: true });
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      this.#view,
      this.#decided,
      this.#view.onDidChangeSelection(({ selection }) => (this.#selected = selection[0] ?? this.#selected)),
      store.on(["reviews"], () => this.#refresh()),
      store.on(["plans"], () => {
        if (this.#byStep) {
          this.#refresh();
        }
      }),
      // The keys select the focused row first, because VS Code reports only the selected row.
      vscode.commands.registerCommand("cairn.edits.open", () => this.#open()),
      vscode.commands.registerCommand("cairn.edits.accept", (arg?: Keyed) => this.#decide("accept", arg)),
      vscode.commands.registerCommand("cairn.edits.reject", (arg?: Keyed) => this.#decide("reject", arg)),
      vscode.commands.registerCommand("cairn.edits.rejectWithReason", (arg?: Keyed) => this.#decide("reject", arg, { asks: true })),
      vscode.commands.registerCommand("cairn.edits.acceptFile", (arg?: Keyed) => this.#decide("accept", arg, { file: true })),
      vscode.commands.registerCommand("cairn.edits.rejectFile", (arg?: Keyed) => this.#decide("reject", arg, { file: true })),
      vscode.commands.registerCommand("cairn.edits.click", (decision: Decision, row: EditRow) => this.#click(decision, row)),
      vscode.commands.registerCommand("cairn.groupByFile", () => this.#group(false)),
      vscode.commands.registerCommand("cairn.groupByStep", () => this.#group(true)),
    );
    this.#group(this.#byStep);
  }

  getChildren(row?: EditRow): EditRow[] {
    switch (row?.kind) {
      case undefined:
        return this.#byStep ? this.#steps() : this.#files();
      case "step":
        return row.placed.map((placed) => hunkRow(placed, true));
      case "file":
        return this.#decided.placed(row.uri).map((placed) => hunkRow(placed, false));
      case "hunk":
        return [];
    }
  }

  /** The window asks for it before it brings a row into view. */
  getParent(row: EditRow): EditRow | undefined {
    return row.kind === "hunk"
      ? this.getChildren().find((parent) => this.getChildren(parent).some((child) => child.kind === "hunk" && keyOf(child) === keyOf(row)))
      : undefined;
  }

  getTreeItem(row: EditRow): vscode.TreeItem {
    switch (row.kind) {
      case "step":
        return stepItem(row);
      case "file":
        return fileItem(row.file, row.opened);
      case "hunk": {
        const decision = this.#decided.decision(row.placed);
        return decision === undefined ? hunkItem(row.placed, row) : decidedItem(row, decision);
      }
    }
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** Opens the edit of the selected row and goes there. */
  async #open(): Promise<void> {
    const row = this.#selectedRow();
    if (row?.kind !== "hunk") {
      await vscode.commands.executeCommand("list.toggleExpand");
    } else if (row.placed.hunk.wholeFile === "deleted") {
      await vscode.commands.executeCommand("cairn.openDeleted", row);
    } else {
      await vscode.commands.executeCommand("cairn.revealHunk", { uri: row.uri, hunkId: row.hunkId, focus: true });
    }
  }

  /**
   * Keeps the row whose button is clicked in its place. Returns false if the row has only just moved under the
   * pointer, or is decided: then the click has no effect.
   */
  #click(decision: Decision, row: EditRow): boolean {
    if (row.kind !== "hunk" || this.#decided.hasMoved() || this.#decided.decision(row.placed) !== undefined) {
      return false;
    }
    this.#decided.keep(row.placed, decision);
    return true;
  }

  /** Decides the selected row, an edit, a file or a step, and moves to the next edit. */
  async #decide(decision: Decision, arg: Keyed | undefined, { asks = false, file = false } = {}): Promise<void> {
    const row = this.#selectedRow();
    if (row === undefined || (row.kind === "step" && (asks || file))) {
      return;
    }
    const kind = file && row.kind === "hunk" ? "file" : row.kind;
    const of = { hunk: "Hunk", file: "File", step: "PlanItem" }[kind];
    const before = this.#hunkRows().map(keyOf);
    const first = (row.kind === "hunk" ? [row] : this.getChildren(row)).find((below) => below.kind === "hunk");
    const command = `cairn.${decision}${of}${asks ? "WithReason" : ""}`;
    const decided = await vscode.commands.executeCommand<boolean>(command, { ...row, keyed: true });
    if (decided && first !== undefined && advances(arg)) {
      await reportWithout(this.store, first.placed);
      await this.#goOn(before, before.indexOf(keyOf(first)));
    }
  }

  /** Selects the edit that comes after a decided one, and shows it, unless the user selected another one. */
  async #goOn(before: readonly string[], decided: number): Promise<void> {
    const left = new Map(this.#hunkRows().map((row) => [keyOf(row), row]));
    const isLeft = (key: string): boolean => left.has(key);
    const key = before.slice(Math.max(0, decided)).find(isLeft) ?? before.slice(0, Math.max(0, decided)).findLast(isLeft);
    const row = left.get(key ?? "");
    const selected = this.#selectedRow();
    // A row that the user has selected since stays selected.
    const other = selected?.kind === "hunk" && keyOf(selected) !== before[decided] && isLeft(keyOf(selected));
    if (row === undefined || other) {
      return;
    }
    await this.#view.reveal(row, { select: true, focus: true });
    if (row.placed.hunk.wholeFile !== "deleted") {
      await vscode.commands.executeCommand("cairn.revealHunk", { uri: row.uri, hunkId: row.hunkId });
    }
  }

  /** The selected row, or that of the time when VS Code began to redraw the rows. */
  #selectedRow(): EditRow | undefined {
    const [row] = this.#view.selection;
    const former = this.#selected;
    if (row !== undefined || former?.kind !== "hunk") {
      return row;
    }
    return this.#hunkRows().find((other) => keyOf(other) === keyOf(former));
  }

  /** The edits in the order of their rows. */
  #hunkRows(): HunkRow[] {
    return this.getChildren()
      .flatMap((row) => this.getChildren(row))
      .filter((row) => row.kind === "hunk")
      .filter((row) => this.#decided.decision(row.placed) === undefined);
  }

  #files(): EditRow[] {
    const files = this.#decided.files();
    const opened = files.length <= MOST_OPENED;
    return files.map((file) => ({ kind: "file", file, uri: file.uri, rev: file.rev, opened }));
  }

  #steps(): EditRow[] {
    const placed = this.#decided.files().flatMap(({ uri }) => this.#decided.placed(uri));
    return byPlanItem(placed, this.store.state.plans.sessionId ?? "", this.store.state.plans.items).map((group) => ({ kind: "step", ...group }));
  }

  #group(byStep: boolean): void {
    this.#byStep = byStep;
    void this.memory.update(BY_STEP, byStep);
    void vscode.commands.executeCommand("setContext", BY_STEP, byStep);
    this.#refresh();
  }

  #refresh(): void {
    const { pending } = this.store.state.reviews;
    // No badge: VS Code adds the badges of all views up, and edits can wait, unlike a question.
    this.#view.description = pending === 0 ? "" : String(pending);
    this.#changed.fire(undefined);
  }
}

function keyOf({ uri, hunkId }: HunkRow): string {
  return `${uri}#${hunkId}`;
}

function hunkRow(placed: PlacedHunk, named: boolean): EditRow {
  const { file, hunk } = placed;
  return { kind: "hunk", placed, uri: file.uri, hunkId: hunk.id, rev: file.rev, named };
}

function stepItem({ item: step, sessionId, placed }: Group): vscode.TreeItem {
  const name = step === undefined ? vscode.l10n.t("Without a step") : label(step.content, 200);
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.Expanded);
  const shown = lineCounts(placed.map(({ hunk }) => hunk));
  item.id = step === undefined ? "step" : `step:${sessionId}:${step.id}`;
  item.description = shown;
  item.iconPath = stepIcon(step);
  item.contextValue = "step";
  const earlier = step !== undefined && step.status === undefined ? [vscode.l10n.t("step of another plan")] : [];
  item.tooltip = [name, ...earlier, `${edits(placed.length)}, ${shown}`].join("\n");
  item.accessibilityInformation = { label: [name, ...earlier, proposedEdits(placed.length)].join(", ") };
  return item;
}

function stepIcon(step: Step | undefined): vscode.ThemeIcon {
  switch (step?.status) {
    case undefined:
      return new vscode.ThemeIcon(step === undefined ? "dash" : "history", new vscode.ThemeColor("descriptionForeground"));
    case "completed":
      return new vscode.ThemeIcon("pass-filled", new vscode.ThemeColor("cairn.completedForeground"));
    case "cancelled":
      return new vscode.ThemeIcon("dash", new vscode.ThemeColor("descriptionForeground"));
    case "inProgress":
    case "pending":
      return new vscode.ThemeIcon("circle-large-outline");
  }
}

function fileItem(file: ReviewNotification, opened: boolean): vscode.TreeItem {
  const uri = vscode.Uri.parse(file.uri);
  const { Collapsed, Expanded } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(uri, opened ? Expanded : Collapsed);
  const folder = file.path.split("/").slice(0, -1).join("/");
  const kind = kindOf(file);
  item.id = `file:${file.uri}`;
  item.description = [oneLine(folder), kind, lineCounts(file.hunks)].filter((part) => part !== "").join("  ");
  item.iconPath = vscode.ThemeIcon.File;
  item.contextValue = "file";
  item.tooltip = `${oneLine(file.path, 400)}\n${lineCounts(file.hunks)}`;
  item.accessibilityInformation = { label: `${oneLine(file.path)}, ${proposedEdits(file.hunks.length)}` };
  return item;
}

/** Change of the file as a whole, in a word or two. */
function kindOf(file: ReviewNotification): string {
  switch (file.kind) {
    case "created":
      return vscode.l10n.t("new");
    case "deleted":
      return vscode.l10n.t("deleted");
    case "moved":
      return movedFrom(file);
    case "edited":
      return "";
  }
}

function wholeFileItem(placed: PlacedHunk, row: HunkRow): vscode.TreeItem | undefined {
  const { file, hunk } = placed;
  if (hunk.wholeFile === undefined) {
    return undefined;
  }
  const deleted = hunk.wholeFile === "deleted";
  const name = oneLine(file.path.split("/").at(-1) ?? file.path);
  const what = deleted ? vscode.l10n.t("File deleted") : vscode.l10n.t("File moved");
  const item = new vscode.TreeItem(row.named ? name : what, vscode.TreeItemCollapsibleState.None);
  item.id = `hunk:${file.uri}#${hunk.id}`;
  item.description = [...(row.named ? [what] : []), deleted ? counts(hunk) : oneLine(file.from ?? "")].join("  ");
  item.iconPath = new vscode.ThemeIcon(
    deleted ? "trash" : "arrow-right",
    new vscode.ThemeColor(deleted ? "cairn.removedForeground" : "cairn.pendingForeground"),
  );
  item.contextValue = "hunk";
  item.tooltip = deleted ? vscode.l10n.t("Rejecting this brings the file back.") : vscode.l10n.t("Rejecting this moves the file back.");
  item.accessibilityInformation = { label: `${oneLine(file.path)}, ${kindOf(file)}` };
  item.command = deleted
    ? { command: "cairn.openDeleted", title: vscode.l10n.t("Show Deleted Text"), arguments: [row] }
    : { command: "cairn.revealHunk", title: vscode.l10n.t("Show"), arguments: [row] };
  return item;
}

/** Row of a decided edit: no button, and grey. */
function decidedItem({ placed, uri, hunkId }: HunkRow, decision: Decision): vscode.TreeItem {
  const item = new vscode.TreeItem("", vscode.TreeItemCollapsibleState.None);
  const line = vscode.l10n.t("Line {0}", placed.hunk.range.start.line + 1);
  const state = decision === "accept" ? vscode.l10n.t("accepted") : vscode.l10n.t("rejected");
  item.id = `hunk:${uri}#${hunkId}`;
  item.description = [line, state, counts(placed.hunk)].join("  ");
  item.iconPath = new vscode.ThemeIcon(decision === "accept" ? "check" : "discard", new vscode.ThemeColor("disabledForeground"));
  item.accessibilityInformation = { label: `${line}, ${state}` };
  return item;
}

function hunkItem(placed: PlacedHunk, row: HunkRow): vscode.TreeItem {
  return wholeFileItem(placed, row) ?? linesItem(placed, row);
}

function linesItem({ file, hunk, ordinal }: PlacedHunk, row: HunkRow): vscode.TreeItem {
  const text = firstLine(isRemoval(hunk) ? hunk.oldText : hunk.newText);
  const line = hunk.range.start.line + 1;
  const name = row.named ? oneLine(file.path.split("/").at(-1) ?? file.path) : "";
  const item = new vscode.TreeItem(row.named ? `${name}:${line}` : vscode.l10n.t("Line {0}", line), vscode.TreeItemCollapsibleState.None);
  // Hunks are counted in each file.
  item.id = `hunk:${file.uri}#${hunk.id}`;
  const state = hunk.outdated ? [vscode.l10n.t("outdated")] : hunk.mixed ? [vscode.l10n.t("with your changes")] : [];
  item.description = [counts(hunk), ...state, text].join("  ");
  item.iconPath = hunkIcon(hunk);
  item.contextValue = canAccept(hunk) ? "hunk" : "hunk outdated";
  const why = canAccept(hunk)
    ? vscode.l10n.t("It no longer stands in the text. Accepting makes it again, rejecting forgets it.")
    : vscode.l10n.t("It no longer stands in the text. Its lines are gone, so it cannot be made again. Rejecting forgets it.");
  const all = file.hunks.length;
  item.tooltip = [vscode.l10n.t("{0}, edit {1} of {2}", oneLine(file.path, 400), ordinal, all), text, ...(hunk.outdated ? [why] : [])].join("\n");
  const facts = [
    ...(row.named ? [name] : []),
    vscode.l10n.t("Edit {0} of {1}", ordinal, all),
    vscode.l10n.t("line {0}", line),
    ...(hunk.outdated ? [vscode.l10n.t("outdated")] : []),
    vscode.l10n.t("{0} added, {1} removed: {2}", hunk.addedLines, hunk.removedLines, text),
  ];
  item.accessibilityInformation = { label: facts.join(", ") };
  item.command = { command: "cairn.revealHunk", title: vscode.l10n.t("Show"), arguments: [row] };
  return item;
}

function hunkIcon(hunk: Hunk): vscode.ThemeIcon {
  const [icon, color] = isRemoval(hunk)
    ? ["diff-removed", "cairn.removedForeground"]
    : hunk.removedLines === 0
      ? ["diff-added", "cairn.addedForeground"]
      : ["diff-modified", "cairn.pendingForeground"];
  return new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
}

function firstLine(text: string): string {
  const line = text.split(/\r\n|\r|\n/).find((candidate) => candidate.trim() !== "") ?? "";
  return label(line.trim(), 120) || vscode.l10n.t("empty line");
}
