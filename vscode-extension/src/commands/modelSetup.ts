import * as vscode from "vscode";

import type { Store } from "../stores/store";
import { oneLine } from "../text/display";

/** Leads to a model when a task cannot start without one, and back to the task. */
export class ModelSetup implements vscode.Disposable {
  readonly #subscription: vscode.Disposable;
  /** Offers the text again that waits for a model. */
  #waiting: { readonly text: string; readonly again: () => unknown } | undefined;

  constructor(private readonly store: Store) {
    this.#subscription = store.on(["status"], () => {
      const waiting = this.#waiting;
      if (waiting !== undefined && store.state.status.hasModel) {
        this.#waiting = undefined;
        void this.#goOn(waiting.text, waiting.again);
      }
    });
  }

  dispose(): void {
    this.#subscription.dispose();
  }

  /** Asks how to get a model. `again` opens the kept text when there is one. */
  async offer(text: string, again: () => unknown): Promise<void> {
    this.#waiting = { text, again };
    const model = {
      label: `$(hubot) ${vscode.l10n.t("Choose Model…")}`,
      detail: vscode.l10n.t("A provider with your API key, a server on this machine, or another one by its address"),
      command: "cairn.chooseModel",
    };
    const demo = {
      label: `$(play-circle) ${vscode.l10n.t("Try the Demo")}`,
      detail: vscode.l10n.t("A recorded script in a sample folder, without a model"),
      command: "cairn.tryDemo",
    };
    const picked = await vscode.window.showQuickPick([model, demo], {
      title: vscode.l10n.t("The agent needs a model"),
      placeHolder: vscode.l10n.t("Your task is kept: {0}", oneLine(text, 60)),
      ignoreFocusOut: true,
    });
    if (picked !== undefined) {
      await vscode.commands.executeCommand(picked.command);
    }
  }

  async #goOn(text: string, again: () => unknown): Promise<void> {
    const model = this.store.state.status.status?.model.name ?? "";
    const go = vscode.l10n.t("Continue with the Task");
    const answer = await vscode.window.showInformationMessage(
      vscode.l10n.t("{0} can be used now. Your task is kept: {1}", oneLine(model, 60), oneLine(text, 80)),
      go,
    );
    if (answer === go) {
      await again();
    }
  }
}
