import * as vscode from "vscode";

import { registerRowCommand } from "../commands/rowCommand";
import type { ApprovalDecision } from "../protocol";
import { ARMED_AFTER_MS, type Answered, type Asking } from "../stores/approval";
import type { Store } from "../stores/store";
import { type Approval, type Answer, LEAVE, MOVE_BACK, answerRows, approvalNotice } from "../text/approval";
import { plainText, oneExactLine, oneLine } from "../text/display";
import { Previews } from "./previews";

interface Choice extends vscode.QuickPickItem {
  readonly answer?: Answer;
  readonly command?: string;
  readonly change?: true;
}

/** The view that asks as well, while the user can see it. */
interface View {
  readonly visible: boolean;
  answer(answer: string): void;
  readonly onDidHide: (listener: () => void) => vscode.Disposable;
}

const ONCE = vscode.l10n.t("Allow Once");
const SESSION = vscode.l10n.t("Allow for This Session");
const ALWAYS = vscode.l10n.t("Always…");
const DENY = vscode.l10n.t("Deny");
const SHOW = vscode.l10n.t("Show…");
const CHANGE = vscode.l10n.t("Show Change");
const GONE = vscode.l10n.t("Cairn: this was answered or withdrawn before.");
const EARLY = vscode.l10n.t("Cairn: the question had just come up, so the answer did not count. Answer it again.");

/**
 * Asks the user whether something may run. Nothing is modal: a notification, a row in the plan
 * view and the status bar all lead to the same answer, and the first one counts.
 */
