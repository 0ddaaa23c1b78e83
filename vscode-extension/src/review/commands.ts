import * as vscode from "vscode";

import { registerRowCommand } from "../commands/rowCommand";
import type { Agent } from "../daemon/agent";
import { type DecideParams, type DecideResult, type Decision, type Hunk, requests } from "../protocol";
import { type PlacedHunk, canAccept } from "../stores/review";
import type { Store } from "../stores/store";
import { plainText, oneLine } from "../text/display";
import { textOf } from "../text/messages";
import { type Baselines, isComparison } from "./baseline";
import type { CurrentEdit } from "./currentEdit";
import { addedLines } from "./editors";
import type { Group } from "./groups";
import { rejectionOf } from "./keepOrDrop";
import { RepeatGuard } from "./repeat";
import { advances, awaitNewEdit, goesBack, reportWithout } from "./report";
import { showFailure } from "../status/offer";

/** Argument of a lens, a row or a quick fix. Commands called by key or palette have none. */
interface Target {
  readonly uri: string;
  readonly hunkId?: string;
  readonly rev?: number;
  /** Reason of a rejection, for the agent. */
  readonly feedback?: string;
  /** The editor that shows it gets the focus. */
  readonly focus?: boolean;
  /** Present for a row of the tree. */
  readonly kind?: string;
  /** Decided by a key: what comes next has been seen. */
  readonly keyed?: boolean;
}

/** Edits to decide, each with the revision that the user looked at. Without one it is decided as it is. */
type Seen = readonly (Pick<PlacedHunk, "hunk"> & { readonly file: Pick<PlacedHunk["file"], "uri"> & { readonly rev?: number } })[];

const NO_HUNK = vscode.l10n.t("There is no proposed edit at the cursor. “Cairn: Next Edit” goes to one.");
const CANNOT_APPLY = vscode.l10n.t("The lines that this edit replaces are no longer in the text, so it cannot be made again.");
const NO_FILE = vscode.l10n.t("This file has no proposed edits.");
const NO_EDITS = vscode.l10n.t("There are no proposed edits.");

/** Requests of a decision while the user types. */
const MOST_TRIES = 5;

/** More edits or files than these in one decision get a message that can undo it. */
const MANY_EDITS = 10;
const MANY_FILES = 2;

