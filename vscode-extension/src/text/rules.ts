import { l10n } from "vscode";

import type { AllowedCommand } from "../protocol";
import { oneLine } from "./display";

/** A row of the list of allowed commands, or the heading of some rows. */
export type RuleRow = { readonly separator: string } | { readonly label: string; readonly description: string; readonly rule: AllowedCommand };

/** Rows of all rules, those of this workspace first. Each has its folder, which may be below the workspace folder. */
export function ruleRows(rules: readonly AllowedCommand[]): RuleRow[] {
  const here = rules.filter((rule) => rule.here);
  const elsewhere = rules.filter((rule) => !rule.here);
  return [
    ...(here.length > 0 ? [{ separator: l10n.t("In this workspace") }] : []),
    ...here.map(row),
    ...(elsewhere.length > 0 ? [{ separator: l10n.t("In other folders") }] : []),
    ...elsewhere.map(row),
  ];
}

function row(rule: AllowedCommand): RuleRow {
  return { label: oneLine(rule.command, 500), description: oneLine(rule.folder, 200), rule };
}
