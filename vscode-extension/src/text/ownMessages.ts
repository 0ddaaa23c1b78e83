import { l10n } from "vscode";

/** Messages to the agent that a command sends in the name of the user, and so in the user's language. */
export const RUN_PLAN = l10n.t("The plan is approved. Carry it out now, step by step, and keep its steps up to date.");
export const CONTINUE_PLAN = l10n.t("Continue the plan: do its open steps.");

/** Words for the user in place of such a message; `undefined` for what the user wrote. */
export function wordsOfOwn(text: string): string | undefined {
  switch (text) {
    case RUN_PLAN:
      return l10n.t("Run the approved plan");
    case CONTINUE_PLAN:
      return l10n.t("Continue the plan");
    default:
      return undefined;
  }
}
