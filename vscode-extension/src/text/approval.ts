import { l10n } from "vscode";

import type { ApprovalDecision, ApproveParams, CallDecision, UiMessage } from "../protocol";
import { timeOfDay } from "./ago";
import { exact, plainText, label, oneExactLine, oneLine } from "./display";
import { textOf } from "./messages";
import { pieces } from "./width";

/** Longest command in a notification. */
const COMMAND_CHARS = 240;
/** The width of a row that a list never cuts, in em of its letters: in a window of 700 pixels. */
const ROW_EM = 29;
/** At the beginning of what belongs to the line above. */
const GOES_ON = "↪ ";

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

/** The whole command, line by line; a line that is too long continues in the next row. */
export function commandRows(command: string): string[] {
  return exact(command)
    .split("\n")
    .flatMap((line) => pieces(line, ROW_EM).map((piece, at) => (at === 0 ? "" : GOES_ON) + piece))
    .map((row) => plainText(row === "" ? " " : row));
}

/** A row of the list of rules that "Always…" would store. */
export interface AlwaysRow {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  /** Separator between two parts of the list. */
  readonly separator?: true;
  readonly decision?: ApprovalDecision;
}

/** The two answers "always", then the rules, each over several rows if it is long: a list shows only short rows. */
export function alwaysRows({ rules, pattern, rulesFolder }: Pick<Approval, "rules" | "pattern" | "rulesFolder">): AlwaysRow[] {
  const [only] = rules;
  const inDetail = rulesFolder === undefined && rules.length === 1 && only !== undefined && commandRows(only).length === 1;
  const always: AlwaysRow = {
    label: `$(shield) ${rulesFolder === undefined ? l10n.t("Always Allow in This Folder") : l10n.t("Always Allow in the Folder It Enters")}`,
    description: inDetail ? l10n.t("word for word:") : wordForWord(rules.length),
    ...(inDetail ? { detail: plainText(exact(only)) } : {}),
    decision: "allowAlways",
  };
  return [
    always,
    ...(pattern === undefined ? [] : [withMore(pattern, rulesFolder)]),
    // A separator has no label: it would be drawn in the next row and cut the text there.
    ...(inDetail
      ? []
      : [{ label: "", separator: true } as const, ...rules.flatMap(lines), ...(rulesFolder === undefined ? [] : folder(rulesFolder))]),
  ];
}

function withMore(pattern: string, rulesFolder: string | undefined): AlwaysRow {
  return {
    label: `$(shield) ${rulesFolder === undefined ? l10n.t("Always Allow in This Folder, with Any Further Words") : l10n.t("Always Allow in the Folder It Enters, with Any Further Words")}`,
    detail: plainText(exact(pattern)),
    decision: "allowPattern",
  };
}

function wordForWord(rules: number): string {
  return rules === 1 ? l10n.t("1 command, word for word: see below") : l10n.t("{0} commands, word for word: see below", rules);
}

/** Row for the folder in which a command runs, marked unlike any line of a command. */
function folder(path: string): AlwaysRow[] {
  return pieces(`$(folder) ${label(path)}`, ROW_EM).map((row) => ({ label: row }));
}

function lines(text: string): AlwaysRow[] {
  return commandRows(text).map((row) => ({ label: row }));
}

/** Name of the document with the proposed change: `Change package.json`. */
export function previewName({ command }: Pick<Approval, "command">): string {
  return oneLine(command, 80).replaceAll(/[/\\?#]/g, "∕");
}
