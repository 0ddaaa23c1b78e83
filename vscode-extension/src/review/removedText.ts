import * as vscode from "vscode";

import { type PlacedHunk, isOfLines, isRemoval } from "../stores/review";
import { visible } from "../text/display";
import { fenced } from "../text/fence";

/** Values of the setting `cairn.review.removedText`. */
type RemovedText = "inline" | "zone" | "hover";

/**
 * Place of the text that an edit removes: struck through before its words or at the end of its line,
 * in a zone above it, or only in the hover.
 */
type Place = "words" | "line" | "zone" | "hover" | "none";

/** Columns of old and new text that most windows show without scrolling. */
const WIDTH = 92;

export function removedTextSetting(): RemovedText {
  return vscode.workspace.getConfiguration("cairn").get<RemovedText>("review.removedText", "inline");
}

export function onDidChangeRemovedText(listener: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration("cairn.review.removedText")) {
      listener();
    }
  });
}

export function placeOfRemoved(placed: PlacedHunk, setting = removedTextSetting()): Place {
  const { hunk } = placed;
  if (!isOfLines(hunk)) {
    return "none";
  }
  // None of it is in the text: a zone is the one way to see it.
  if (hunk.outdated) {
    return "zone";
  }
  if (hunk.removedLines === 0) {
    return "none";
  }
  if (setting !== "inline") {
    // Where no line is left there is nothing to hover over.
    return setting === "hover" && !isRemoval(hunk) ? "hover" : "zone";
  }
  if (hunk.inline !== undefined) {
    return "words";
  }
  return fitsOnLine(placed) ? "line" : "zone";
}

/** One removed line is shown at the end of the line that took its place, or of the one before. */
function fitsOnLine({ hunk }: PlacedHunk): boolean {
  return (
    hunk.removedLines === 1 &&
    hunk.addedLines <= 1 &&
    hunk.newText.length + hunk.oldText.length <= WIDTH &&
    (!isRemoval(hunk) || hunk.range.start.line > 0)
  );
}

/** Removed words for a decoration: blanks keep their width, and nothing in them is hidden. */
export function struckWords(removed: string): string {
  return visible(`${removed}|`).slice(0, -1).replace(/\t/gu, "\u00a0\u00a0").replace(/ /gu, "\u00a0");
}

/** A text as a code block, below a heading if it has one. */
export function codeBlock(text: string, language: string, heading = ""): vscode.MarkdownString {
  const block = fenced(text, language, (lines) => vscode.l10n.t("… {0} more lines", lines));
  return new vscode.MarkdownString(heading === "" ? block : `${heading}\n\n${block}`);
}
