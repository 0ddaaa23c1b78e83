import * as vscode from "vscode";

import type { Store } from "../stores/store";
import { proposedEdits } from "../text/counts";
import { movedFrom } from "../text/review";
import { onDidOpenRepository } from "./gitRepositories";

/**
 * Marks files with proposed edits in tabs, in the explorer and in our own tree.
 *
 * If several extensions have a colour for a file, VS Code takes that of the last one registered. Git registers
 * when it opens a repository. So this one registers with the first edit, and again after a repository was opened.
 */
export class FileBadges implements vscode.FileDecorationProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri | vscode.Uri[] | undefined>();
  readonly #subscriptions: vscode.Disposable;
  #registration: vscode.Disposable | undefined;

  readonly onDidChangeFileDecorations = this.#changed.event;

  constructor(private readonly store: Store) {
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      store.on(["reviews"], ({ before }) => this.#follow(store.state.reviews.changedSince(before.reviews))),
      onDidOpenRepository(() => {
        this.#unregister();
        this.#follow(undefined);
      }),
    );
    this.#follow(undefined);
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const file = uri.scheme === "file" ? this.store.state.reviews.get(uri.toString()) : undefined;
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
    this.#unregister();
    this.#subscriptions.dispose();
  }

  #follow(uris: readonly string[] | undefined): void {
    if (this.store.state.reviews.pending === 0) {
      this.#unregister();
    } else if (this.#registration === undefined) {
      this.#registration = vscode.window.registerFileDecorationProvider(this);
    } else {
      this.#changed.fire(uris?.map((uri) => vscode.Uri.parse(uri)));
    }
  }

  #unregister(): void {
    this.#registration?.dispose();
    this.#registration = undefined;
  }
}
