import { l10n } from "vscode";

import type { ApprovalDecision, ApprovalQuestion, ApproveParams, CallDecision, CommandRisk, SessionScope } from "../protocol";
import { timeOfDay } from "./ago";
import { exact, inert, label, oneExactLine, oneLine } from "./display";
import { type CodedMessage, listOf, messageText } from "./messages";
import { pieces } from "./width";

/** Longest command that a notification shows well. */
const COMMAND_CHARS = 240;
/** The width of a row that a list never cuts, in em of its letters: in a window of 700 pixels. */
const ROW_EM = 29;
/** At the beginning of what belongs to the line above. */
const GOES_ON = "↪ ";

type Asked = Pick<ApproveParams, "title" | "command" | "subagent" | "changed" | "quarantined" | "risks">;

const risks: Readonly<Record<CommandRisk, string>> = {
  deletesFiles: l10n.t("deletes files"),
  discardsChanges: l10n.t("discards uncommitted changes"),
  rewritesHistory: l10n.t("rewrites history"),
  leavesWorkspace: l10n.t("leaves the workspace"),
  changesControlFiles: l10n.t("changes files that decide what runs"),
  lacksNetwork: l10n.t("needs the network: will fail"),
  cannotTell: l10n.t("hides its effects"),
};

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

/** Effects of a command that make an answer risky, in one line; empty without one. */
export function riskLine({ risks: found = [] }: Pick<ApproveParams, "risks">): string {
  // A later daemon may know more of them.
  const words = found.map((risk) => (risks as Partial<Record<string, string>>)[risk] ?? l10n.t("has a risk that this version does not know"));
  return [...new Set(words)].join(" · ");
}

/** Scope of an approval for the session, as a part of a sentence. */
const scopes: Readonly<Record<SessionScope, string>> = {
  sameCommand: l10n.t("exactly this command, again"),
  sameFile: l10n.t("this file, as often as it likes"),
  anyChangeOfFile: l10n.t("any change of this file"),
  sameAction: l10n.t("exactly this, again"),
  anyPlanChange: l10n.t("any change of the plan"),
  anySubagent: l10n.t("any subagent"),
  anyUseOfProcesses: l10n.t("reading and stopping processes"),
  anyInput: l10n.t("anything typed into this process"),
  once: l10n.t("these files, this once"),
};

/** The question in the extension's own words, or in the daemon's for codes of a newer daemon. */
export function inOwnWords(params: ApproveParams): ApproveParams {
  const { question, reasons = [], sessionScope } = params;
  const sentences = reasons.flatMap((reason: CodedMessage) => messageText(reason) ?? []);
  return {
    ...params,
    title: messageText(question) ?? params.title,
    command: fileLine(question) ?? params.command,
    reason: sentences.length === 0 || sentences.length < reasons.length ? params.reason : sentences.join(" "),
    forSession: (sessionScope === undefined ? undefined : scopes[sessionScope]) ?? params.forSession,
  };
}

/** Line in the place of a command for a question about files. Not a bare path, which could be read as a command. */
function fileLine(question: ApprovalQuestion | undefined): string | undefined {
  switch (question?.code) {
    case "read_secret_file":
      return l10n.t("Read {file}", question.args);
    case "change_protected_file":
      return l10n.t("Change {file}", question.args);
    case "delete_protected_file":
      return l10n.t("Delete {file}", question.args);
    case "move_protected_file":
      return l10n.t("Move {from} to {to}", question.args);
    case "run_command":
    case "run_unsandboxed":
    case "change_plan":
    case "start_subagent":
    case "use_process":
    case "type_into_process":
    case undefined:
      return undefined;
    case "return_files":
      return listOf(question.args.files);
  }
}

/**
 * The text of the notification that asks for an approval. Only when it is `whole` does it show
 * exactly what would run; otherwise it offers no Allow.
 */
export function approvalNotice({ title, command, subagent, changed, quarantined, ...asked }: Asked): { message: string; whole: boolean } {
  const shown = oneExactLine(command, COMMAND_CHARS);
  const asker = subagent === undefined ? "" : ` (${oneLine(subagent, 60)})`;
  const since = changed === undefined ? "" : ` ${changedSince(changed)}`;
  const event = quarantined === true ? l10n.t("Protected files appeared or changed while a command ran. Cairn moved them to quarantine.") + " " : "";
  const risk = riskLine(asked);
  const warning = risk === "" ? "" : ` (${risk})`;
  return { message: inert(`${event}${oneLine(title, 80)}${asker}?${since} ${shown}${warning}`), whole: shown === command.replace(/\n+$/, "") };
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
    .map((row) => inert(row === "" ? " " : row));
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
  asked: Pick<ApproveParams, "command" | "cwd" | "rules" | "pattern" | "rulesFolder" | "forSession" | "quarantined" | "changed">,
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
    ...(inDetail ? { detail: inert(exact(only)) } : {}),
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
    ...(changed === undefined ? [] : pieces(`$(warning) ${inert(changedSince(changed))}`, ROW_EM).map((row) => ({ label: row }))),
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
    detail: inert(exact(pattern)),
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
export function previewName({ command }: Pick<ApproveParams, "command">): string {
  return oneLine(command, 80).replaceAll(/[/\\?#]/g, "∕");
}
