import * as vscode from "vscode";

import { type Approval, previewName } from "../text/approval";
import { oneLine, visible } from "../text/display";

/**
 * Read-only documents with a file before and after a proposed call, side by side, for the user to
 * read before the answer. They close when the question is answered.
 */
export class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  static readonly #scheme = "cairn-preview";
  readonly #texts = new Map<string, string>();
  readonly #provider = vscode.workspace.registerTextDocumentContentProvider(Previews.#scheme, this);

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? `${vscode.l10n.t("This question was answered or withdrawn.")}\n`;
  }

  /** The question that a document is about. */
  static #question(uri: vscode.Uri): string | undefined {
    return uri.scheme === Previews.#scheme ? uri.query : undefined;
  }

  async open(params: Approval): Promise<void> {
    const { preview, approvalId, command } = params;
    if (preview === undefined) {
      return;
    }
    if (preview.texts === undefined) {
      const patch = this.#document(approvalId, `${previewName(params)}.diff`, preview.patch, "patch");
      const document = await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(patch), "diff");
      await vscode.window.showTextDocument(document);
      return;
    }
    const before = this.#document(approvalId, previewName(params), preview.texts.before, "before");
    const after = this.#document(approvalId, previewName(params), preview.texts.after, "after");
    await vscode.commands.executeCommand("vscode.diff", before, after, vscode.l10n.t("{0} (not applied)", oneLine(command, 80)));
  }

  close(approvalId: string): void {
    const tabs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
    const about = tabs.filter(({ input }) => {
      const uri = input instanceof vscode.TabInputTextDiff ? input.modified : input instanceof vscode.TabInputText ? input.uri : undefined;
      return uri !== undefined && Previews.#question(uri) === approvalId;
    });
    if (about.length > 0) {
      void vscode.window.tabGroups.close(about, true);
    }
    for (const uri of this.#texts.keys()) {
      if (Previews.#question(vscode.Uri.parse(uri)) === approvalId) {
        this.#texts.delete(uri);
      }
    }
  }

  #document(approvalId: string, path: string, text: string, side: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: Previews.#scheme, path, query: approvalId, fragment: side });
    this.#texts.set(uri.toString(), visible(text));
    return uri;
  }

  dispose(): void {
    this.#provider.dispose();
  }
}
