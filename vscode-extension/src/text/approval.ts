import { l10n } from "vscode";

import type { ApprovalDecision, ApproveParams, CallDecision, UiMessage } from "../protocol";
import { timeOfDay } from "./ago";
import { plainText, oneExactLine, oneLine } from "./display";
import { textOf } from "./messages";

/** Longest command in a notification. */
const COMMAND_CHARS = 240;
/** A question of the agent in the user's language. */
export interface Approval extends Omit<ApproveParams, "title" | "command" | "files" | "reasons" | "risks" | "forSession"> {
  readonly title: string;
  /** The title as the daemon sent it. */
  readonly question: UiMessage;
  /** Command, byte for byte, or the line that names the files of a question about files. */
  readonly command: string;
  /** Reasons for the question, in sentences. */
  readonly reason: string;
  /** Effects of a command that make an answer risky, in one line; empty without one. */
  readonly risk: string;
  /** Scope of an approval for the session, as a part of a sentence. */
  readonly forSession: string;
}

type Asked = Pick<Approval, "title" | "command" | "subagent" | "quarantined" | "risk">;

const decisions: Readonly<Record<ApprovalDecision, string>> = {
  allowOnce: l10n.t("allowed once"),
  allowSession: l10n.t("allowed for this session"),
  allowAlways: l10n.t("always allowed"),
  allowPattern: l10n.t("always allowed, with any further words"),
  deny: l10n.t("denied"),
};

/** The decision about a call, with its time. */
export function decisionWords({ decision, by, at }: CallDecision): string {
  const earlier = by === "session" ? l10n.t("allowed earlier for this session") : l10n.t("allowed by a rule");
  return `${by === "session" || by === "rule" ? earlier : decisions[decision]} ${timeOfDay(at)}`;
}

/** The question in the user's language. */
export function approvalOf({ title, command, files, reasons = [], risks = [], forSession, ...params }: ApproveParams): Approval {
  return {
    ...params,
    title: textOf(title),
    question: title,
    command: files === undefined ? command : textOf(files),
    reason: reasons.map(textOf).join(" "),
    risk: risks.map(textOf).join(" · "),
    forSession: textOf(forSession),
  };
}

/** The question in one line, for a notification. The card shows all of it. */
export function approvalNotice({ title, command, subagent, risk }: Omit<Asked, "quarantined">): string {
  const asker = subagent === undefined ? "" : ` (${oneLine(subagent, 60)})`;
  const warning = risk === "" ? "" : ` (${risk})`;
  return plainText(`${oneLine(title, 80)}${asker}? ${oneExactLine(command, COMMAND_CHARS)}${warning}`);
}

/** The question in a few words, for the status bar: `Allow? node --test`. */
export function questionWords({ title, command, quarantined }: Pick<Asked, "title" | "command" | "quarantined">, limit: number): string {
  return quarantined === true ? `${oneLine(title, limit)}?` : l10n.t("Allow? {0}", oneExactLine(command, limit));
}

/** Name of the document with the proposed change: `Change package.json`. */
export function previewName({ command }: Pick<Approval, "command">): string {
  return oneLine(command, 80).replaceAll(/[/\\?#]/g, "∕");
}
