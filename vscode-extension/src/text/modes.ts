import { l10n } from "vscode";

import type { ReviewMode } from "../protocol";

const { t } = l10n;

export interface ModeText {
  readonly name: string;
  readonly icon: string;
  readonly explanation: string;
}

/** In the order of how much is left to the user. */
export const MODES: readonly ReviewMode[] = ["review", "ask", "auto", "plan"];

export function modeText(mode: ReviewMode): ModeText {
  switch (mode) {
    case "review":
      return { name: t("Review"), icon: "eye", explanation: t("Edits land as proposals; you decide at any time.") };
    case "ask":
      return { name: t("Ask"), icon: "question", explanation: t("The agent waits for your decision on each edit.") };
    case "auto":
      return { name: t("Auto"), icon: "pass", explanation: t("Edits are accepted as they land; you can still undo.") };
    case "plan":
      return { name: t("Plan"), icon: "checklist", explanation: t("Nothing is changed; the turn ends with a plan to approve.") };
  }
}
