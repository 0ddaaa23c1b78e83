import * as vscode from "vscode";

import type { ReviewNotification } from "../protocol";
import { type PlacedHunk, type ReviewStore, isOfLines, isRemoval } from "../stores/review";
import { oneLine } from "../text/display";
import { addedLines, isCurrent, plainEditors } from "./editors";

/**
 * Paints proposed edits into the text: added lines green, one removed line struck through at the
 * end of its line. While the user's typing is ahead of the daemon nothing is repainted: the editor
 * moves decorations along with the text, and the next report has the new places. An editor is painted
 * once for each report about its file, and never for anything else.
 */
export class Painter implements vscode.Disposable {
  readonly #added: vscode.TextEditorDecorationType;
  readonly #removed: vscode.TextEditorDecorationType;
  readonly #subscriptions: vscode.Disposable[];
  /** What each editor shows. One that is hidden and comes back is another object. */
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
      reviews.onDidChange(() => this.#paint()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#paint()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#paint()),
    ];
    this.#paint();
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  #paint(): void {
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
