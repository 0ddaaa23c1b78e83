import { l10n } from "vscode";

import type { ApprovalDecision, ApproveParams, CallDecision, UiMessage } from "../protocol";
import { timeOfDay } from "./ago";
import { exact, plainText, label, oneExactLine, oneLine } from "./display";
import { textOf } from "./messages";
import { pieces } from "./width";

/** Longest command that a notification shows well. */
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

type Asked = Pick<Approval, "title" | "command" | "subagent" | "changed" | "quarantined" | "risk">;

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

/**
 * The text of the notification that asks for an approval. Only when it is `whole` does it show
 * exactly what would run; otherwise it offers no Allow.
 */
export function approvalNotice({ title, command, subagent, changed, quarantined, risk }: Asked): { message: string; whole: boolean } {
  const shown = oneExactLine(command, COMMAND_CHARS);
  const asker = subagent === undefined ? "" : ` (${oneLine(subagent, 60)})`;
  const since = changed === undefined ? "" : ` ${changedSince(changed)}`;
  const event = quarantined === true ? l10n.t("Protected files appeared or changed while a command ran. Cairn moved them to quarantine.") + " " : "";
  const warning = risk === "" ? "" : ` (${risk})`;
  return { message: plainText(`${event}${oneLine(title, 80)}${asker}?${since} ${shown}${warning}`), whole: shown === command.replace(/\n+$/, "") };
}

/** The question in a few words, for a row or the status bar: `Allow? node --test`. */
export function questionWords({ title, command, quarantined }: Asked, limit: number): string {
  return quarantined === true ? `${oneLine(title, limit)}?` : l10n.t("Allow? {0}", oneExactLine(command, limit));
}

/** Sentence about a file behind a command that the user allowed before. */
function changedSince(file: string): string {
  return l10n.t("“{0}” changed since you allowed it:", oneLine(file, 60));
}

/** The whole command, line by line; a line that is too long continues in the next row. */
export function commandRows(command: string): string[] {
  return exact(command)
    .split("\n")
    .flatMap((line) => pieces(line, ROW_EM).map((piece, at) => (at === 0 ? "" : GOES_ON) + piece))
    .map((row) => plainText(row === "" ? " " : row));
}

/** Answers about files that a command left and that were moved to quarantine. */
export const LEAVE = l10n.t("Leave in Quarantine");
export const MOVE_BACK = l10n.t("Move to Workspace");

/** A line of the list in which a question is answered. */
export interface AnswerRow {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  /** Separator between two parts of the list. */
  readonly separator?: true;
  readonly answer?: Answer;
}

export interface Answer {
  readonly decision: ApprovalDecision;
  /** Words are asked for first. */
  readonly words?: true;
}

/** The answers, then the question, line by line, because a list shows only short rows. */
export function answerRows(
  asked: Pick<Approval, "command" | "cwd" | "rules" | "pattern" | "rulesFolder" | "forSession" | "quarantined" | "changed">,
): AnswerRow[] {
  const { command, cwd, rules, pattern, rulesFolder, forSession, quarantined, changed } = asked;
  if (quarantined === true) {
    return [
      { label: `$(circle-slash) ${LEAVE}`, description: l10n.t("nothing runs or follows them there"), answer: { decision: "deny" } },
      {
        label: `$(comment) ${l10n.t("Leave and Say Why…")}`,
        description: l10n.t("with a message to the agent"),
        answer: { decision: "deny", words: true },
      },
      { label: `$(reply) ${MOVE_BACK}`, description: l10n.t("git, the editor or a shell may run them"), answer: { decision: "allowOnce" } },
      DIVIDED,
      ...lines(command),
    ];
  }
  const [only] = rules;
  const inDetail = rulesFolder === undefined && rules.length === 1 && only !== undefined && commandRows(only).length === 1;
  const always: AnswerRow = {
    label: `$(shield) ${rulesFolder === undefined ? l10n.t("Always Allow in This Folder") : l10n.t("Always Allow in the Folder It Enters")}`,
    description: inDetail ? l10n.t("word for word:") : wordForWord(rules.length),
    ...(inDetail ? { detail: plainText(exact(only)) } : {}),
    answer: { decision: "allowAlways" },
  };
  return [
    { label: `$(check) ${l10n.t("Allow Once")}`, answer: { decision: "allowOnce" } },
    { label: `$(check-all) ${l10n.t("Allow for This Session")}`, description: oneLine(forSession, 60), answer: { decision: "allowSession" } },
    ...(rules.length === 0 ? [] : [always]),
    ...(pattern === undefined ? [] : [withMore(pattern, rulesFolder)]),
    {
      label: `$(comment) ${l10n.t("Allow and Say…")}`,
      description: l10n.t("with a message to the agent"),
      answer: { decision: "allowOnce", words: true },
    },
    { label: `$(circle-slash) ${l10n.t("Deny")}`, answer: { decision: "deny" } },
    {
      label: `$(comment) ${l10n.t("Deny and Say Why…")}`,
      description: l10n.t("with a message to the agent"),
      answer: { decision: "deny", words: true },
    },
    // Separators have no label: it would be drawn in the next row and cut the text there.
    DIVIDED,
    ...(changed === undefined ? [] : pieces(`$(warning) ${plainText(changedSince(changed))}`, ROW_EM).map((row) => ({ label: row }))),
    ...lines(command),
    ...folder(cwd),
    ...(rules.length === 0 || inDetail
      ? []
      : [
          DIVIDED,
          { label: `$(shield) ${l10n.t("Always would allow, word for word:")}` },
          ...rules.flatMap(lines),
          ...(rulesFolder === undefined ? [] : folder(rulesFolder)),
        ]),
  ];
}

function withMore(pattern: string, rulesFolder: string | undefined): AnswerRow {
  return {
    label: `$(shield) ${rulesFolder === undefined ? l10n.t("Always Allow in This Folder, with Any Further Words") : l10n.t("Always Allow in the Folder It Enters, with Any Further Words")}`,
    detail: plainText(exact(pattern)),
    answer: { decision: "allowPattern" },
  };
}

function wordForWord(rules: number): string {
  return rules === 1 ? l10n.t("1 command, word for word: see below") : l10n.t("{0} commands, word for word: see below", rules);
}

const DIVIDED: AnswerRow = { label: "", separator: true };

/** Row for the folder in which a command runs, marked unlike any line of a command. */
function folder(path: string): AnswerRow[] {
  return pieces(`$(folder) ${label(path)}`, ROW_EM).map((row) => ({ label: row }));
}

function lines(text: string): AnswerRow[] {
  return commandRows(text).map((row) => ({ label: row }));
}

/** Name of the document with the proposed change: `Change package.json`. */
export function previewName({ command }: Pick<Approval, "command">): string {
  return oneLine(command, 80).replaceAll(/[/\\?#]/g, "∕");
}
