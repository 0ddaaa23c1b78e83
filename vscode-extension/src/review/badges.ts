import * as vscode from "vscode";

import type { ReviewStore } from "../stores/review";
import { proposedEdits } from "../text/counts";
import { movedFrom } from "../text/review";

/** Marks files with proposed edits in tabs, in the explorer and in our own tree. */
export class FileBadges implements vscode.FileDecorationProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri | vscode.Uri[] | undefined>();
  readonly #subscriptions: vscode.Disposable;

  readonly onDidChangeFileDecorations = this.#changed.event;

  constructor(private readonly reviews: ReviewStore) {
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      reviews.onDidChange((uris) => this.#changed.fire(uris?.map((uri) => vscode.Uri.parse(uri)))),
      vscode.window.registerFileDecorationProvider(this),
    );
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const file = uri.scheme === "file" ? this.reviews.get(uri.toString()) : undefined;
    if (file === undefined) {
      return undefined;
    }
    const count = file.hunks.length;
    const edits = proposedEdits(count);
    const badge = file.kind === "deleted" ? "D" : count > 9 ? "9+" : String(count);
    const tooltip = file.kind === "moved" ? `${edits}, ${movedFrom(file)}` : edits;
    return new vscode.FileDecoration(badge, tooltip, new vscode.ThemeColor("cairn.pendingForeground"));
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }
}
