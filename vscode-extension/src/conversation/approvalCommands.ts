import { approvalIn } from "../stores/approval";
import * as vscode from "vscode";

import type { Store } from "../stores/store";
import { Previews } from "./previews";

/** The conversation view, whose cards take the answers. */
interface View {
  readonly visible: boolean;
  focus(): Promise<void>;
  answer(answer: string): void;
}

/** Commands about approvals that wait: the keys, and the preview of a change. */
export class ApprovalCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  readonly #previews = new Previews();

  constructor(store: Store, view: View) {
    // A key answers a visible card, and shows a hidden one.
    const key = (command: string, answer: string): vscode.Disposable =>
      vscode.commands.registerCommand(command, () => (view.visible ? view.answer(answer) : view.focus()));
    this.#subscriptions = vscode.Disposable.from(
      this.#previews,
      store.on(["approvals"], ({ before }) => {
        before.approvals.waiting
          .filter(({ approvalId }) => approvalIn(store.state, approvalId) === undefined)
          .forEach(({ approvalId }) => this.#previews.close(approvalId));
      }),
      key("cairn.allow", "y"),
      key("cairn.deny", "n"),
      vscode.commands.registerCommand("cairn.chooseAnswer", (number: unknown) => view.answer(String(number))),
      vscode.commands.registerCommand("cairn.approval.showChange", (id: unknown) => {
        const approval = approvalIn(store.state, String(id));
        return approval && this.#previews.open(approval);
      }),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }
}
