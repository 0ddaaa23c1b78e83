import * as vscode from "vscode";

import { count } from "../text/display";
import { modeText } from "../text/modes";
import type { Stores } from "./statusBar";

/** Status bar items for the edits to review and for the review mode. */
export class ReviewItems implements vscode.Disposable {
  readonly #edits = vscode.window.createStatusBarItem("cairn.status.edits", vscode.StatusBarAlignment.Left, 9);
  readonly #mode = vscode.window.createStatusBarItem("cairn.status.mode", vscode.StatusBarAlignment.Left, 8);
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly stores: Pick<Stores, "reviews" | "modes" | "sessions">) {
    const { reviews, modes, sessions } = stores;
    this.#edits.name = "Cairn: Proposed Edits";
    this.#edits.command = "cairn.edits.focus";
    this.#mode.name = "Cairn: Mode";
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
    const edits = count(pending, "edit");
    const where = `${edits} in ${count(files.length, "file")} to review`;
    this.#edits.text = `$(diff) ${edits} to review`;
    this.#edits.tooltip = `${where}\nClick to list them`;
    this.#edits.accessibilityInformation = { label: `Cairn: ${where}`, role: "button" };
    this.#edits.show();
  }

  #updateMode(): void {
    const { modes, sessions } = this.stores;
    const { name, icon, explanation } = modeText(modes.of(sessions.current));
    this.#mode.text = `$(${icon}) ${name} mode`;
    this.#mode.tooltip = `${name} mode: ${explanation}\nClick to change it`;
    this.#mode.accessibilityInformation = { label: `Cairn, ${name} mode: ${explanation}`, role: "button" };
  }
}
