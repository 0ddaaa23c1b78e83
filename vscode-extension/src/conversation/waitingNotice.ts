import * as vscode from "vscode";

import type { State } from "../stores/state";
import type { Store } from "../stores/store";
import { approvalNotice } from "../text/approval";
import { oneLine, plainText } from "../text/display";

/** View in which the user answers. */
interface View {
  readonly visible: boolean;
  focus(): Promise<void>;
  readonly onDidHide: (listener: () => void) => vscode.Disposable;
}

/**
 * Tells in a notification that the agent waits for an answer while the conversation is out of sight. Its button
 * shows the card. The notification itself takes no answer: it cannot show a long command whole.
 */
export function waitingNotice(store: Store, view: View): vscode.Disposable {
  const notify = async (): Promise<void> => {
    const text = textFor(store.state);
    if (text === undefined || view.visible) {
      return;
    }
    const show = vscode.l10n.t("Show");
    const chosen = await vscode.window.showWarningMessage(text, show);
    if (chosen === show && textFor(store.state) !== undefined) {
      await view.focus();
    }
  };
  return vscode.Disposable.from(
    store.on(["approvals", "questions", "reviews"], ({ before, change }) => {
      if (change.kind === "approval" || change.kind === "question" || store.state.reviews.waiting.length > before.reviews.waiting.length) {
        void notify();
      } else if (textFor(before) !== undefined && textFor(store.state) === undefined) {
        // VS Code cannot close a single notification, so all are hidden once nothing waits.
        void vscode.commands.executeCommand("notifications.hideToasts");
      }
    }),
    view.onDidHide(() => void notify()),
  );
}

/** Text of the notification; `undefined` if the agent waits for no answer. */
function textFor({ approvals, questions, reviews }: State): string | undefined {
  if (approvals.waiting.length + questions.waiting.length + reviews.waiting.length > 1) {
    return vscode.l10n.t("The agent waits for several answers.");
  }
  const [approval] = approvals.waiting;
  const [question] = questions.waiting;
  const [file] = reviews.waiting;
  if (approval !== undefined) {
    return approvalNotice(approval);
  }
  if (file !== undefined) {
    return plainText(vscode.l10n.t("The agent waits until you have decided on the edits in {0}.", oneLine(file.path, 100)));
  }
  return question && plainText(vscode.l10n.t("Cairn asks: {0}", oneLine(question.text, 200)));
}
