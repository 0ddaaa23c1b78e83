import { l10n } from "vscode";

import type { PlanItem, SessionSnapshot, ToolLabel } from "../protocol";
import { messageText } from "./messages";

/** A tool call, or a command of a plan, as the daemon names it. */
interface Named {
  readonly title: string;
  readonly label?: ToolLabel;
}

/** The same with its title in the extension's own words, or in the daemon's for a code of a newer daemon. */
export function titled<T extends Named>(named: T): T {
  const title = messageText(named.label);
  return title === undefined ? named : { ...named, title };
}

/** A plan, or a subagent with one, with the titles of its commands in the extension's own words. */
export function titledPlan<T extends { readonly items: PlanItem[] }>(plan: T): T {
  return { ...plan, items: plan.items.map((item) => ({ ...item, commands: item.commands.map(titled) })) };
}

/** A session with the titles of its calls in the extension's own words. */
export function titledSession(session: SessionSnapshot): SessionSnapshot {
  return {
    ...session,
    ...(session.plan && { plan: titledPlan(session.plan) }),
    tools: session.tools.map(titled),
    subagents: session.subagents.map(titledPlan),
    transcript: session.transcript.map((entry) => (entry.kind === "tool" ? titled(entry) : entry)),
  };
}

/** Command line of a call, bounded; `undefined` before the arguments of the call are known. */
export function commandOf({ name, title, label }: Named & { readonly name: string }): string | undefined {
  if (label?.code === "run") {
    return label.args.command;
  }
  // Calls of earlier versions have only an English title.
  return title === name ? undefined : title.replace(/^Run /u, "");
}

/** File that a call changes, as the model named it; both names for a move. */
export function fileOf({ title, label }: Named): string {
  if (label?.code === "edit_file" || label?.code === "write_file" || label?.code === "delete_file") {
    return label.args.file;
  }
  // Calls of earlier versions have only an English title.
  return label?.code === "move_file" ? l10n.t("{from} to {to}", label.args) : title.replace(/^(?:Edit|Write|Delete|Move) /u, "");
}

/** True for a call that replaced the plan. */
export function updatesPlan({ title, label }: Named): boolean {
  return label === undefined ? title === "Update the plan" : label.code === "update_plan";
}
