import * as vscode from "vscode";

import type { PlacedHunk } from "../stores/review";
import type { Store } from "../stores/store";

/** Most own moves of the cursor whose events have not come: on a busy machine, more than a screenful. */
const MAX_MOVES = 1_000;

/**
 * The edit that a key decides: the target of the last command, until the user moves the cursor or
 * changes the editor; otherwise the edit at the cursor.
 *
 * The cursor alone would not do: VS Code reports it late, after a decision still at its old line.
 */
export class CurrentEdit implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  #reached: { readonly uri: string; readonly hunkId: string } | undefined;
  /** Positions to which commands moved the cursor, whose events have not come. */
  #moves: vscode.Position[] = [];

  constructor(private readonly store: Store) {
    this.#subscriptions = vscode.Disposable.from(
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections, kind }) => {
        // A change of the text moves the cursor without a kind.
        if (textEditor === vscode.window.activeTextEditor && kind !== undefined && !this.#isOwnMove(kind, selections[0]?.active)) {
          this.#reached = undefined;
        }
      }),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** Remembers an edit that a command went to, and the position of the cursor there. */
  goneTo({ file, hunk }: PlacedHunk, at: vscode.Position): void {
    this.#reached = { uri: file.uri, hunkId: hunk.id };
    this.#moves.push(at);
    this.#moves.splice(0, this.#moves.length - MAX_MOVES);
  }

  get(): PlacedHunk | undefined {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      return undefined;
    }
    const uri = editor.document.uri.toString();
    const reached = this.store.state.reviews
      .placed(uri)
      .find(({ file, hunk }) => file.uri === this.#reached?.uri && hunk.id === this.#reached.hunkId);
    return reached ?? this.store.state.reviews.at(uri, editor.selection.active.line);
  }

  #isOwnMove(kind: vscode.TextEditorSelectionChangeKind, to: vscode.Position | undefined): boolean {
    if (kind !== vscode.TextEditorSelectionChangeKind.Command) {
      return false;
    }
    const index = this.#moves.findIndex((move) => to?.isEqual(move));
    // VS Code may report several moves at once, by the last.
    this.#moves = this.#moves.slice(index + 1);
    return index >= 0;
  }
}
