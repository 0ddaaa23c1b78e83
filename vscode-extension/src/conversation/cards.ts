import type { ApproveParams } from "../protocol";
import { exact, oneLine, visible } from "../text/display";
import type { Card } from "./messages";

/** The question of an approval in parts. The command is whole: every character of it can be seen. */
export function approvalCard(params: ApproveParams): Card {
  const { approvalId, title, command, cwd, reason, rules, subagent, changed, quarantined, preview, forSession } = params;
  return {
    id: approvalId,
    question: `${oneLine(title, 120)}?`,
    asker: subagent === undefined ? "" : oneLine(subagent, 80),
    command: exact(command),
    folder: visible(cwd),
    reason: oneLine(reason, 300),
    warning: changed === undefined ? "" : oneLine(changed, 120),
    forSession: oneLine(forSession, 120),
    always: rules.length > 0,
    change: preview !== undefined,
    quarantined: quarantined === true,
  };
}
