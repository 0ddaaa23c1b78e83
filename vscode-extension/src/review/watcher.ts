import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import type { NotificationMethod } from "../protocol";
import type { ReviewStore } from "../stores/review";

/** LSP's own numbers. */
enum Change {
  Created = 1,
  Changed = 2,
  Deleted = 3,
}

const watched: NotificationMethod<{ changes: { uri: string; type: Change }[] }> = { method: "workspace/didChangeWatchedFiles" };

/**
 * Notifies the daemon when a file under review changes on disk, so that it reads a closed file at once.
 * Changes of other files, such as those of a build, are not sent.
 */
export class FileWatcher implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;

  constructor(agent: Agent, reviews: ReviewStore) {
    const watcher = vscode.workspace.createFileSystemWatcher("**/*");
    const tell = (type: Change) => (uri: vscode.Uri) => {
      const file = reviews.get(uri.toString());
      if (file !== undefined) {
        void agent.notify(watched, { changes: [{ uri: file.uri, type }] });
      }
    };
    this.#subscriptions = vscode.Disposable.from(
      watcher,
      watcher.onDidCreate(tell(Change.Created)),
      watcher.onDidChange(tell(Change.Changed)),
      watcher.onDidDelete(tell(Change.Deleted)),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }
}
