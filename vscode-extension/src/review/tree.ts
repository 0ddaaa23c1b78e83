import * as vscode from "vscode";

import type { Hunk, PlanItem, ReviewNotification } from "../protocol";
import type { Memory } from "../stores/mode";
import type { PlanStore } from "../stores/plan";
import { type PlacedHunk, type ReviewStore, canAccept, counts, isRemoval, lineCounts } from "../stores/review";
import { count, label, oneLine } from "../text/display";
import { type Group, byPlanItem } from "./groups";

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
 * With more files than these the next ones come folded. Whenever one of many is decided, VS Code has
 * every open row anew: a thousand of them take longer than deciding does, and nobody reads them.
 */
const MOST_OPENED = 20;

/** The Proposed Edits view: the edits by file, or by the step of the plan they were made for. */
export class EditsTree implements vscode.TreeDataProvider<EditRow>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #view: vscode.TreeView<EditRow>;
  readonly #subscriptions: vscode.Disposable[];
  #byStep: boolean;

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(
    private readonly reviews: ReviewStore,
    private readonly plans: PlanStore,
    private readonly memory: Memory,
  ) {
    this.#byStep = memory.get(BY_STEP) === true;
    this.#view = vscode.window.createTreeView<EditRow>("cairn.edits", { treeDataProvider: this, showCollapseAll: true });
    this.#subscriptions = [
      this.#changed,
      this.#view,
      reviews.onDidChange(() => this.#refresh()),
      plans.onDidChange(() => {
        if (this.#byStep) {
          this.#refresh();
        }
      }),
      vscode.commands.registerCommand("cairn.groupByFile", () => this.#group(false)),
      vscode.commands.registerCommand("cairn.groupByStep", () => this.#group(true)),
    ];
    this.#group(this.#byStep);
  }

  getChildren(row?: EditRow): EditRow[] {
    switch (row?.kind) {
      case undefined:
        return this.#byStep ? this.#steps() : this.#files();
      case "step":
        return row.placed.map((placed) => hunkRow(placed, true));
      case "file":
        return this.reviews.placed(row.uri).map((placed) => hunkRow(placed, false));
      case "hunk":
        return [];
    }
  }

  getTreeItem(row: EditRow): vscode.TreeItem {
    switch (row.kind) {
      case "step":
        return stepItem(row);
      case "file":
        return fileItem(row.file, row.opened);
      case "hunk":
        return hunkItem(row.placed, row);
    }
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  #files(): EditRow[] {
    const { files } = this.reviews;
    const opened = files.length <= MOST_OPENED;
    return files.map((file) => ({ kind: "file", file, uri: file.uri, rev: file.rev, opened }));
  }

  #steps(): EditRow[] {
    const placed = this.reviews.files.flatMap(({ uri }) => this.reviews.placed(uri));
    return byPlanItem(placed, this.plans.sessionId ?? "", this.plans.items).map((group) => ({ kind: "step", ...group }));
  }

  #group(byStep: boolean): void {
    this.#byStep = byStep;
    void this.memory.update(BY_STEP, byStep);
    void vscode.commands.executeCommand("setContext", BY_STEP, byStep);
    this.#refresh();
  }

  #refresh(): void {
    const { pending, files } = this.reviews;
    this.#view.description = pending === 0 ? "" : String(pending);
    this.#view.badge =
      pending === 0 ? undefined : { value: pending, tooltip: `Cairn: ${count(pending, "edit")} in ${count(files.length, "file")} to review` };
    this.#changed.fire(undefined);
  }
}

function hunkRow(placed: PlacedHunk, named: boolean): EditRow {
  const { file, hunk } = placed;
  return { kind: "hunk", placed, uri: file.uri, hunkId: hunk.id, rev: file.rev, named };
}

