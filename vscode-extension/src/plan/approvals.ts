import * as vscode from "vscode";

import type { ApprovalDecision, ApproveParams } from "../protocol";
import type { ApprovalStore } from "../stores/approval";
import type { TranscriptStore } from "../stores/transcript";
import { approvalNotice, previewName } from "../text/approval";
import { inert, oneLine, visible } from "../text/display";

interface Choice extends vscode.QuickPickItem {
  readonly decision?: ApprovalDecision;
  readonly conversation?: true;
  readonly change?: true;
}

const ONCE = "Allow once";
const SESSION = "Allow for this session";
const DENY = "Deny";
const SHOW = "Show…";
const CHANGE = "Show the change";

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
        if (this.#picker?.id === id) {
          this.#picker.pick.hide();
        }
        // A notification cannot be taken back, but what asks for nothing any more can be put away.
        if (id !== this.#notified && approvals.waiting.length === 0) {
          void vscode.commands.executeCommand("notifications.hideToasts");
        }
      }),
      // Called from a row (which is the argument), or from the status bar and the palette (none).
      vscode.commands.registerCommand("cairn.approval.show", (id?: unknown) => this.#show(id)),
      vscode.commands.registerCommand("cairn.approval.allowOnce", (row?: unknown) => this.#answer(row, "allowOnce")),
      vscode.commands.registerCommand("cairn.approval.allowSession", (row?: unknown) => this.#answer(row, "allowSession")),
      vscode.commands.registerCommand("cairn.approval.deny", (row?: unknown) => this.#answer(row, "deny")),
    ];
  }

  dispose(): void {
    this.#picker?.pick.hide();
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  async #notify(params: ApproveParams): Promise<void> {
    const { approvalId } = params;
    const { message, whole } = approvalNotice(params);
    const change = params.preview === undefined ? [] : [CHANGE];
    const answer = await vscode.window.showWarningMessage(message, ...change, ...(whole ? [ONCE, SESSION, DENY] : [SHOW, DENY]));
    if (answer === CHANGE) {
      await this.#previews.open(params);
    }
    if (answer === SHOW || answer === CHANGE) {
      this.#show(approvalId);
      return;
    }
    const decision = decisionOf(answer);
    this.#notified = decision === undefined ? undefined : approvalId;
    if (decision !== undefined && !this.approvals.answer(approvalId, decision)) {
      void vscode.window.setStatusBarMessage("Cairn: this was answered or withdrawn before.", 5_000);
    }
  }

  #answer(row: unknown, decision: ApprovalDecision): void {
    const params = this.#find(row);
    if (params !== undefined) {
      this.approvals.answer(params.approvalId, decision);
    }
  }

  #show(row: unknown): void {
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
    pick.onDidAccept(() => {
      const [choice] = pick.selectedItems;
      if (choice?.decision !== undefined) {
        this.approvals.answer(params.approvalId, choice.decision);
      } else if (choice?.conversation === true) {
        pick.hide();
        void vscode.commands.executeCommand("cairn.showConversation");
      } else if (choice?.change === true) {
        void this.#previews.open(params);
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

  #find(row: unknown): ApproveParams | undefined {
    if (typeof row === "string") {
      return this.approvals.get(row);
    }
    const id = (row as { params?: { approvalId?: string } } | undefined)?.params?.approvalId;
    return id === undefined ? this.approvals.waiting[0] : this.approvals.get(id);
  }
}

/** The answers, then the command line by line: a pick can show no longer text than that. */
function choices({ command, cwd, preview }: ApproveParams): Choice[] {
  const lines = visible(command).split("\n");
  return [
    { label: `$(check) ${ONCE}`, decision: "allowOnce", alwaysShow: true },
    { label: `$(check-all) ${SESSION}`, description: "exactly this command", decision: "allowSession", alwaysShow: true },
    { label: `$(circle-slash) ${DENY}`, decision: "deny", alwaysShow: true },
    { label: "Command", kind: vscode.QuickPickItemKind.Separator },
    ...lines.map((line): Choice => ({ label: inert(line === "" ? " " : line), alwaysShow: true })),
    { label: `in ${oneLine(cwd)}`, kind: vscode.QuickPickItemKind.Separator },
    ...(preview === undefined ? [] : [{ label: `$(diff) ${CHANGE}`, change: true, alwaysShow: true } as const]),
    { label: "$(comment-discussion) Show the conversation", conversation: true, alwaysShow: true },
  ];
}

function decisionOf(answer: string | undefined): ApprovalDecision | undefined {
  const decisions: Record<string, ApprovalDecision> = { [ONCE]: "allowOnce", [SESSION]: "allowSession", [DENY]: "deny" };
  return answer === undefined ? undefined : decisions[answer];
}

/** What a file would become, to be read before the answer: a document that nobody can write. */
class Previews implements vscode.TextDocumentContentProvider, vscode.Disposable {
  static readonly #scheme = "cairn-preview";
  readonly #texts = new Map<string, string>();
  readonly #provider = vscode.workspace.registerTextDocumentContentProvider(Previews.#scheme, this);

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.query) ?? "This question was answered or withdrawn.";
  }

  async open(params: ApproveParams): Promise<void> {
    this.#texts.clear();
    this.#texts.set(params.approvalId, visible(params.preview ?? ""));
    const uri = vscode.Uri.from({ scheme: Previews.#scheme, path: previewName(params), query: params.approvalId });
    const document = await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(uri), "diff");
    await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true });
  }

  dispose(): void {
    this.#provider.dispose();
  }
}
