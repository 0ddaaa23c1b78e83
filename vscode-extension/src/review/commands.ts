import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { type DecideResult, type Decision, type Hunk, type Scope, requests } from "../protocol";
import { type PlacedHunk, type ReviewStore, canAccept } from "../stores/review";
import { inert, oneLine } from "../text/display";
import { type Baselines, isComparison } from "./baseline";
import { addedLines } from "./editors";
import type { Group } from "./groups";

/** Argument of a lens, a row or a quick fix. Commands called by key or palette have none. */
interface Target {
  readonly uri: string;
  readonly hunkId?: string;
  readonly rev?: number;
}

/** Scope of a decision, and the revision that the user looked at. */
interface Choice {
  readonly scope: Scope;
  readonly rev?: number;
}

const NO_HUNK = "There is no proposed edit at the cursor. “Cairn: Next Edit” goes to one.";
const CANNOT_APPLY = "The lines that this edit replaces are no longer in the text, so it cannot be made again.";
const NO_FILE = "This file has no proposed edits.";

/** Decisions and moves. Every one names a hunk by id and the revision the user looked at. */
export class ReviewCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable[];

  constructor(
    private readonly agent: Agent,
    private readonly reviews: ReviewStore,
    private readonly baselines: Baselines,
  ) {
    const on = (command: string, run: (...args: unknown[]) => unknown): vscode.Disposable => vscode.commands.registerCommand(command, run);
    this.#subscriptions = [
      on("cairn.acceptHunk", (arg) => this.#decideHunk("accept", arg)),
      on("cairn.rejectHunk", (arg) => this.#decideHunk("reject", arg)),
      on("cairn.rejectHunkWithReason", (arg) => this.#rejectWithReason(this.#hunkOf(arg), NO_HUNK)),
      on("cairn.acceptFile", (arg) => this.#decideFile("accept", arg)),
      on("cairn.rejectFile", (arg) => this.#decideFile("reject", arg)),
      on("cairn.rejectFileWithReason", (arg) => this.#rejectWithReason(this.#fileOf(arg), NO_FILE)),
      on("cairn.acceptAll", () => this.#decideAll("accept")),
      on("cairn.rejectAll", () => this.#decideAll("reject")),
      on("cairn.acceptPlanItem", (arg) => this.#decidePlanItem("accept", arg)),
      on("cairn.rejectPlanItem", (arg) => this.#decidePlanItem("reject", arg)),
      on("cairn.undoDecision", () => this.#undo()),
      on("cairn.nextHunk", () => this.#move("next")),
      on("cairn.previousHunk", () => this.#move("previous")),
      on("cairn.revealHunk", (arg) => this.#revealTarget(arg)),
      on("cairn.openDiff", (arg) => this.#openDiff(arg)),
      on("cairn.reviewAll", () => baselines.openAll()),
    ];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  async #decideHunk(decision: Decision, arg: unknown): Promise<void> {
    const choice = this.#hunkOf(arg);
    if (choice === undefined) {
      say(NO_HUNK);
    } else if (decision === "accept" && !this.#canAccept(choice)) {
      say(CANNOT_APPLY);
    } else {
      await this.#decide(decision, choice);
    }
  }

  /** False only where the daemon said that the edit cannot be made again. */
  #canAccept({ scope }: Choice): boolean {
    const placed = scope.kind === "hunk" ? this.#byId(vscode.Uri.parse(scope.uri), scope.hunkId) : undefined;
    return placed === undefined || canAccept(placed.hunk);
  }

  async #decideFile(decision: Decision, arg: unknown): Promise<void> {
    const choice = this.#fileOf(arg);
    await (choice === undefined ? say(NO_FILE) : this.#decide(decision, choice));
  }

  /** Asks for a reason, then rejects the revision that was shown when the input box opened. */
  async #rejectWithReason(choice: Choice | undefined, otherwise: string): Promise<void> {
    if (choice === undefined) {
      say(otherwise);
      return;
    }
    const feedback = await vscode.window.showInputBox({
      title: "Why is this rejected?",
      placeHolder: "The agent reads it with the rejection",
      prompt: "Leave it empty to reject without a reason",
      ignoreFocusOut: true,
    });
    if (feedback !== undefined) {
      await this.#decide("reject", choice, feedback.trim());
    }
  }

  #hunkOf(arg: unknown): Choice | undefined {
    const target = targetOf(arg);
    if (target?.hunkId !== undefined) {
      return choiceOf({ kind: "hunk", uri: target.uri, hunkId: target.hunkId }, target.rev);
    }
    // A comment zone hands over its thread, which knows its hunk.
    const thread = arg as { contextValue?: string; uri?: vscode.Uri } | undefined;
    const placed = thread?.contextValue === undefined ? this.#atCursor() : this.#byId(thread.uri, thread.contextValue);
    return placed && choiceOfHunk(placed);
  }

  #fileOf(arg: unknown): Choice | undefined {
    const uri = targetOf(arg)?.uri ?? (arg instanceof vscode.Uri ? arg.toString() : activeUri());
    const file = uri === undefined ? undefined : this.reviews.get(uri);
    return file && choiceOf({ kind: "file", uri: file.uri }, file.rev);
  }

  async #decideAll(decision: Decision): Promise<void> {
    if (this.reviews.pending === 0) {
      say("There are no proposed edits.");
      return;
    }
    await this.#decide(decision, choiceOf({ kind: "all" }));
  }

  /** A step of the plan, or a group of edits that belong to none. */
  async #decidePlanItem(decision: Decision, arg: unknown): Promise<void> {
    const { item, sessionId, placed } = (arg ?? {}) as Partial<Group>;
    if (item !== undefined && sessionId !== undefined) {
      await this.#decide(decision, choiceOf({ kind: "planItem", sessionId, planItem: item.id }));
    } else {
      await this.#decide(decision, (placed ?? []).map(choiceOfHunk));
    }
  }

  async #decide(decision: Decision, choice: Choice | readonly Choice[], feedback = ""): Promise<void> {
    const result: DecideResult = { applied: 0, stale: 0, failed: [] };
    try {
      for (const { scope, rev } of [choice].flat()) {
        const { stale, failed } = await this.agent.request(requests.decide, {
          decision,
          scope,
          ...(rev === undefined ? {} : { rev }),
          ...(feedback === "" ? {} : { feedback }),
        });
        result.stale += stale;
        result.failed.push(...failed);
      }
    } catch (error) {
      void vscode.window.showErrorMessage(reasonOf(error));
    }
    if (result.failed.length > 0) {
      void vscode.window.showWarningMessage(inert(`Not decided: ${oneLine(result.failed.join("; "), 400)}`));
    } else if (result.stale > 0) {
      say(`${result.stale === 1 ? "An edit" : `${result.stale} edits`} had changed meanwhile and stayed as they are: look again.`);
    }
  }

  async #undo(): Promise<void> {
    try {
      const { undone, message } = await this.agent.request(requests.undoDecision, {});
      if (!undone) {
        say(message ?? "There is no decision to undo.");
      }
    } catch (error) {
      void vscode.window.showErrorMessage(reasonOf(error));
    }
  }

  async #move(direction: "next" | "previous"): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const placed = this.reviews.neighbour(editor?.document.uri.toString(), editor?.selection.active.line ?? 0, direction);
    if (placed === undefined) {
      say("There are no proposed edits.");
    } else {
      await this.#goTo(placed);
    }
  }

  /** Goes to an edit; in a diff editor, opens the diff of the next file. */
  async #goTo(placed: PlacedHunk): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.toString() === vscode.Uri.parse(placed.file.uri).toString()) {
      show(placed, editor);
    } else if (isComparison(vscode.window.tabGroups.activeTabGroup.activeTab)) {
      await this.baselines.openFile(placed.file.uri, placeOf(placed.hunk));
    } else {
      await reveal(placed, { preserveFocus: false });
    }
  }

  async #revealTarget(arg: unknown): Promise<void> {
    const target = targetOf(arg);
    const placed = target?.hunkId === undefined ? undefined : this.#byId(vscode.Uri.parse(target.uri), target.hunkId);
    if (placed !== undefined) {
      await reveal(placed, { preserveFocus: true });
    }
  }

  async #openDiff(arg: unknown): Promise<void> {
    const target = targetOf(arg);
    const uri = target?.uri ?? (arg instanceof vscode.Uri ? arg.toString() : activeUri());
    const file = uri === undefined ? undefined : this.reviews.get(uri);
    if (file === undefined) {
      say(NO_FILE);
      return;
    }
    const hunk = file.hunks.find(({ id }) => id === target?.hunkId);
    await this.baselines.openFile(file.uri, hunk && placeOf(hunk));
  }

  #atCursor(): PlacedHunk | undefined {
    const editor = vscode.window.activeTextEditor;
    return editor === undefined ? undefined : this.reviews.at(editor.document.uri.toString(), editor.selection.active.line);
  }

  #byId(uri: vscode.Uri | undefined, id: string): PlacedHunk | undefined {
    return uri === undefined ? undefined : this.reviews.placed(uri.toString()).find(({ hunk }) => hunk.id === id);
  }
}

