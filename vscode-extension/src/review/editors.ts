import * as vscode from "vscode";

import type { Hunk, ReviewNotification } from "../protocol";

/** Visible editors that show a file alone. The sides of a diff show the edits in their own way. */
export function plainEditors(): vscode.TextEditor[] {
  return vscode.window.visibleTextEditors.filter((editor) => {
    const { uri } = editor.document;
    return (
      uri.scheme === "file" &&
      vscode.window.tabGroups.all.some(
        ({ viewColumn, activeTab }) =>
          viewColumn === editor.viewColumn && activeTab?.input instanceof vscode.TabInputText && activeTab.input.uri.toString() === uri.toString(),
      )
    );
  });
}

/** True if the ranges belong to the current text of the document. */
export function isCurrent(file: ReviewNotification, document: vscode.TextDocument): boolean {
  return file.version === undefined || file.version === document.version;
}

/** The lines of the hunk that are in the text; `undefined` where text was only removed. */
export function addedLines({ range: { start, end } }: Hunk): vscode.Range | undefined {
  if (start.line === end.line && start.character === end.character) {
    return undefined;
  }
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return new vscode.Range(start.line, 0, last, 0);
}
