import * as vscode from "vscode";

import type { AskParams } from "../protocol";
import type { Store } from "../stores/store";
import { plainText, oneLine } from "../text/display";

/** View in which questions are answered. */
interface View {
  readonly visible: boolean;
  focus(): Promise<void>;
  readonly onDidHide: (listener: () => void) => { dispose(): void };
}

/** Names a question of the agent in a notification while the conversation view is out of sight. */
export function questionNotice(store: Store, view: View): vscode.Disposable {
  const notify = async ({ questionId, text }: AskParams): Promise<void> => {
    const open = vscode.l10n.t("Open");
    const chosen = await vscode.window.showInformationMessage(plainText(vscode.l10n.t("Cairn asks: {0}", oneLine(text, 200))), open);
    if (chosen === open && store.state.questions.waiting.some((waiting) => waiting.questionId === questionId)) {
      await view.focus();
    }
  };
  const subscriptions = [
    store.on(["questions"], ({ change }) => {
      if (change.kind === "question" && !view.visible) {
        void notify(change.question);
      }
    }),
    view.onDidHide(() => {
      const [oldest] = store.state.questions.waiting;
      if (oldest !== undefined) {
        void notify(oldest);
      }
    }),
  ];
  return new vscode.Disposable(() => subscriptions.forEach((subscription) => subscription.dispose()));
}
