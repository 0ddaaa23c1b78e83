import { l10n } from "vscode";

/** Counted nouns, with one text for the singular and one for the plural. */
export const edits = (n: number): string => (n === 1 ? l10n.t("1 edit") : l10n.t("{0} edits", n));
export const proposedEdits = (n: number): string => (n === 1 ? l10n.t("1 proposed edit") : l10n.t("{0} proposed edits", n));
export const editsToReview = (n: number): string => (n === 1 ? l10n.t("1 edit to review") : l10n.t("{0} edits to review", n));
export const steps = (n: number): string => (n === 1 ? l10n.t("1 step") : l10n.t("{0} steps", n));
export const files = (n: number): string => (n === 1 ? l10n.t("1 file") : l10n.t("{0} files", n));
export const commands = (n: number): string => (n === 1 ? l10n.t("1 command") : l10n.t("{0} commands", n));
export const rounds = (n: number): string => (n === 1 ? l10n.t("1 round") : l10n.t("{0} rounds", n));
export const tokens = (n: number): string => (n === 1 ? l10n.t("1 token") : l10n.t("{0} tokens", n));
export const plans = (n: number): string => (n === 1 ? l10n.t("1 plan") : l10n.t("{0} plans", n));
export const answersNeeded = (n: number): string => (n === 1 ? l10n.t("1 answer needed") : l10n.t("{0} answers needed", n));
export const size = (bytes: number): string =>
  bytes >= 1_000_000 ? l10n.t("{0} MB", Math.round(bytes / 1_048_576)) : l10n.t("{0} KB", Math.round(bytes / 1_024));
export const editsInFiles = (n: number, all: number): string => l10n.t("{0} in {1}", edits(n), files(all));
