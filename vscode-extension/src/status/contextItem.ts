import * as vscode from "vscode";

import type { SessionStore } from "../stores/session";
import { sentences } from "../text/display";
import { meter } from "./meter";

/** The meter of the session in view; not there before its model has counted anything. */
export class ContextItem implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("cairn.status.context", vscode.StatusBarAlignment.Left, 7);
  readonly #subscription: vscode.Disposable;

  constructor(private readonly sessions: SessionStore) {
    this.#item.name = vscode.l10n.t("Cairn: Context and Cost");
    this.#item.command = "cairn.menu";
    this.#subscription = sessions.onDidChange(() => this.#update());
    this.#update();
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#item.dispose();
  }

  #update(): void {
    const { usage } = this.sessions;
    const shown = usage === undefined ? undefined : meter(usage);
    if (shown === undefined) {
      this.#item.hide();
      return;
    }
    const { text, lines, severity } = shown;
    this.#item.text = text;
    this.#item.tooltip = [...lines, vscode.l10n.t("Click for what can be done")].join("\n");
    this.#item.accessibilityInformation = { label: vscode.l10n.t("Cairn: {0}", sentences(lines)), role: "button" };
    this.#item.backgroundColor = severity === "none" ? undefined : new vscode.ThemeColor("statusBarItem.warningBackground");
    this.#item.show();
  }
}