async function reveal(placed: PlacedHunk, { preserveFocus }: { preserveFocus: boolean }): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(placed.file.uri));
  show(placed, await vscode.window.showTextDocument(document, { preserveFocus, preview: true }));
}

function show({ hunk }: PlacedHunk, editor: vscode.TextEditor): void {
  const place = editor.document.validateRange(placeOf(hunk));
  editor.selection = new vscode.Selection(place.start, place.start);
  editor.revealRange(addedLines(hunk) ?? place, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** Its first line, or the one below the place where lines were removed. */
function placeOf({ range: { start } }: Hunk): vscode.Range {
  return new vscode.Range(start.line, 0, start.line, 0);
}

function choiceOf(scope: Scope, rev?: number): Choice {
  return rev === undefined ? { scope } : { scope, rev };
}

function choiceOfHunk({ file, hunk }: PlacedHunk): Choice {
  return choiceOf({ kind: "hunk", uri: file.uri, hunkId: hunk.id }, file.rev);
}

function targetOf(arg: unknown): Target | undefined {
  const target = arg as Partial<Target> | undefined;
  return typeof target?.uri === "string" ? (target as Target) : undefined;
}

function activeUri(): string | undefined {
  return vscode.window.activeTextEditor?.document.uri.toString();
}

function say(text: string): void {
  vscode.window.setStatusBarMessage(inert(`Cairn: ${oneLine(text)}`), 6_000);
}
