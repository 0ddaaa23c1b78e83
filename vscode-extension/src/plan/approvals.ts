import * as vscode from "vscode";

import type { ApprovalDecision, ApproveParams } from "../protocol";
import type { ApprovalStore } from "../stores/approval";
import type { TranscriptStore } from "../stores/transcript";
import { type Answer, LEAVE, MOVE_BACK, answerRows, approvalNotice } from "../text/approval";
import { inert, oneExactLine, oneLine } from "../text/display";
import { Previews } from "./previews";

interface Choice extends vscode.QuickPickItem {
  readonly answer?: Answer;
  readonly command?: string;
  readonly change?: true;
}

const ONCE = "Allow once";
const SESSION = "Allow for this session";
const ALWAYS = "Always…";
const DENY = "Deny";
const SHOW = "Show…";
const CHANGE = "Show the change";
const GONE = "Cairn: this was answered or withdrawn before.";

/**
 * Asks the user whether something may run. Nothing is modal: a notification, a row in the plan
 * view and the status bar all lead to the same answer, and the first one counts.
 */
export class ApprovalPrompt implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable[];
  readonly #previews = new Previews();
  /** The approval whose answer came from its notification, which is gone by itself. */
  #notified: string | undefined;
  #picker: { readonly id: string; readonly pick: vscode.QuickPick<Choice> } | undefined;
  /** The box in which words for an answer are written. */
  #writing: { readonly id: string; readonly cancel: vscode.CancellationTokenSource } | undefined;

  constructor(
    private readonly approvals: ApprovalStore,
    transcript: TranscriptStore,
  ) {
    this.#subscriptions = [
      this.#previews,
      approvals.onDidAdd((params) => {
        transcript.approval(params);
        void this.#notify(params);
      }),
      approvals.onDidSettle((id) => {
        this.#previews.close(id);
        if (this.#picker?.id === id) {
          this.#picker.pick.hide();
        }
        if (this.#writing?.id === id) {
          this.#writing.cancel.cancel();
        }
        // A notification cannot be taken back, but what asks for nothing any more can be put away.
        if (id !== this.#notified && approvals.waiting.length === 0) {
          void vscode.commands.executeCommand("notifications.hideToasts");
        }
      }),
      // Called from a row (which is the argument), or from the status bar and the palette (none).
      vscode.commands.registerCommand("cairn.approval.show", (id?: unknown) => this.#show(id)),
      this.#command("cairn.approval.allowOnce", { decision: "allowOnce" }),
      this.#command("cairn.approval.allowSession", { decision: "allowSession" }),
      this.#command("cairn.approval.allowWithWords", { decision: "allowOnce", words: true }),
      this.#command("cairn.approval.deny", { decision: "deny" }),
      this.#command("cairn.approval.denyWithReason", { decision: "deny", words: true }),
      // What it would keep is shown first.
      vscode.commands.registerCommand("cairn.approval.always", (row?: unknown) => this.#show(row, "allowAlways")),
    ];
  }

  #command(name: string, answer: Answer): vscode.Disposable {
    return vscode.commands.registerCommand(name, (row?: unknown) => {
      const params = this.#find(row);
      return params === undefined ? undefined : this.#answer(params.approvalId, answer);
    });
  }

  dispose(): void {
    this.#picker?.pick.hide();
    this.#writing?.cancel.cancel();
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  async #notify(params: ApproveParams): Promise<void> {
    const { approvalId, rules } = params;
    const { message, whole } = approvalNotice(params);
    const always = rules.length > 0 ? [ALWAYS] : [];
    const change = params.preview === undefined ? [] : [CHANGE];
    const buttons =
      params.quarantined === true
        ? [LEAVE, ...change, whole ? MOVE_BACK : SHOW]
        : [...change, ...(whole ? [ONCE, SESSION, ...always, DENY] : [SHOW, DENY])];
    const answer = await vscode.window.showWarningMessage(message, ...buttons);
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
    this.#notified = decision === undefined ? undefined : approvalId;
    if (decision !== undefined) {
      await this.#answer(approvalId, { decision });
    }
  }

  async #answer(approvalId: string, { decision, words }: Answer): Promise<void> {
    const said = words === true ? await this.#write(approvalId, decision) : "";
    if (said === undefined) {
      // Thought better of it: the question is still there, unless someone else answered.
      this.#show(approvalId);
    } else if (!this.approvals.answer(approvalId, decision, said)) {
      void vscode.window.setStatusBarMessage(GONE, 5_000);
    }
  }

  /** Asks for the words; `undefined` when the user leaves the box. */
  async #write(id: string, decision: ApprovalDecision): Promise<string | undefined> {
    const cancel = new vscode.CancellationTokenSource();
    this.#writing?.cancel.cancel();
    this.#writing = { id, cancel };
    const command = oneExactLine(this.approvals.get(id)?.command ?? "", 80);
    try {
      return await vscode.window.showInputBox(
        {
          title: decision === "deny" ? "Deny and say why" : "Allow and say",
          prompt: inert(command),
          placeHolder: "Words for the agent",
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
    pick.title = oneLine(params.child === undefined ? params.title : `${params.title} (${params.child})`, 120);
    pick.placeholder = oneLine(params.reason, 200);
    pick.ignoreFocusOut = true;
    pick.items = choices(params);
    // First the change is looked at, then decided.
    const usual = params.quarantined === true ? "deny" : undefined;
    const wanted = decision ?? usual ?? (this.#previews.wasShown(params.approvalId) ? "allowOnce" : undefined);
    const active = pick.items.find(({ answer }) => answer !== undefined && answer.decision === wanted);
    if (active !== undefined) {
      pick.activeItems = [active];
    }
    pick.onDidAccept(() => {
      const [choice] = pick.selectedItems;
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
      if (this.#picker?.pick === pick) {
        this.#picker = undefined;
      }
      pick.dispose();
    });
    pick.show();
  }

  async #look(params: ApproveParams): Promise<void> {
    // It may have been answered while its notification stood there.
    if (this.approvals.get(params.approvalId) === undefined) {
      void vscode.window.setStatusBarMessage(GONE, 5_000);
    } else {
      await this.#previews.open(params);
    }
  }

  #find(row: unknown): ApproveParams | undefined {
    if (typeof row === "string") {
      return this.approvals.get(row);
    }
    if (row instanceof vscode.Uri) {
      return this.approvals.get(Previews.question(row) ?? "");
    }
    const id = (row as { params?: { approvalId?: string } } | undefined)?.params?.approvalId;
    return id === undefined ? this.approvals.waiting[0] : this.approvals.get(id);
  }
}

function choices(params: ApproveParams): Choice[] {
  return [
    ...(params.preview === undefined ? [] : [{ label: `$(diff) ${CHANGE}`, change: true, alwaysShow: true } as const]),
    ...answerRows(params).map(({ separator, answer, ...row }): Choice =>
      separator === true
        ? { ...row, kind: vscode.QuickPickItemKind.Separator }
        : { ...row, alwaysShow: true, ...(answer === undefined ? {} : { answer }) },
    ),
    { label: "", kind: vscode.QuickPickItemKind.Separator },
    { label: "$(comment-discussion) Show the conversation", command: "cairn.showConversation", alwaysShow: true },
    ...(params.rules.length === 0 ? [] : [{ label: "$(list-unordered) Manage allowed commands…", command: "cairn.manageRules", alwaysShow: true }]),
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
