import type { ApprovalDecision, ApproveParams } from "../protocol";
import { count, exact, inert, label, oneExactLine, oneLine } from "./display";
import { pieces } from "./width";

/** Longest command that a notification shows well. */
const COMMAND_CHARS = 240;
/** The width of a row that a list never cuts, in em of its letters: in a window of 700 pixels. */
const ROW_EM = 29;
/** At the beginning of what belongs to the line above. */
const GOES_ON = "↪ ";

type Asked = Pick<ApproveParams, "title" | "command" | "child" | "changed" | "quarantined">;

/**
 * The text of the notification that asks for an approval. Only when it is `whole` does it show
 * exactly what would run; else nobody may allow it from there.
 */
export function approvalNotice({ title, command, child, changed, quarantined }: Asked): { message: string; whole: boolean } {
  const shown = oneExactLine(command, COMMAND_CHARS);
  const asker = child === undefined ? "" : ` (${oneLine(child, 60)})`;
  const since = changed === undefined ? "" : ` ${changedSince(changed)}`;
  const event = quarantined === true ? "A command made or changed protected files. Cairn moved them to quarantine. " : "";
  return { message: inert(`${event}${oneLine(title, 80)}${asker}?${since} ${shown}`), whole: shown === command.replace(/\n+$/, "") };
}

/** Sentence about a file behind a command that the user allowed before. */
function changedSince(file: string): string {
  return `“${oneLine(file, 60)}” changed since you allowed it:`;
}

/** The whole command, line by line; a line that is too long to be shown goes on in the next row. */
export function commandRows(command: string): string[] {
  return exact(command)
    .split("\n")
    .flatMap((line) => pieces(line, ROW_EM).map((piece, at) => (at === 0 ? "" : GOES_ON) + piece))
    .map((row) => inert(row === "" ? " " : row));
}

/** Answers about files that a command left and that were moved to quarantine. */
export const LEAVE = "Leave in quarantine";
export const MOVE_BACK = "Move to workspace";

/** A line of the list in which a question is answered. */
export interface AnswerRow {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  /** Divides what is below from what is above. */
  readonly separator?: true;
  readonly answer?: Answer;
}

export interface Answer {
  readonly decision: ApprovalDecision;
  /** Words are asked for first. */
  readonly words?: true;
}

/** The answers, then what they are about, line by line: a list can show no longer text than that. */
export function answerRows(
  asked: Pick<ApproveParams, "command" | "cwd" | "rules" | "rulesFolder" | "forSession" | "quarantined" | "changed">,
): AnswerRow[] {
  const { command, cwd, rules, rulesFolder, forSession, quarantined, changed } = asked;
  if (quarantined === true) {
    return [
      { label: `$(circle-slash) ${LEAVE}`, description: "nothing runs or follows them there", answer: { decision: "deny" } },
      { label: "$(comment) Leave and say why…", description: "words for the agent", answer: { decision: "deny", words: true } },
      { label: `$(reply) ${MOVE_BACK}`, description: "git, the editor or a shell may run them", answer: { decision: "allowOnce" } },
      DIVIDED,
      ...lines(command),
    ];
  }
  const [only] = rules;
  const inDetail = rulesFolder === undefined && rules.length === 1 && only !== undefined && commandRows(only).length === 1;
  const always: AnswerRow = {
    label: `$(shield) Always allow in ${rulesFolder === undefined ? "this folder" : "the folder it enters"}`,
    description: inDetail ? "word for word:" : `${count(rules.length, "command")}, word for word: see below`,
    ...(inDetail ? { detail: inert(exact(only)) } : {}),
    answer: { decision: "allowAlways" },
  };
  return [
    { label: "$(check) Allow once", answer: { decision: "allowOnce" } },
    { label: "$(check-all) Allow for this session", description: oneLine(forSession, 60), answer: { decision: "allowSession" } },
    ...(rules.length === 0 ? [] : [always]),
    { label: "$(comment) Allow and say…", description: "words for the agent", answer: { decision: "allowOnce", words: true } },
    { label: "$(circle-slash) Deny", answer: { decision: "deny" } },
    { label: "$(comment) Deny and say why…", description: "words for the agent", answer: { decision: "deny", words: true } },
    // No words on the dividing lines: they would stand in the next row, and cut what is said there.
    DIVIDED,
    ...(changed === undefined ? [] : pieces(`$(warning) ${inert(changedSince(changed))}`, ROW_EM).map((row) => ({ label: row }))),
    ...lines(command),
    ...folder(cwd),
    ...(rules.length === 0 || inDetail
      ? []
      : [
          DIVIDED,
          { label: "$(shield) Always would allow, word for word:" },
          ...rules.flatMap(lines),
          ...(rulesFolder === undefined ? [] : folder(rulesFolder)),
        ]),
  ];
}

const DIVIDED: AnswerRow = { label: "", separator: true };

/** Where something runs, which no line of a command looks like. */
function folder(path: string): AnswerRow[] {
  return pieces(`$(folder) ${label(path)}`, ROW_EM).map((row) => ({ label: row }));
}

function lines(text: string): AnswerRow[] {
  return commandRows(text).map((row) => ({ label: row }));
}

/** The name of the document that shows what would change: `Change package.json`. */
export function previewName({ command }: Pick<ApproveParams, "command">): string {
  return oneLine(command, 80).replaceAll(/[/\\?#]/g, "∕");
}
