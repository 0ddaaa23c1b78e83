import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import type { NotificationMethod } from "../protocol";
import type { Store } from "../stores/store";

/** LSP's own numbers. */
enum Change {
  Created = 1,
  Changed = 2,
  Deleted = 3,
}

interface FileChange {
  readonly uri: string;
  readonly type: Change;
}

const watched: NotificationMethod<{ changes: readonly FileChange[] }> = { method: "workspace/didChangeWatchedFiles" };

/** Most new files that are named together with a removed one. */
const MOST_CREATED = 1_000;

/**
 * Notifies the daemon when a file under review changes on disk, so that it reads the file at once. Of a removed one it
 * also names the files that came at the same time: it may be one of them. Changes of other files, such as those of a
 * build, are not sent.
 */
export class FileWatcher implements vscode.Disposable {
  readonly #agent: Agent;
  readonly #store: Store;
  readonly #subscriptions: vscode.Disposable;
  /** Changes of files under review, and new files, that VS Code reports at once. */
  #own: FileChange[] = [];
  #created: FileChange[] = [];

  constructor(agent: Agent, store: Store) {
    [this.#agent, this.#store] = [agent, store];
    const watcher = vscode.workspace.createFileSystemWatcher("**/*");
    const keep = (type: Change) => (uri: vscode.Uri) => {
      this.#keep({ uri: uri.toString(), type });
    };
    this.#subscriptions = vscode.Disposable.from(
      watcher,
      watcher.onDidCreate(keep(Change.Created)),
      watcher.onDidChange(keep(Change.Changed)),
      watcher.onDidDelete(keep(Change.Deleted)),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #keep(change: FileChange): void {
    if (this.#store.state.reviews.isEmpty) {
      return;
    }
    if (this.#own.length + this.#created.length === 0) {
      setImmediate(() => {
        this.#notify();
      });
    }
    const { uri, type } = change;
    if (this.#store.state.reviews.get(uri) !== undefined || (type === Change.Deleted && this.#isAbove(uri))) {
      this.#own.push(change);
    } else if (type === Change.Created && this.#created.length < MOST_CREATED) {
      this.#created.push(change);
    }
  }

  #notify(): void {
    const [own, created] = [this.#own, this.#created];
    [this.#own, this.#created] = [[], []];
    if (own.length > 0) {
      const isMoved = own.some(({ type }) => type === Change.Deleted);
      void this.#agent.notify(watched, { changes: [...own, ...(isMoved ? created : [])] });
    }
  }

  /** True for a folder of files under review: VS Code does not name the files of a removed folder. */
  #isAbove(folder: string): boolean {
    return this.#store.state.reviews.files.some(({ uri }) => uri.startsWith(`${folder}/`));
  }
}
