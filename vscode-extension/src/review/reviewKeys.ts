import * as vscode from "vscode";

import type { EditPort } from "../edits/applyEdit";
import { contextKeys } from "../status/contextKeys";
import type { PlacedHunk } from "../stores/review";
import type { Store } from "../stores/store";
import type { CurrentEdit } from "./currentEdit";
import { TypedAfterReview } from "./typedAfterReview";
import { reportWithout } from "./report";

/** Effect of a key of the review mode. */
type Key = "accept" | "reject" | "reason" | "acceptFile" | "rejectFile" | "next" | "previous" | "undo";

/** Letter of each key, for one that was pressed when the mode had just ended. */
const LETTERS: Readonly<Record<Key, string>> = {
  accept: "y",
  reject: "n",
  reason: "r",
  acceptFile: "Y",
  rejectFile: "N",
  next: "j",
  previous: "k",
  undo: "u",
};

/** Longest text that one key press inserts: a character with its closing bracket, or a line with its indentation. */
const LONGEST_KEY = 80;

/**
 * The review mode: single letters decide the edit at the cursor and move to the next. Esc ends it, and
 * so does typing, which goes into the text as ever.
 */
export class ReviewKeys implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("cairn.status.reviewing", vscode.StatusBarAlignment.Left, 11);
  readonly #set = contextKeys();
  readonly #subscriptions: vscode.Disposable;
  #on = false;
  /** The mode ended by typing: what is typed next goes into the text as well. */
  #typing = false;
  readonly #late = new TypedAfterReview();
  /** Keys take effect one after the other, however quickly they are pressed. */
  #keys: Promise<unknown> = Promise.resolve();
  /** Keys that were pressed and have not taken effect. */
  #waiting = 0;

  constructor(
    private readonly store: Store,
    private readonly edits: Pick<EditPort, "isApplying">,
    private readonly current: CurrentEdit,
  ) {
    this.#item.name = vscode.l10n.t("Cairn: Review");
    this.#item.command = "cairn.review.stop";
    this.#item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
    this.#subscriptions = vscode.Disposable.from(
      this.#item,
      vscode.commands.registerCommand("cairn.review.start", () => this.#start()),
      vscode.commands.registerCommand("cairn.review.stop", () => this.#stop()),
      vscode.commands.registerCommand("cairn.review.key", (key: Key) => this.#press(key)),
      store.on(["reviews"], () => this.#update()),
      vscode.window.onDidChangeTextEditorSelection(() => this.#update()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#update()),
      vscode.workspace.onDidChangeTextDocument((change) => {
        this.#late.follow(change.document, change.contentChanges);
        if (this.#on && this.#isTyped(change)) {
          this.#stop();
          this.#typing = true;
        }
      }),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  async #start(): Promise<void> {
    if (this.store.state.reviews.pending === 0) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: There are no edits to review."), 6_000);
      return;
    }
    this.#on = true;
    this.#typing = false;
    this.#set("cairn.reviewing", true);
    const here = this.current.get();
    await (here === undefined ? vscode.commands.executeCommand("cairn.nextHunk") : reveal(here));
    this.#update();
  }

  #stop(): void {
    this.#on = false;
    this.#set("cairn.reviewing", false);
    this.#item.hide();
  }

  #press(key: Key): Promise<unknown> {
    if (!this.#on) {
      // VS Code did not know yet that typing had ended the mode: the key is a letter of the text.
      return this.#typing ? this.#late.insert(LETTERS[key]) : Promise.resolve();
    }
    const queued = this.#waiting > 0;
    this.#waiting += 1;
    // A key that has not taken effect when the mode ends has none: one decides only what is in sight.
    const pressed = this.#keys.then(() => (this.#on ? this.#run(key, queued) : undefined));
    this.#keys = pressed.then(
      () => (this.#waiting -= 1),
      () => (this.#waiting -= 1),
    );
    return pressed;
  }

  /** `queued`: the key was pressed before an earlier one had taken effect. */
  async #run(key: Key, queued: boolean): Promise<void> {
    const run = (command: string, ...args: unknown[]): Thenable<unknown> => vscode.commands.executeCommand(command, ...args);
    const moves = key === "next" || key === "previous";
    if (key !== "undo" && !moves && this.current.get() === undefined) {
      await run("cairn.nextHunk");
      // Nothing is decided that is not in sight, unless the key was meant for an edit to come.
      if (!queued || this.current.get() === undefined) {
        return;
      }
    }
    if (key === "undo") {
      await run("cairn.undoDecision", { goesBack: true });
    } else if (key === "next") {
      await run("cairn.nextHunk");
    } else if (key === "previous") {
      await run("cairn.previousHunk");
    } else if (key === "acceptFile" || key === "rejectFile") {
      const placed = this.current.get();
      if (placed !== undefined && (await run(`cairn.${key}`)) === true) {
        await reportWithout(this.store, placed);
        if (this.store.state.reviews.pending > 0) {
          await run("cairn.nextHunk");
        }
      }
    } else {
      await run({ accept: "cairn.acceptHunk", reject: "cairn.rejectHunk", reason: "cairn.rejectHunkWithReason" }[key], { advance: true });
    }
  }

  /** True for what a key press inserted into the text in front; an undo is none, nor an edit of ours. */
  #isTyped({ document, contentChanges, reason }: vscode.TextDocumentChangeEvent): boolean {
    const editor = vscode.window.activeTextEditor;
    return (
      reason === undefined &&
      document === editor?.document &&
      !this.edits.isApplying(document.uri) &&
      contentChanges.some(
        ({ range, text }) =>
          text.length > 0 &&
          text.length <= LONGEST_KEY &&
          editor.selections.some(
            (selection) => selection.intersection(range) !== undefined || Math.abs(selection.active.line - range.start.line) <= 1,
          ),
      )
    );
  }

  #all(): PlacedHunk[] {
    return this.store.state.reviews.files.flatMap(({ uri }) => this.store.state.reviews.placed(uri));
  }

  #update(): void {
    if (!this.#on) {
      return;
    }
    const { pending } = this.store.state.reviews;
    if (pending === 0) {
      this.#stop();
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: All edits are decided."), 6_000);
      return;
    }
    const here = this.current.get();
    const place = here === undefined ? 0 : this.#all().findIndex(({ file, hunk }) => file === here.file && hunk.id === here.hunk.id) + 1;
    const where = place === 0 ? String(pending) : `${place}/${pending}`;
    this.#item.text = `$(checklist) ${vscode.l10n.t("REVIEW {0} · Y accept · N reject · R reason · J/K move · U undo · Esc", where)}`;
    this.#item.tooltip = vscode.l10n.t("Shift+Y and Shift+N decide all edits of the file.\nEsc ends the review, and so does typing.");
    const label = vscode.l10n.t(
      "Cairn, review of {0} edits. Y accepts, N rejects, R rejects with a reason, J and K move, U undoes, Escape ends it.",
      pending,
    );
    this.#item.accessibilityInformation = { label };
    this.#item.show();
  }
}

function reveal({ file, hunk }: PlacedHunk): Thenable<unknown> {
  return vscode.commands.executeCommand("cairn.revealHunk", { uri: file.uri, hunkId: hunk.id, focus: true });
}
