import { l10n } from "vscode";

const { t } = l10n;

/** Counted nouns, each number with a text of its own. */
export const edits = (n: number): string => (n === 1 ? t("1 edit") : t("{0} edits", n));
export const proposedEdits = (n: number): string => (n === 1 ? t("1 proposed edit") : t("{0} proposed edits", n));
export const editsToReview = (n: number): string => (n === 1 ? t("1 edit to review") : t("{0} edits to review", n));
export const steps = (n: number): string => (n === 1 ? t("1 step") : t("{0} steps", n));
export const files = (n: number): string => (n === 1 ? t("1 file") : t("{0} files", n));
export const commands = (n: number): string => (n === 1 ? t("1 command") : t("{0} commands", n));
export const rounds = (n: number): string => (n === 1 ? t("1 round") : t("{0} rounds", n));
export const tokens = (n: number): string => (n === 1 ? t("1 token") : t("{0} tokens", n));
export const plans = (n: number): string => (n === 1 ? t("1 plan") : t("{0} plans", n));
export const answersNeeded = (n: number): string => (n === 1 ? t("1 answer needed") : t("{0} answers needed", n));
export const size = (bytes: number): string =>
  bytes >= 1_000_000 ? t("{0} MB", Math.round(bytes / 1_048_576)) : t("{0} KB", Math.round(bytes / 1_024));
