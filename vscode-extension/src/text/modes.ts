import { l10n } from "vscode";

import type { ReviewMode } from "../protocol";

export interface ModeText {
  readonly name: string;
  readonly icon: string;
  readonly explanation: string;
}

/** In the order of how much is left to the user. */
export const MODES: readonly ReviewMode[] = ["review", "ask", "auto", "plan"];

const TEXTS: Readonly<Record<ReviewMode, ModeText>> = {
  review: { name: l10n.t("Review"), icon: "eye", explanation: l10n.t("Edits land as proposals; you decide at any time.") },
  ask: { name: l10n.t("Ask"), icon: "question", explanation: l10n.t("The agent waits for your decision on each edit.") },
  auto: { name: l10n.t("Auto"), icon: "pass", explanation: l10n.t("Edits are accepted as they land; you can still undo.") },
  plan: { name: l10n.t("Plan"), icon: "checklist", explanation: l10n.t("Nothing is changed; the turn ends with a plan to approve.") },
};
export const modeText = (mode: ReviewMode): ModeText => TEXTS[mode];
