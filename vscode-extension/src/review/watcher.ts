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
 * Tells the daemon when a file under review changes on disk, so that a closed one is seen as it is
 * at once. What other files do there, such as a build, stays out of the pipe.
 */
export class FileWatcher implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable[];

  constructor(agent: Agent, reviews: ReviewStore) {
    const watcher = vscode.workspace.createFileSystemWatcher("**/*");
    const tell = (type: Change) => (uri: vscode.Uri) => {
      const file = reviews.get(uri.toString());
      if (file !== undefined) {
        void agent.notify(watched, { changes: [{ uri: file.uri, type }] });
      }
    };
    this.#subscriptions = [
      watcher,
      watcher.onDidCreate(tell(Change.Created)),
      watcher.onDidChange(tell(Change.Changed)),
      watcher.onDidDelete(tell(Change.Deleted)),
    ];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }
}
