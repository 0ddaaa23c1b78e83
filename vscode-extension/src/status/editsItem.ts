import * as vscode from "vscode";

import type { Store } from "../stores/store";
import { editsInFiles, editsToReview } from "../text/counts";

/** Status bar item for the edits to review; hidden without any. */
export class EditsItem implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("cairn.status.edits", vscode.StatusBarAlignment.Left, 9);
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly store: Store) {
    this.#item.name = vscode.l10n.t("Cairn: Proposed Edits");
    this.#item.command = "cairn.edits.focus";
    this.#subscriptions = vscode.Disposable.from(
      this.#item,
      store.on(["reviews"], () => this.#update()),
    );
    this.#update();
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #update(): void {
    const { pending, files } = this.store.state.reviews;
    if (pending === 0) {
      this.#item.hide();
      return;
    }
    const where = editsInFiles(pending, files.length);
    this.#item.text = `$(diff) ${editsToReview(pending)}`;
    this.#item.tooltip = `${where}\n${vscode.l10n.t("Click to list them")}`;
    this.#item.accessibilityInformation = { label: vscode.l10n.t("Cairn: {0} to review", where), role: "button" };
    this.#item.show();
  }
}
