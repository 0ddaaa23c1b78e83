import type { ApprovalDecision, ApproveParams } from "../protocol";
import { count, exact, inert, label, oneExactLine, oneLine } from "./display";

/** Longest command that a notification shows well. */
const COMMAND_CHARS = 240;
/** Longest rule that is shown whole below its answer; others have lines of their own. */
const RULE_CHARS = 100;
/** Longest line that a list shows without cutting it. */
const ROW_CHARS = 90;
/** At the beginning of what belongs to the line above. */
const GOES_ON = "↪ ";

type Asked = Pick<ApproveParams, "title" | "command" | "child">;

/**
 * The text of the notification that asks for an approval. Only when it is `whole` does it show
 * exactly what would run; else nobody may allow it from there.
 */
export function approvalNotice({ title, command, child }: Asked): { message: string; whole: boolean } {
  const shown = oneExactLine(command, COMMAND_CHARS);
  return { message: inert(`${oneLine(title, 80)}${child === undefined ? "" : ` (${oneLine(child, 60)})`}? ${shown}`), whole: shown === command.replace(/\n+$/, "") };
}

/** The whole command, line by line; a line that is too long to be shown goes on in the next row. */
export function commandRows(command: string): string[] {
  return exact(command)
    .split("\n")
    .flatMap((line) => {
      const chars = [...line];
      const rows = [];
      for (let at = 0; at === 0 || at < chars.length; at += ROW_CHARS) {
        rows.push((at === 0 ? "" : GOES_ON) + chars.slice(at, at + ROW_CHARS).join(""));
      }
      return rows;
    })
    .map((row) => inert(row === "" ? " " : row));
}

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
export function answerRows({ command, cwd, rules, rulesFolder }: Pick<ApproveParams, "command" | "cwd" | "rules" | "rulesFolder">): AnswerRow[] {
  const [only] = rules;
  const inDetail = rules.length === 1 && only !== undefined && only.length <= RULE_CHARS;
  const always: AnswerRow = {
    label: `$(shield) Always allow in ${rulesFolder === undefined ? "this folder" : label(rulesFolder)}`,
    description: inDetail ? "word for word:" : `${count(rules.length, "command")}, word for word: see below`,
    ...(inDetail ? { detail: inert(exact(only)) } : {}),
    answer: { decision: "allowAlways" },
  };
  return [
    { label: "$(check) Allow once", answer: { decision: "allowOnce" } },
    { label: "$(check-all) Allow for this session", description: "exactly this, again", answer: { decision: "allowSession" } },
    ...(rules.length === 0 ? [] : [always]),
    { label: "$(comment) Allow and say…", description: "words for the agent", answer: { decision: "allowOnce", words: true } },
    { label: "$(circle-slash) Deny", answer: { decision: "deny" } },
    { label: "$(comment) Deny and say why…", description: "words for the agent", answer: { decision: "deny", words: true } },
    { label: `in ${label(cwd)}`, separator: true },
    ...lines(command),
    ...(rules.length === 0 || inDetail ? [] : [{ label: "Always would allow, word for word", separator: true as const }, ...rules.flatMap(lines)]),
  ];
}

function lines(text: string): AnswerRow[] {
  return commandRows(text).map((row) => ({ label: row }));
}

/** The name of the document that shows what would change: `Change package.json.diff`. */
export function previewName({ command }: Pick<ApproveParams, "command">): string {
  return `${oneLine(command, 80).replaceAll(/[/\\?#]/g, "∕")}.diff`;
}
