import * as vscode from "vscode";

import type { Store } from "../stores/store";
import { renderConversation } from "./render";

const URI = vscode.Uri.from({ scheme: "cairn-conversation", path: `/${vscode.l10n.t("Cairn Conversation")}` });
/** At most one repaint in this many milliseconds: a stream may bring hundreds of pieces a second. */
const REPAINT_MS = 80;

/** The conversation as a read-only document that grows. */
export class ConversationDocument implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #subscriptions: vscode.Disposable;
  readonly #following = new Set<vscode.TextEditor>();
  #repaint: NodeJS.Timeout | undefined;

  readonly onDidChange = this.#changed.event;

  constructor(private readonly store: Store) {
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(URI.scheme, this),
      store.on(["transcript"], () => this.#schedule()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#follow(document)),
      vscode.commands.registerCommand("cairn.openConversationText", () => this.#show()),
    );
  }

  provideTextDocumentContent(): string {
    return renderConversation(this.store.state.transcript.entries);
  }

  dispose(): void {
    clearTimeout(this.#repaint);
    this.#subscriptions.dispose();
  }

  #schedule(): void {
    this.#repaint ??= setTimeout(() => {
      this.#repaint = undefined;
      for (const editor of this.#editors()) {
        const end = editor.visibleRanges.at(-1)?.end.line ?? 0;
        if (end >= editor.document.lineCount - 2) {
          this.#following.add(editor);
        } else {
          this.#following.delete(editor);
        }
      }
      this.#changed.fire(URI);
    }, REPAINT_MS);
  }

  /** A reader at the end stays at the end; one who scrolled up stays there. */
  #follow(document: vscode.TextDocument): void {
    if (document.uri.toString() !== URI.toString()) {
      return;
    }
    const last = document.lineCount - 1;
    for (const editor of this.#editors()) {
      if (this.#following.has(editor)) {
        editor.revealRange(new vscode.Range(last, 0, last, 0));
      }
    }
  }

  #editors(): vscode.TextEditor[] {
    return vscode.window.visibleTextEditors.filter(({ document }) => document.uri.toString() === URI.toString());
  }

  async #show(): Promise<void> {
    const document = await vscode.workspace.openTextDocument(URI);
    await vscode.languages.setTextDocumentLanguage(document, "cairn-conversation");
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    const last = document.lineCount - 1;
    editor.revealRange(new vscode.Range(last, 0, last, 0));
  }
}
