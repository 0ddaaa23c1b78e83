import type { AllowedCommand } from "../protocol";
import { oneLine } from "./display";

/** A line of the list of allowed commands, or what stands above some of them. */
export type RuleRow = { readonly separator: string } | { readonly label: string; readonly description: string; readonly rule: AllowedCommand };

/** Those of this workspace first. A folder is named where there could be another one. */
export function ruleRows(rules: readonly AllowedCommand[]): RuleRow[] {
  const here = rules.filter((rule) => rule.here);
  const elsewhere = rules.filter((rule) => !rule.here);
  const severalHere = new Set(here.map(({ folder }) => folder)).size > 1;
  return [
    ...(here.length > 0 ? [{ separator: "In this workspace" }] : []),
    ...here.map((rule) => row(rule, severalHere)),
    ...(elsewhere.length > 0 ? [{ separator: "In other folders" }] : []),
    ...elsewhere.map((rule) => row(rule, true)),
  ];
}

function row(rule: AllowedCommand, named: boolean): RuleRow {
  return { label: oneLine(rule.command, 500), description: named ? oneLine(rule.folder, 200) : "", rule };
}