function stepItem({ item: step, sessionId, placed }: Group): vscode.TreeItem {
  const name = step === undefined ? "Without a step" : label(step.content, 200);
  const item = new vscode.TreeItem(name, vscode.TreeItemCollapsibleState.Expanded);
  const shown = lineCounts(placed.map(({ hunk }) => hunk));
  item.id = step === undefined ? "step" : `step:${sessionId}:${step.id}`;
  item.description = shown;
  item.iconPath = stepIcon(step);
  item.contextValue = "step";
  item.tooltip = `${name}\n${count(placed.length, "edit")}, ${shown}`;
  item.accessibilityInformation = { label: `${name}, ${count(placed.length, "proposed edit")}` };
  return item;
}

function stepIcon(step: PlanItem | undefined): vscode.ThemeIcon {
  switch (step?.status) {
    case undefined:
      return new vscode.ThemeIcon("dash", new vscode.ThemeColor("descriptionForeground"));
    case "completed":
      return new vscode.ThemeIcon("pass-filled", new vscode.ThemeColor("cairn.completedForeground"));
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
  item.accessibilityInformation = { label: `${oneLine(file.path)}, ${count(file.hunks.length, "proposed edit")}` };
  return item;
}

/** Change of the file as a whole, in a word or two. */
function kindOf({ kind, from }: ReviewNotification): string {
  switch (kind) {
    case "created":
      return "new";
    case "deleted":
      return "deleted";
    case "moved":
      return `moved from ${oneLine(from ?? "elsewhere")}`;
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
  const item = new vscode.TreeItem(deleted ? "File deleted" : "File moved", vscode.TreeItemCollapsibleState.None);
  item.id = `hunk:${file.uri}#${hunk.id}`;
  item.description = deleted ? counts(hunk) : oneLine(file.from ?? "");
  item.iconPath = new vscode.ThemeIcon(
    deleted ? "trash" : "arrow-right",
    new vscode.ThemeColor(deleted ? "cairn.removedForeground" : "cairn.pendingForeground"),
  );
  item.contextValue = "hunk";
  item.tooltip = deleted ? "Rejecting this brings the file back." : "Rejecting this moves the file back.";
  item.accessibilityInformation = { label: `${oneLine(file.path)}, ${kindOf(file)}` };
  if (!deleted) {
    item.command = { command: "cairn.revealHunk", title: "Show", arguments: [row] };
  }
  return item;
}

function hunkItem(placed: PlacedHunk, row: HunkRow): vscode.TreeItem {
  return wholeFileItem(placed, row) ?? linesItem(placed, row);
}

function linesItem({ file, hunk, ordinal }: PlacedHunk, row: HunkRow): vscode.TreeItem {
  const text = firstLine(isRemoval(hunk) ? hunk.oldText : hunk.newText);
  const line = hunk.range.start.line + 1;
  const name = row.named ? oneLine(file.path.split("/").at(-1) ?? file.path) : "";
  const item = new vscode.TreeItem(row.named ? `${name}:${line}` : `Line ${line}`, vscode.TreeItemCollapsibleState.None);
  // Hunks are counted in each file.
  item.id = `hunk:${file.uri}#${hunk.id}`;
  const state = hunk.outdated ? ["outdated"] : hunk.mixed ? ["with your changes"] : [];
  item.description = [counts(hunk), ...state, text].join("  ");
  item.iconPath = hunkIcon(hunk);
  item.contextValue = canAccept(hunk) ? "hunk" : "hunk outdated";
  const why = hunk.outdated
    ? `\nIt no longer stands in the text. ${canAccept(hunk) ? "Accepting makes it again, rejecting" : "Its lines are gone, so it cannot be made again. Rejecting"} forgets it.`
    : "";
  item.tooltip = `${oneLine(file.path, 400)}, edit ${ordinal} of ${file.hunks.length}\n${text}${why}`;
  item.accessibilityInformation = {
    label: `${row.named ? `${name}, ` : ""}Edit ${ordinal} of ${file.hunks.length}, line ${line}, ${hunk.outdated ? "outdated, " : ""}${hunk.addedLines} added, ${hunk.removedLines} removed: ${text}`,
  };
  item.command = { command: "cairn.revealHunk", title: "Show", arguments: [row] };
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
  return label(line.trim(), 120) || "empty line";
}
