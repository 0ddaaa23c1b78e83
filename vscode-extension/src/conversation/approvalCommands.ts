import * as vscode from "vscode";

import type { ApprovalDecision } from "../protocol";
import { ARMED_AFTER_MS, type Asking } from "../stores/approval";
import type { Store } from "../stores/store";
import { type Approval, alwaysRows } from "../text/approval";
import { oneLine } from "../text/display";
import { Previews } from "./previews";

/** The conversation view, whose cards take the answers. */
interface View {
  readonly visible: boolean;
  focus(): Promise<void>;
  answer(answer: string): void;
}

interface Choice extends vscode.QuickPickItem {
  readonly decision?: ApprovalDecision;
}

/** Commands about approvals that wait: the keys, the preview of a change, and the rules that "Always…" would store. */
export class ApprovalCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  readonly #previews = new Previews();
  #picker: { readonly id: string; readonly pick: vscode.QuickPick<Choice> } | undefined;

  constructor(
    private readonly store: Store,
    private readonly asking: Asking,
    view: View,
  ) {
    // A key answers a visible card, and shows a hidden one.
    const key = (command: string, answer: string): vscode.Disposable =>
      vscode.commands.registerCommand(command, () => (view.visible ? view.answer(answer) : view.focus()));
    this.#subscriptions = vscode.Disposable.from(
      this.#previews,
      store.on(["approvals"], ({ before }) => {
        before.approvals.waiting
          .filter(({ approvalId }) => store.state.approvals.get(approvalId) === undefined)
          .forEach((over) => this.#settled(over));
      }),
      key("cairn.allow", "y"),
      key("cairn.deny", "n"),
      vscode.commands.registerCommand("cairn.chooseAnswer", (number: unknown) => view.answer(String(number))),
      this.#on("cairn.approval.showChange", (approval) => this.#previews.open(approval)),
      this.#on("cairn.approval.always", (approval) => this.#pickAlways(approval)),
    );
  }

  dispose(): void {
    this.#picker?.pick.hide();
    this.#subscriptions.dispose();
  }

  #on(command: string, run: (approval: Approval) => unknown): vscode.Disposable {
    return vscode.commands.registerCommand(command, (id: unknown) => {
      const approval = this.store.state.approvals.get(String(id));
      return approval === undefined ? undefined : run(approval);
    });
  }

  #settled({ approvalId }: Approval): void {
    this.#previews.close(approvalId);
    if (this.#picker?.id === approvalId) {
      this.#picker.pick.hide();
    }
  }

  /** Lists the rules, word for word. The choice of one stores it, which allows the call. */
  #pickAlways(approval: Approval): void {
    this.#picker?.pick.hide();
    const pick = vscode.window.createQuickPick<Choice>();
    this.#picker = { id: approval.approvalId, pick };
    pick.title = oneLine(approval.subagent === undefined ? approval.title : `${approval.title} (${approval.subagent})`, 120);
    pick.placeholder = oneLine(approval.risk, 200);
    pick.ignoreFocusOut = true;
    pick.items = alwaysRows(approval).map(({ separator, ...row }) =>
      separator === true ? { ...row, kind: vscode.QuickPickItemKind.Separator } : { ...row, alwaysShow: true },
    );
    // Busy until a choice counts: a key or click may be meant for what had the focus before.
    pick.busy = true;
    const arming = setTimeout(() => {
      pick.busy = false;
    }, ARMED_AFTER_MS);
    pick.onDidAccept(() => {
      const decision = pick.selectedItems[0]?.decision;
      if (pick.busy) {
        // A row that stays selected would take no further click.
        pick.selectedItems = [];
      } else if (decision !== undefined) {
        this.asking.answerApproval(approval.approvalId, decision);
      }
    });
    pick.onDidHide(() => {
      clearTimeout(arming);
      if (this.#picker?.pick === pick) {
        this.#picker = undefined;
      }
      pick.dispose();
    });
    pick.show();
  }
}