export class ApprovalPrompt implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  readonly #previews = new Previews();
  /** The approval that was answered in its notification, which VS Code has closed. */
  #notified: string | undefined;
  /** The approval whose notification shows all of it and is open. */
  #open: string | undefined;
  /** A notification says that several questions wait. */
  #severalShown = false;
  #picker: { readonly id: string; readonly pick: vscode.QuickPick<Choice> } | undefined;
  /** Input box for the feedback of an answer. */
  #writing: { readonly id: string; readonly cancel: vscode.CancellationTokenSource } | undefined;

  constructor(
    private readonly store: Store,
    private readonly asking: Asking,
    private readonly view: View,
  ) {
    this.#subscriptions = vscode.Disposable.from(
      this.#previews,
      store.on(["approvals"], ({ before, change }) => {
        // In sight, the conversation view asks.
        if (change.kind === "approval" && !view.visible) {
          this.#notifyWaiting(change.approval);
        }
        const { approvals } = store.state;
        for (const { approvalId } of before.approvals.waiting) {
          if (approvals.get(approvalId) === undefined) {
            this.#settled(approvalId);
          }
        }
      }),
      view.onDidHide(() => {
        const [oldest] = store.state.approvals.waiting;
        if (oldest !== undefined) {
          this.#notifyWaiting(oldest);
        }
      }),
      // Called from a row (which is the argument), or from the status bar and the palette (none).
      vscode.commands.registerCommand("cairn.approval.show", (id?: unknown) => this.#show(id)),
      vscode.commands.registerCommand("cairn.approval.showChange", (id: unknown) => {
        const params = this.#find(id);
        return params === undefined ? undefined : this.#look(params);
      }),
      vscode.commands.registerCommand("cairn.allow", () => this.#byKey("y", "allowOnce")),
      vscode.commands.registerCommand("cairn.deny", () => this.#byKey("n", "deny")),
      vscode.commands.registerCommand("cairn.chooseAnswer", (number: unknown) => view.answer(String(number))),
      this.#command("cairn.approval.allowOnce", { decision: "allowOnce" }),
      this.#command("cairn.approval.allowSession", { decision: "allowSession" }),
      this.#command("cairn.approval.allowWithWords", { decision: "allowOnce", words: true }),
      this.#command("cairn.approval.deny", { decision: "deny" }),
      this.#command("cairn.approval.denyWithReason", { decision: "deny", words: true }),
      // The rules that it would store are shown first.
      registerRowCommand("cairn.approval.always", (row) => this.#show(row, "allowAlways")),
    );
  }

  #settled(id: string): void {
    this.#previews.close(id);
    if (this.#picker?.id === id) {
      this.#picker.pick.hide();
    }
    if (this.#writing?.id === id) {
      this.#writing.cancel.cancel();
    }
    // VS Code cannot close a single notification, so all are hidden once no question waits.
    if (id !== this.#notified && this.store.state.approvals.waiting.length === 0) {
      void vscode.commands.executeCommand("notifications.hideToasts");
    }
  }

  #command(name: string, answer: Answer): vscode.Disposable {
    return registerRowCommand(name, (row) => {
      const params = this.#find(row);
      return params === undefined ? undefined : this.#answer(params.approvalId, answer);
    });
  }

  /** Answers what is asked in sight: in the conversation view, or else in a notification. The list of answers shows the rest. */
  async #byKey(key: string, decision: ApprovalDecision): Promise<void> {
    const [oldest] = this.store.state.approvals.waiting;
    if (this.view.visible) {
      this.view.answer(key);
    } else if (oldest === undefined) {
      await vscode.commands.executeCommand("cairn.showConversation");
    } else if (oldest.approvalId === this.#open) {
      await this.#answer(oldest.approvalId, { decision });
    } else {
      this.#show(oldest.approvalId, decision);
    }
  }

  dispose(): void {
    this.#picker?.pick.hide();
    this.#writing?.cancel.cancel();
    this.#subscriptions.dispose();
  }

  #notifyWaiting(params: Approval): void {
    void (this.store.state.approvals.waiting.length > 1 ? this.#notifySeveral() : this.#notify(params));
  }

  async #notify(params: Approval): Promise<void> {
    const { approvalId, rules } = params;
    const { message, whole } = approvalNotice(params);
    const always = rules.length > 0 ? [ALWAYS] : [];
    const change = params.preview === undefined ? [] : [CHANGE];
    const buttons =
      params.quarantined === true
        ? [LEAVE, ...change, whole ? MOVE_BACK : SHOW]
        : // What is risky is looked at before it is allowed.
          [...change, ...(whole && params.risk === "" ? [ONCE, SESSION, ...always, DENY] : [SHOW, DENY])];
    const shown = performance.now();
    this.#open = whole && params.risk === "" ? approvalId : undefined;
    const answer = await vscode.window.showWarningMessage(message, ...buttons);
    this.#open = this.#open === approvalId ? undefined : this.#open;
    if (answer === CHANGE) {
      // Its answers are above it, and wherever the question is.
      await this.#look(params);
      return;
    }
    if (answer === SHOW || answer === ALWAYS) {
      this.#show(approvalId, answer === ALWAYS ? "allowAlways" : undefined);
      return;
    }
    const decision = decisionOf(answer);
    if (decision === undefined) {
      return;
    }
    // A click in this time was meant for the former content of this place.
    if (performance.now() - shown < ARMED_AFTER_MS && this.store.state.approvals.get(approvalId) !== undefined) {
      say(EARLY);
      await this.#notify(params);
      return;
    }
    this.#notified = approvalId;
    if ((await this.#answer(approvalId, { decision })) === "early") {
      this.#notified = undefined;
      await this.#notify(params);
    }
  }

  /** Leads to the list of questions: one notification after the other in one place invites an unintended click. */
  async #notifySeveral(): Promise<void> {
    if (this.#severalShown) {
      return;
    }
    this.#severalShown = true;
    const show = vscode.l10n.t("Show Questions");
    const answer = await vscode.window.showWarningMessage(vscode.l10n.t("The agent waits for several answers."), show);
    this.#severalShown = false;
    if (answer !== show) {
      return;
    }
    if (this.store.state.approvals.waiting.length > 1) {
      await vscode.commands.executeCommand("cairn.plan.focus");
    } else {
      this.#show(undefined);
    }
  }

  async #answer(approvalId: string, { decision, words }: Answer): Promise<Answered | undefined> {
    const said = words === true ? await this.#write(approvalId, decision) : "";
    if (said === undefined) {
      // Thought better of it: the question is still there, unless someone else answered.
      this.#show(approvalId);
      return undefined;
    }
    const answered = this.asking.answerApproval(approvalId, decision, said);
    if (answered !== "counted") {
      say(answered === "early" ? EARLY : GONE);
    }
    return answered;
  }

  /** Asks for the feedback; `undefined` when the user leaves the box. */
  async #write(id: string, decision: ApprovalDecision): Promise<string | undefined> {
    const cancel = new vscode.CancellationTokenSource();
    this.#writing?.cancel.cancel();
    this.#writing = { id, cancel };
    const command = oneExactLine(this.store.state.approvals.get(id)?.command ?? "", 80);
    try {
      return await vscode.window.showInputBox(
        {
          title: decision === "deny" ? vscode.l10n.t("Deny and Say Why") : vscode.l10n.t("Allow and Say"),
          prompt: plainText(command),
          placeHolder: vscode.l10n.t("Message to the agent"),
          ignoreFocusOut: true,
        },
        cancel.token,
      );
    } finally {
      if (this.#writing.cancel === cancel) {
        this.#writing = undefined;
      }
      cancel.dispose();
    }
  }

  /** The list of answers, with this one under the cursor. */
  #show(row: unknown, decision?: ApprovalDecision): void {
    const params = this.#find(row);
    if (params === undefined) {
      return;
    }
    this.#picker?.pick.hide();
    const pick = vscode.window.createQuickPick<Choice>();
    this.#picker = { id: params.approvalId, pick };
    pick.title = oneLine(params.subagent === undefined ? params.title : `${params.title} (${params.subagent})`, 120);
    const { risk } = params;
    pick.placeholder = oneLine([risk, params.reason].filter((words) => words !== "").join(" · "), 200);
    pick.ignoreFocusOut = true;
    pick.items = choices(params);
    // First the change is looked at, then decided.
    const usual = params.quarantined === true || risk !== "" ? "deny" : undefined;
    const wanted = decision ?? usual ?? (this.#previews.wasShown(params.approvalId) ? "allowOnce" : undefined);
    const active = pick.items.find(({ answer }) => answer !== undefined && answer.decision === wanted);
    if (active !== undefined) {
      pick.activeItems = [active];
    }
    // Busy until an answer counts: a key or click may be meant for what had the focus before.
    pick.busy = true;
    const arming = setTimeout(() => {
      pick.busy = false;
    }, ARMED_AFTER_MS);
    pick.onDidAccept(() => {
      const [choice] = pick.selectedItems;
      if (pick.busy && choice?.answer !== undefined && choice.answer.words !== true) {
        // A row that stays selected would take no further click.
        pick.selectedItems = [];
        return;
      }
      if (choice?.answer !== undefined) {
        pick.hide();
        void this.#answer(params.approvalId, choice.answer);
      } else if (choice?.change === true) {
        pick.hide();
        void this.#look(params);
      } else if (choice?.command !== undefined) {
        pick.hide();
        void vscode.commands.executeCommand(choice.command);
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

  async #look(params: Approval): Promise<void> {
    // It may have been answered while its notification stood there.
    if (this.store.state.approvals.get(params.approvalId) === undefined) {
      say(GONE);
    } else {
      await this.#previews.open(params);
    }
  }

  #find(row: unknown): Approval | undefined {
    if (typeof row === "string") {
      return this.store.state.approvals.get(row);
    }
    if (row instanceof vscode.Uri) {
      return this.store.state.approvals.get(Previews.question(row) ?? "");
    }
    const id = (row as { params?: { approvalId?: string } } | undefined)?.params?.approvalId;
    return id === undefined ? this.store.state.approvals.waiting[0] : this.store.state.approvals.get(id);
  }
}

function choices(params: Approval): Choice[] {
  return [
    ...(params.preview === undefined ? [] : [{ label: `$(diff) ${CHANGE}`, change: true, alwaysShow: true } as const]),
    ...answerRows(params).map(({ separator, answer, ...row }): Choice =>
      separator === true
        ? { ...row, kind: vscode.QuickPickItemKind.Separator }
        : { ...row, alwaysShow: true, ...(answer === undefined ? {} : { answer }) },
    ),
    { label: "", kind: vscode.QuickPickItemKind.Separator },
    { label: `$(comment-discussion) ${vscode.l10n.t("Show Conversation")}`, command: "cairn.showConversation", alwaysShow: true },
    ...(params.rules.length === 0
      ? []
      : [{ label: `$(list-unordered) ${vscode.l10n.t("Manage Allowed Commands…")}`, command: "cairn.manageRules", alwaysShow: true }]),
  ];
}

function decisionOf(answer: string | undefined): ApprovalDecision | undefined {
  const decisions: Record<string, ApprovalDecision> = {
    [ONCE]: "allowOnce",
    [SESSION]: "allowSession",
    [DENY]: "deny",
    [MOVE_BACK]: "allowOnce",
    [LEAVE]: "deny",
  };
  return answer === undefined ? undefined : decisions[answer];
}

function say(text: string): void {
  void vscode.window.setStatusBarMessage(text, 5_000);
}
