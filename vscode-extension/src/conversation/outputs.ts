import * as vscode from "vscode";

import type { Entry } from "../stores/transcript";
import { commandOf } from "../text/calls";
import { exact, visible } from "../text/display";

const SCHEME = "cairn-output";

/** Output of a command as a read-only document: up to now while the command runs, later as it was kept. */
export class CommandOutputs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly transcript: { get(id: string): Entry | undefined }) {
    this.#subscriptions = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.commands.registerCommand("cairn.showOutput", (id: unknown) => this.#show(id)),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return outputText(this.transcript.get(uri.query));
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  async #show(id: unknown): Promise<void> {
    const entry = typeof id === "string" ? this.transcript.get(id) : undefined;
    if (entry?.kind !== "tool") {
      return;
    }
    // The time makes another document of each look at a command that runs.
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${vscode.l10n.t("Command Output")}`, query: entry.id, fragment: `${entry.liveSeq}` });
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
  }
}

/** The command and its output, with every hidden character spelled out. */
export function outputText(entry: Entry | undefined): string {
  if (entry?.kind !== "tool") {
    return "";
  }
  const command = exact(entry.command ?? commandOf(entry) ?? "");
  return `$ ${command}\n${visible(entry.live === "" ? entry.detail : entry.live)}`;
}
