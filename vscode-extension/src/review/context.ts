import * as vscode from "vscode";

import { contextKeys } from "../status/contextKeys";
import type { Store } from "../stores/store";

/** Context keys for menus and keys: where there are proposed edits. */
export function reviewContext(store: Store): vscode.Disposable {
  const set = contextKeys();
  const update = (): void => {
    const { reviews } = store.state;
    const paths = reviews.files.map(({ uri }) => vscode.Uri.parse(uri).fsPath);
    set("cairn.files", paths);
    set("cairn.hasHunks", paths.length > 0);
    // `resourcePath` says nothing about the files inside a multi-file diff.
    const active = vscode.window.activeTextEditor?.document.uri;
    set("cairn.editorHasHunks", active !== undefined && reviews.get(active.toString()) !== undefined);
  };
  update();
  return vscode.Disposable.from(store.on(["reviews"], update), vscode.window.onDidChangeActiveTextEditor(update));
}
