import * as vscode from "vscode";

import { requests } from "../protocol";
import type { Agent } from "../daemon/agent";
import type { Store } from "../stores/store";
import { oneLine } from "../text/display";

/** Scheme of documents with the accepted text of a file. */
export const SCHEME = "cairn-baseline";

/** The accepted text of files under review, as virtual documents for the diff editors. */
export class Baselines implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #subscriptions: vscode.Disposable;

  readonly onDidChange = this.#changed.event;

  constructor(
    private readonly agent: Agent,
    private readonly store: Store,
  ) {
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      store.on(["reviews"], ({ before }) => this.#refresh(store.state.reviews.changedSince(before.reviews))),
    );
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const live = liveUri(uri);
    const file = this.store.state.reviews.get(live.toString());
    const { text } = await this.agent.request(requests.baseline, { uri: file?.uri ?? live.toString() });
    if (text !== undefined) {
      return text;
    }
    // Nothing is pending there: the accepted text is the live one.
    return (await vscode.workspace.openTextDocument(live)).getText();
  }

  async openFile(uri: string, selection?: vscode.Range): Promise<void> {
    const live = vscode.Uri.parse(uri);
    const name = live.path.split("/").at(-1) ?? "";
    const options: vscode.TextDocumentShowOptions = selection === undefined ? {} : { selection };
    await vscode.commands.executeCommand("vscode.diff", baselineUri(live), live, vscode.l10n.t("{0} (proposed edits)", oneLine(name)), options);
  }

  /** The text of a deleted file, to be read: there is no other text of it. */
  async openDeleted(uri: string): Promise<void> {
    const document = await vscode.workspace.openTextDocument(baselineUri(vscode.Uri.parse(uri)));
    await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true });
  }

  async openAll(): Promise<void> {
    const resources = this.store.state.reviews.files.map(({ uri }) => {
      const live = vscode.Uri.parse(uri);
      return [live, baselineUri(live), live];
    });
    if (resources.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("There are no proposed edits to review."));
      return;
    }
    await vscode.commands.executeCommand("vscode.changes", vscode.l10n.t("Proposed edits"), resources);
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** Baselines change with every accept, and with typing outside of edits. */
  #refresh(changed: readonly string[]): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === SCHEME && changed.includes(liveUri(uri).toString())) {
        this.#changed.fire(uri);
      }
    }
  }
}

/** True if a tab compares a file with its accepted text. */
export function isComparison(tab: vscode.Tab | undefined): boolean {
  return tab?.input instanceof vscode.TabInputTextDiff && tab.input.original.scheme === SCHEME;
}

/** The path stays, so that the language and the file's name do. */
function baselineUri(live: vscode.Uri): vscode.Uri {
  return live.with({ scheme: SCHEME, query: JSON.stringify({ scheme: live.scheme }) });
}

/** The file whose accepted text a document shows. */
export function liveUri(baseline: vscode.Uri): vscode.Uri {
  const { scheme } = JSON.parse(baseline.query) as { scheme: string };
  return baseline.with({ scheme, query: "" });
}