/** Decisions and moves. Every one names a hunk by id and the revision the user looked at. */
export class ReviewCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  readonly #clicks = new RepeatGuard();
  /** Decision by the last key. */
  #keys: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly agent: Agent,
    private readonly store: Store,
    private readonly baselines: Baselines,
    private readonly current: CurrentEdit,
  ) {
    const on = (command: string, run: (arg: unknown) => unknown): vscode.Disposable => vscode.commands.registerCommand(command, run);
    const onRow = registerRowCommand;
    this.#subscriptions = vscode.Disposable.from(
      onRow("cairn.acceptHunk", (arg) => this.#decideHunk("accept", arg)),
      onRow("cairn.rejectHunk", (arg) => this.#decideHunk("reject", arg)),
      onRow("cairn.rejectHunkWithReason", (arg) => this.#decideHunk("reject", arg, { asks: true })),
      onRow("cairn.acceptFile", (arg) => this.#decideFile("accept", arg)),
      onRow("cairn.rejectFile", (arg) => this.#decideFile("reject", arg)),
      onRow("cairn.rejectFileWithReason", (arg) => this.#decideFile("reject", arg, true)),
      on("cairn.acceptAll", () => this.#decideAll("accept")),
      on("cairn.rejectAll", () => this.#decideAll("reject")),
      onRow("cairn.acceptPlanItem", (arg) => this.#decidePlanItem("accept", arg)),
      onRow("cairn.rejectPlanItem", (arg) => this.#decidePlanItem("reject", arg)),
      on("cairn.undoDecision", (arg) => this.#undo(goesBack(arg))),
      on("cairn.nextHunk", () => this.#move("next")),
      on("cairn.previousHunk", () => this.#move("previous")),
      on("cairn.revealHunk", (arg) => this.#revealTarget(arg)),
      on("cairn.openDeleted", (arg) => baselines.openDeleted(targetOf(arg)?.uri ?? "")),
      on("cairn.openDiff", (arg) => this.#openDiff(arg)),
      on("cairn.reviewAll", () => baselines.openAll()),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** True if the edit was decided. A key waits for the one before: until then the next file may still be opening. */
  #decideHunk(decision: Decision, arg: unknown, { asks } = { asks: false }): Promise<boolean> {
    const decide = () => this.#decideOne(decision, arg, asks);
    if (targetOf(arg)?.hunkId !== undefined || threadOf(arg) !== undefined) {
      return decide();
    }
    const decided = this.#keys.then(decide);
    this.#keys = decided.catch(() => undefined);
    return decided;
  }

  async #decideOne(decision: Decision, arg: unknown, asks: boolean): Promise<boolean> {
    if (this.#clicks.isRepeat(pointerPlace(decision, arg))) {
      return false;
    }
    const placed = this.#hunkOf(arg);
    if (placed === undefined) {
      say(NO_HUNK);
      return false;
    }
    if (decision === "accept" && !canAccept(placed.hunk)) {
      say(CANNOT_APPLY);
      return false;
    }
    const feedback = asks ? await askReason() : "";
    const isRow = feedback !== undefined && pointerPlace(decision, arg) === `${decision} row`;
    if (isRow && (await vscode.commands.executeCommand<boolean | undefined>("cairn.edits.click", decision, arg)) === false) {
      return false;
    }
    const decided = await this.#decide(decision, [placed], feedback);
    if (decided && pointerPlace(decision, arg) === undefined) {
      void vscode.commands.executeCommand("setContext", "cairn.hasUsedKeys", true);
    }
    // A key moves on to the next edit; a click leaves the text in place under the pointer.
    if (decided && targetOf(arg)?.hunkId === undefined && threadOf(arg) === undefined && advances(arg)) {
      await reportWithout(this.store, placed);
      await this.#advance(placed);
    }
    return decided;
  }

  /** Moves to the edit after the decided one, in the next file if there is none in this one. */
  async #advance({ file, hunk }: PlacedHunk): Promise<void> {
    // The edit below may have moved up to this line.
    const next = this.store.state.reviews.neighbour(file.uri, hunk.range.start.line - 1, "next");
    if (next === undefined) {
      say(vscode.l10n.t("All edits are decided."));
      return;
    }
    if (!isSame(next.file.uri, file.uri)) {
      say(vscode.l10n.t("Next file: {0}", next.file.path));
    }
    await this.#goTo(next);
  }

  /** True if edits were decided. A reason is for the edits that were shown when its box opened. */
  async #decideFile(decision: Decision, arg: unknown, asks = false): Promise<boolean> {
    if (!asks && this.#clicks.isRepeat(pointerPlace(decision, arg))) {
      return false;
    }
    const placed = this.store.state.reviews.placed(uriOf(arg) ?? "");
    if (placed.length === 0) {
      say(NO_FILE);
      return false;
    }
    return this.#decide(decision, placed, asks ? await askReason() : "");
  }

  #hunkOf(arg: unknown): PlacedHunk | undefined {
    const { uri, hunkId, rev } = targetOf(arg) ?? {};
    const thread = threadOf(arg);
    if (uri !== undefined && hunkId !== undefined) {
      const placed = this.#byId(vscode.Uri.parse(uri), hunkId);
      return placed && { ...placed, file: { ...placed.file, rev: rev ?? placed.file.rev } };
    }
    return thread === undefined ? this.current.get() : this.#byId(thread.uri, thread.contextValue);
  }

  async #decideAll(decision: Decision): Promise<void> {
    const { files } = this.store.state.reviews;
    if (files.length === 0) {
      say(NO_EDITS);
      return;
    }
    await this.#decide(
      decision,
      files.flatMap(({ uri, hunks }) => hunks.map((hunk) => ({ hunk, file: { uri } }))),
      "",
    );
  }

  /** A step of the plan, or a group of edits that belong to none. */
  async #decidePlanItem(decision: Decision, arg: unknown): Promise<boolean> {
    if (this.#clicks.isRepeat(pointerPlace(decision, arg))) {
      return false;
    }
    const { item, sessionId = "", placed, feedback = "" } = (arg ?? {}) as Partial<Group & Pick<Target, "feedback">>;
    return this.#decide(decision, placed ?? this.store.state.reviews.ofItem(sessionId, item?.id ?? ""), feedback);
  }

  /** True if edits were decided. */
  async #decide(wanted: Decision, placed: Seen, feedback: string | undefined): Promise<boolean> {
    const decision = wanted === "accept" ? wanted : await rejectionOf(placed.map(({ hunk }) => hunk));
    if (decision === undefined || feedback === undefined || placed.length === 0) {
      return false;
    }
    const hunks = placed.map(({ file: { uri, rev }, hunk }) => ({ uri, hunkId: hunk.id, ...(rev !== undefined && { rev }) }));
    let result: DecideResult;
    try {
      result = await this.#request({ decision, scope: { kind: "hunks", hunks }, ...(feedback !== "" && { feedback }) });
    } catch (error) {
      void showFailure(error);
      return false;
    }
    if (result.failed.length > 0) {
      const lines = oneLine(result.failed.map(textOf).join("; "), 400);
      void vscode.window.showWarningMessage(plainText(vscode.l10n.t("Some edits were not decided: {0}", lines)));
    } else if (result.stale > 0) {
      say(
        result.stale === 1
          ? vscode.l10n.t("The edit has changed meanwhile and was not decided: look again.")
          : vscode.l10n.t("{0} edits have changed meanwhile and were not decided: look again.", result.stale),
      );
    }
    if (result.applied > 0) {
      void vscode.commands.executeCommand("setContext", "cairn.hasDecided", true);
    }
    this.#offerUndo(decision, result.applied, new Set(hunks.map(({ uri }) => uri)).size);
    return result.applied > 0;
  }

  /**
   * Requests a decision, and again if the text changed at that moment: the editor refuses an edit of a text
   * in which the user has typed since. The daemon leaves alone what is no longer as the user saw it (`rev`).
   */
  async #request(params: DecideParams): Promise<DecideResult> {
    let applied = 0;
    for (let tries = 1; ; tries++) {
      const result = await this.agent.request(requests.decide, params);
      // An edit that an earlier request decided is stale for this one.
      const stale = Math.max(0, result.stale - applied);
      applied += result.applied;
      if (stale === 0 || result.failed.length > 0 || tries === MOST_TRIES) {
        return { ...result, applied, stale };
      }
    }
  }

  /** Reports the result of a decision about many edits, with Undo. */
  #offerUndo(decision: Decision, applied: number, files: number): void {
    const dropped = decision === "drop" && applied > 0;
    if (applied <= MANY_EDITS && files <= MANY_FILES && !dropped) {
      return;
    }
    const undo = vscode.l10n.t("Undo");
    const message = dropped
      ? vscode.l10n.t("Rejected, with what you typed in it.")
      : decision === "accept"
        ? vscode.l10n.t("{0} edits accepted.", applied)
        : vscode.l10n.t("{0} edits rejected.", applied);
    // Nothing waits for the answer.
    void vscode.window.showInformationMessage(message, undo).then((answer) => (answer === undo ? this.#undo(false) : undefined));
  }

  /** Takes the last decision back. `goes`: to the edit that is pending again. */
  async #undo(goes: boolean): Promise<void> {
    const restored = awaitNewEdit(this.store);
    try {
      const { undone, problem } = await this.agent.request(requests.undoDecision, {});
      if (!undone) {
        say(problem === undefined ? "" : textOf(problem));
        return;
      }
    } catch (error) {
      void showFailure(error);
      return;
    }
    const placed = goes ? await restored() : undefined;
    if (placed !== undefined) {
      await this.#revealTarget({ uri: placed.file.uri, hunkId: placed.hunk.id, focus: true });
    }
  }

  async #move(direction: "next" | "previous"): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const placed = this.store.state.reviews.neighbour(editor?.document.uri.toString(), editor?.selection.active.line ?? 0, direction);
    if (placed === undefined) {
      say(NO_EDITS);
    } else {
      await this.#goTo(placed);
    }
  }

  /** Goes to an edit; in a diff editor, opens the diff of the next file. */
  async #goTo(placed: PlacedHunk): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.toString() === vscode.Uri.parse(placed.file.uri).toString()) {
      this.#show(placed, editor);
      // From a view as well as from the editor itself.
      await vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
    } else if (isComparison(vscode.window.tabGroups.activeTabGroup.activeTab)) {
      await this.baselines.openFile(placed.file.uri, placeOf(placed.hunk));
    } else {
      await this.#reveal(placed, { preserveFocus: false });
    }
  }

  async #reveal(placed: PlacedHunk, { preserveFocus }: { preserveFocus: boolean }): Promise<void> {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(placed.file.uri));
    this.#show(placed, await vscode.window.showTextDocument(document, { preserveFocus, preview: true }));
  }

  #show(placed: PlacedHunk, editor: vscode.TextEditor): void {
    const { hunk } = placed;
    const place = editor.document.validateRange(placeOf(hunk));
    // At the first changed word, where the hover says what was removed.
    const word = hunk.inline?.[0]?.range.start;
    const at = word === undefined ? place.start : editor.document.validatePosition(new vscode.Position(word.line, word.character));
    this.current.goneTo(placed, at);
    editor.selection = new vscode.Selection(at, at);
    // A range within a line is also scrolled to sideways.
    const shown = word === undefined ? (addedLines(hunk) ?? place) : new vscode.Range(at, at);
    editor.revealRange(shown, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  async #revealTarget(arg: unknown): Promise<void> {
    const target = targetOf(arg);
    const placed = target?.hunkId === undefined ? undefined : this.#byId(vscode.Uri.parse(target.uri), target.hunkId);
    if (placed !== undefined) {
      await this.#reveal(placed, { preserveFocus: target?.focus !== true });
    }
  }

  async #openDiff(arg: unknown): Promise<void> {
    const file = this.store.state.reviews.get(uriOf(arg) ?? "");
    if (file === undefined) {
      say(NO_FILE);
      return;
    }
    if (file.kind === "deleted") {
      await this.baselines.openDeleted(file.uri);
      return;
    }
    const hunk = file.hunks.find(({ id }) => id === targetOf(arg)?.hunkId);
    await this.baselines.openFile(file.uri, hunk && placeOf(hunk));
  }

  #byId(uri: vscode.Uri | undefined, id: string): PlacedHunk | undefined {
    return uri === undefined ? undefined : this.store.state.reviews.placed(uri.toString()).find(({ hunk }) => hunk.id === id);
  }
}

