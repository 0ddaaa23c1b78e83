import * as vscode from "vscode";

import type { ReviewNotification } from "../protocol";
import { type PlacedHunk, isNewFile, isRemoval } from "../stores/review";
import type { Store } from "../stores/store";
import { oneLine, visible } from "../text/display";
import { SCHEME, liveUri } from "./baseline";
import { addedLines, isCurrent, plainEditors } from "./editors";
import { codeBlock, onDidChangeRemovedText, placeOfRemoved, struckWords } from "./removedText";

/**
 * Decorations of proposed edits in the text: added lines have a green background, added words a
 * stronger one. Removed words are struck through before them, and one removed line at the end of its
 * line. Neither adds a line. The hover has the removed text too, for screen readers.
 *
 * Decorations are set once for each report about a file. While the document is newer than the
 * report they are left alone: the editor moves them with the text, and the next report has new ranges.
 */
export class HunkDecorations implements vscode.Disposable {
  readonly #added: vscode.TextEditorDecorationType;
  readonly #made: vscode.TextEditorDecorationType;
  readonly #words: vscode.TextEditorDecorationType;
  readonly #removed: vscode.TextEditorDecorationType;
  readonly #deleted: vscode.TextEditorDecorationType;
  readonly #subscriptions: vscode.Disposable;
  /** Report that each editor shows. An editor that is hidden and shown again is a new object. */
  #shown = new WeakMap<vscode.TextEditor, ReviewNotification>();

  constructor(
    private readonly store: Store,
    extension: vscode.Uri,
  ) {
    const gutter = (theme: string): vscode.Uri => vscode.Uri.joinPath(extension, "media", `gutter-${theme}.svg`);
    const marks = { gutterIconSize: "contain", light: { gutterIconPath: gutter("light") }, dark: { gutterIconPath: gutter("dark") } };
    this.#added = vscode.window.createTextEditorDecorationType({
      ...marks,
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor("cairn.addedLineBackground"),
      overviewRulerColor: new vscode.ThemeColor("cairn.overviewRulerForeground"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    });
    // Where every line is new, colour says nothing.
    this.#made = vscode.window.createTextEditorDecorationType(marks);
    this.#words = vscode.window.createTextEditorDecorationType({
      backgroundColor: new vscode.ThemeColor("cairn.addedWordBackground"),
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
    this.#removed = vscode.window.createTextEditorDecorationType({
      overviewRulerColor: new vscode.ThemeColor("cairn.overviewRulerRemovedForeground"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    });
    this.#deleted = vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor("cairn.removedLineBackground"),
    });
    this.#subscriptions = vscode.Disposable.from(
      this.#deleted,
      this.#added,
      this.#made,
      this.#words,
      this.#removed,
      store.on(["reviews"], () => this.#update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#update()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#update()),
      onDidChangeRemovedText(() => {
        this.#shown = new WeakMap();
        this.#update();
      }),
    );
    this.#update();
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** The text of a deleted file is red from top to bottom, until that is decided. */
  #updateDeleted(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { uri, lineCount } = editor.document;
      if (uri.scheme === SCHEME) {
        const isDeleted = this.store.state.reviews.get(liveUri(uri).toString())?.kind === "deleted";
        editor.setDecorations(this.#deleted, isDeleted ? [new vscode.Range(0, 0, Math.max(0, lineCount - 1), 0)] : []);
      }
    }
  }

  #update(): void {
    this.#updateDeleted();
    for (const editor of plainEditors()) {
      const { document } = editor;
      const file = this.store.state.reviews.get(document.uri.toString());
      const shown = this.#shown.get(editor);
      if (file === shown || (file !== undefined && !isCurrent(file, document))) {
        continue;
      }
      const placed = this.store.state.reviews.placed(document.uri.toString());
      const lines = placed.flatMap((hunk) => added(hunk, document));
      const isNew = file !== undefined && isNewFile(file);
      editor.setDecorations(this.#added, isNew ? [] : lines);
      editor.setDecorations(this.#made, isNew ? lines : []);
      editor.setDecorations(
        this.#words,
        placed.flatMap((hunk) => changedWords(hunk)),
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

/** A column beyond the end of every line. */
const LINE_END = 1_000_000;

const STRUCK = {
  color: new vscode.ThemeColor("cairn.removedTextForeground"),
  backgroundColor: new vscode.ThemeColor("cairn.removedTextBackground"),
  textDecoration: "line-through",
};

/** The lines of an edit. The hover shows what they replace, unless a zone does. */
function added(placed: PlacedHunk, { languageId }: vscode.TextDocument): vscode.DecorationOptions[] {
  const { hunk } = placed;
  const range = addedLines(hunk);
  if (range === undefined) {
    return [];
  }
  const place = placeOfRemoved(placed);
  const isHovered = place === "hover" || place === "line";
  return [
    isHovered
      ? {
          range: new vscode.Range(range.start.line, 0, range.end.line, LINE_END),
          hoverMessage: codeBlock(hunk.oldText, languageId, vscode.l10n.t("Removed")),
        }
      : { range },
  ];
}

/** Added words, with the removed ones before them. */
function changedWords(placed: PlacedHunk): vscode.DecorationOptions[] {
  if (placeOfRemoved(placed) !== "words") {
    return [];
  }
  return (placed.hunk.inline ?? []).map(({ range: { start, end }, removed: text }) => {
    const range = new vscode.Range(start.line, start.character, end.line, end.character);
    return text === ""
      ? { range }
      : {
          range,
          hoverMessage: vscode.l10n.t("Removed: {0}", inlineCode(text)),
          renderOptions: { before: { contentText: struckWords(text), ...STRUCK, margin: "0" } },
        };
  });
}

/** A text as code within a line of Markdown, whatever it holds. */
function inlineCode(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence} ${visible(text)} ${fence}`;
}

function struckThrough(placed: PlacedHunk, document: vscode.TextDocument): vscode.DecorationOptions[] {
  if (placeOfRemoved(placed) !== "line") {
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
          contentText: oneLine(hunk.oldText, 160) || vscode.l10n.t("empty line"),
          ...STRUCK,
          margin: "0 0 0 3ch",
        },
      },
    },
  ];
}
