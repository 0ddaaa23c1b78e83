import * as vscode from "vscode";

import { modeText } from "../text/modes";
import type { Stores } from "./statusBar";

/** Status bar items for the edits to review and for the review mode. */
export class ReviewItems implements vscode.Disposable {
  readonly #edits = vscode.window.createStatusBarItem("cairn.status.edits", vscode.StatusBarAlignment.Left, 9);
  readonly #mode = vscode.window.createStatusBarItem("cairn.status.mode", vscode.StatusBarAlignment.Left, 8);
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly stores: Pick<Stores, "reviews" | "modes" | "sessions">) {
    const { reviews, modes, sessions } = stores;
    this.#edits.name = vscode.l10n.t("Cairn: Proposed Edits");
    this.#edits.command = "cairn.edits.focus";
    this.#mode.name = vscode.l10n.t("Cairn: Mode");
    this.#mode.command = "cairn.chooseMode";
    this.#subscriptions = vscode.Disposable.from(
      this.#edits,
      this.#mode,
      reviews.onDidChange(() => this.#updateEdits()),
      modes.onDidChange(() => this.#updateMode()),
      sessions.onDidChange(() => this.#updateMode()),
    );
    this.#updateEdits();
    this.#updateMode();
    this.#mode.show();
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #updateEdits(): void {
    const { pending, files } = this.stores.reviews;
    if (pending === 0) {
      this.#edits.hide();
      return;
    }
    const where = editsInFiles(pending, files.length);
    this.#edits.text = `$(diff) ${pending === 1 ? vscode.l10n.t("1 edit to review") : vscode.l10n.t("{0} edits to review", pending)}`;
    this.#edits.tooltip = `${where}\n${vscode.l10n.t("Click to list them")}`;
    this.#edits.accessibilityInformation = { label: vscode.l10n.t("Cairn: {0}", where), role: "button" };
    this.#edits.show();
  }

  #updateMode(): void {
    const { modes, sessions } = this.stores;
    const { name, icon, explanation } = modeText(modes.of(sessions.current));
    this.#mode.text = `$(${icon}) ${vscode.l10n.t("{0} mode", name)}`;
    this.#mode.tooltip = `${vscode.l10n.t("{0} mode: {1}", name, explanation)}\n${vscode.l10n.t("Click to change it")}`;
    this.#mode.accessibilityInformation = { label: vscode.l10n.t("Cairn, {0} mode: {1}", name, explanation), role: "button" };
  }
}

function editsInFiles(edits: number, files: number): string {
  if (files === 1) {
    return edits === 1 ? vscode.l10n.t("1 edit in 1 file to review") : vscode.l10n.t("{0} edits in 1 file to review", edits);
  }
  return vscode.l10n.t("{0} edits in {1} files to review", edits, files);
}
