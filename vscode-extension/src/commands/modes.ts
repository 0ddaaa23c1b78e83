import * as vscode from "vscode";

import type { ReviewMode } from "../protocol";
import type { Store } from "../stores/store";
import { MODES, modeText } from "../text/modes";

interface Choice extends vscode.QuickPickItem {
  readonly mode: ReviewMode;
}

export async function chooseMode(store: Store): Promise<void> {
  const { modes, sessions } = store.state;
  const current = modes.of(sessions.current);
  const choices = MODES.map((mode): Choice => {
    const { name, icon, explanation } = modeText(mode);
    return { mode, label: `$(${icon}) ${name}`, description: mode === current ? vscode.l10n.t("current") : "", detail: explanation };
  });
  const picked = await vscode.window.showQuickPick(choices, {
    title: vscode.l10n.t("Edit Mode"),
    placeHolder: sessions.running
      ? vscode.l10n.t("From the next turn on: a running one keeps its mode")
      : vscode.l10n.t("In this session and in new ones"),
  });
  if (picked !== undefined) {
    store.apply({ kind: "mode", mode: picked.mode, sessionId: store.state.sessions.current });
  }
}
