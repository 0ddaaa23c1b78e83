import * as vscode from "vscode";

import type { EditPort } from "../edits/applyEdit";

/** Time after a key during which the user is taken to type, in milliseconds. */
const TYPING_MS = 1_500;

/**
 * Keeps the text in the active editor where it is when an edit of Cairn changes the number of lines above
 * it. VS Code keeps the offset instead: measured, the text moved by 19 pixels for each line.
 *
 * Limits: a wrapped line is one line, and the zone of removed lines, which VS Code inserts later, still
 * moves the text by its height: measured, 38 pixels.
 */
export class ScrollAnchor implements vscode.Disposable {
  readonly #subscription: vscode.Disposable;
  #typed: { readonly document: vscode.TextDocument; readonly at: number } | undefined;

  constructor(private readonly edits: Pick<EditPort, "isApplying">) {
    this.#subscription = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (contentChanges.length === 0) {
        return;
      }
      if (!this.edits.isApplying(document.uri)) {
        this.#typed = { document, at: Date.now() };
      } else if (this.#typed?.document !== document || Date.now() - this.#typed.at >= TYPING_MS) {
        keep(document, contentChanges);
      }
    });
  }

  dispose(): void {
    this.#subscription.dispose();
  }
}

function keep(document: vscode.TextDocument, changes: readonly vscode.TextDocumentContentChangeEvent[]): void {
  const editor = vscode.window.activeTextEditor;
  // The event comes before the editor reports its new lines.
  const first = editor?.document === document ? (editor.visibleRanges[0]?.start.line ?? 0) : 0;
  const added = linesAddedAbove(first, changes);
  if (added !== 0) {
    // Exact, unlike a line revealed at the top: lines that stick there would have to be counted.
    const scroll = { to: added > 0 ? "down" : "up", by: "wrappedLine", value: Math.abs(added), revealCursor: false };
    void vscode.commands.executeCommand("editorScroll", scroll);
  }
}

/** Lines that changes above a line add, less those that they remove. */
export function linesAddedAbove(line: number, changes: readonly { readonly range: vscode.Range; readonly text: string }[]): number {
  return changes
    .filter(({ range: { end } }) => line > 0 && (end.line < line || (end.line === line && end.character === 0)))
    .reduce((sum, { range: { start, end }, text }) => sum + text.split(/\r\n|\r|\n/u).length - 1 - (end.line - start.line), 0);
}