/** Its first line, or the one below the place where lines were removed. */
function placeOf({ range: { start } }: Hunk): vscode.Range {
  return new vscode.Range(start.line, 0, start.line, 0);
}

/** The user's reason, which may be empty; `undefined` if they go back. */
async function askReason(): Promise<string | undefined> {
  const reason = await vscode.window.showInputBox({
    title: vscode.l10n.t("Why is this rejected?"),
    placeHolder: vscode.l10n.t("The agent reads it with the rejection"),
    prompt: vscode.l10n.t("Leave it empty to reject without a reason"),
    ignoreFocusOut: true,
  });
  return reason?.trim();
}

/** A comment zone hands over its thread, which knows its hunk. */
function threadOf(arg: unknown): { readonly contextValue: string; readonly uri: vscode.Uri } | undefined {
  const thread = arg as { contextValue?: string; uri?: vscode.Uri } | undefined;
  return thread?.contextValue === undefined || thread.uri === undefined ? undefined : { contextValue: thread.contextValue, uri: thread.uri };
}

/**
 * Place of the pointer that decided: the buttons of one decision in rows, zones or lenses, which stand
 * below each other; `undefined` for a key.
 *
 * The arguments tell them apart, as measured in VS Code 1.139: a button of a row and its context menu pass the
 * row and `undefined`, a key of the list passes the row that the view has marked, and a key of an
 * editor or the palette passes nothing.
 */
function pointerPlace(decision: Decision, arg: unknown): string | undefined {
  const { kind, keyed } = (arg ?? {}) as Partial<Target>;
  if (threadOf(arg) !== undefined) {
    return `${decision} zone`;
  }
  if (keyed === true) {
    return undefined;
  }
  return typeof kind === "string" ? `${decision} row` : targetOf(arg) === undefined ? undefined : `${decision} lens`;
}

/** Two spellings of one URI are the same. */
function isSame(one: string, other: string): boolean {
  return vscode.Uri.parse(one).toString() === vscode.Uri.parse(other).toString();
}

function targetOf(arg: unknown): Target | undefined {
  const target = arg as Partial<Target> | undefined;
  return typeof target?.uri === "string" ? (target as Target) : undefined;
}

/** The file of a row, of the Explorer, or in the active editor. */
function uriOf(arg: unknown): string | undefined {
  return targetOf(arg)?.uri ?? (arg instanceof vscode.Uri ? arg : vscode.window.activeTextEditor?.document.uri)?.toString();
}

function say(text: string): void {
  vscode.window.setStatusBarMessage(plainText(vscode.l10n.t("Cairn: {0}", oneLine(text))), 6_000);
}
