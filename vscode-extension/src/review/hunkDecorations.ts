import * as vscode from "vscode";

import type { ReviewNotification } from "../protocol";
import { type PlacedHunk, type ReviewStore, isOfLines, isRemoval } from "../stores/review";
import { oneLine } from "../text/display";
import { addedLines, isCurrent, plainEditors } from "./editors";

/**
 * Decorations of proposed edits in the text: added lines have a green background, and one removed
 * line is struck through at the end of its line.
 *
 * Decorations are set once for each report about a file. While the document is newer than the
 * report they are left alone: the editor moves them with the text, and the next report has new ranges.
 */
export class HunkDecorations implements vscode.Disposable {
  readonly #added: vscode.TextEditorDecorationType;
  readonly #removed: vscode.TextEditorDecorationType;
  readonly #subscriptions: vscode.Disposable[];
  /** Report that each editor shows. An editor that is hidden and shown again is a new object. */
  readonly #shown = new WeakMap<vscode.TextEditor, ReviewNotification>();

  constructor(
    private readonly reviews: ReviewStore,
    extension: vscode.Uri,
  ) {
    const gutter = (theme: string): vscode.Uri => vscode.Uri.joinPath(extension, "media", `gutter-${theme}.svg`);
    this.#added = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor("cairn.addedLineBackground"),
      overviewRulerColor: new vscode.ThemeColor("cairn.overviewRulerForeground"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      gutterIconSize: "contain",
      light: { gutterIconPath: gutter("light") },
      dark: { gutterIconPath: gutter("dark") },
    });
    this.#removed = vscode.window.createTextEditorDecorationType({
      overviewRulerColor: new vscode.ThemeColor("cairn.overviewRulerRemovedForeground"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
    this.#subscriptions = [
      this.#added,
      this.#removed,
      reviews.onDidChange(() => this.#update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#update()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#update()),
    ];
    this.#update();
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  #update(): void {
    for (const editor of plainEditors()) {
      const { document } = editor;
      const file = this.reviews.get(document.uri.toString());
      const shown = this.#shown.get(editor);
      if (file === shown || (file !== undefined && !isCurrent(file, document))) {
        continue;
      }
      const placed = this.reviews.placed(document.uri.toString());
      editor.setDecorations(
        this.#added,
        placed.flatMap(({ hunk }) => addedLines(hunk) ?? []),
      );
      editor.setDecorations(
        this.#removed,
        placed.flatMap((hunk) => struckThrough(hunk, document)),
      );
      if (file === undefined) {
        this.#shown.delete(editor);
      } else {
        this.#shown.set(editor, file);
      }
    }
  }
}

/** Columns of old and new text that most windows show without scrolling. */
const WIDTH = 92;

/** One removed line is shown at the end of the line that took its place, or of the one before. */
export function fitsOnLine({ hunk }: PlacedHunk): boolean {
  return (
    !hunk.outdated &&
    isOfLines(hunk) &&
    hunk.removedLines === 1 &&
    hunk.addedLines <= 1 &&
    hunk.newText.length + hunk.oldText.length <= WIDTH &&
    (!isRemoval(hunk) || hunk.range.start.line > 0)
  );
}

function struckThrough(placed: PlacedHunk, document: vscode.TextDocument): vscode.DecorationOptions[] {
  if (!fitsOnLine(placed)) {
    return [];
  }
  const { hunk } = placed;
  const line = Math.min(isRemoval(hunk) ? hunk.range.start.line - 1 : hunk.range.start.line, document.lineCount - 1);
  const { end } = document.lineAt(line).range;
  return [
    {
      range: new vscode.Range(end, end),
      renderOptions: {
        after: {
          contentText: oneLine(hunk.oldText, 160) || "empty line",
          color: new vscode.ThemeColor("cairn.removedTextForeground"),
          backgroundColor: new vscode.ThemeColor("cairn.removedTextBackground"),
          textDecoration: "line-through",
          margin: "0 0 0 3ch",
        },
      },
    },
  ];
}
