import { l10n } from "vscode";

import type { Hunk, ReviewNotification } from "../protocol";
import type { Approval } from "../text/approval";
import { exact, oneLine, visible } from "../text/display";
import type { Card, EditCard } from "./messages";

/** Most lines of edits in a card, and most characters of each. */
const MOST_LINES = 40;
const LINE_CHARS = 300;

/** The question of an approval in parts. The command is whole: every character of it can be seen. */
export function approvalCard(params: Approval): Card {
  const { approvalId, title, command, cwd, reason, rules, subagent, quarantined, preview, risk, forSession, pattern = "", rulesFolder = "" } = params;
  return {
    id: approvalId,
    question: `${oneLine(title, 120)}?`,
    asker: subagent === undefined ? "" : oneLine(subagent, 80),
    command: exact(command),
    folder: visible(cwd),
    reason: oneLine(reason, 300),
    risk,
    forSession: oneLine(forSession, 120),
    rules: rules.map(exact),
    pattern: exact(pattern),
    rulesFolder: visible(rulesFolder),
    change: preview !== undefined,
    quarantined: quarantined === true,
  };
}

/** The edits of a file that the agent waits for, with the lines they remove and add. */
export function editCard(file: ReviewNotification): EditCard {
  const { uri, rev, hunks, from } = file;
  const lines = hunks.flatMap(linesOf);
  return {
    id: uri,
    question: questionOf(file),
    note: from === undefined ? "" : l10n.t("Moved from {0}", oneLine(from, 200)),
    lines: lines.slice(0, MOST_LINES).map(({ sign, text }) => ({ sign, text: visible(text).slice(0, LINE_CHARS) })),
    more: Math.max(0, lines.length - MOST_LINES),
    added: hunks.reduce((sum, { addedLines }) => sum + addedLines, 0),
    removed: hunks.reduce((sum, { removedLines }) => sum + removedLines, 0),
    rev,
  };
}

function questionOf({ kind, path }: ReviewNotification): string {
  const name = oneLine(path, 100);
  switch (kind) {
    case "created":
      return l10n.t("Create {0}?", name);
    case "deleted":
      return l10n.t("Delete {0}?", name);
    case "moved":
      return l10n.t("Move {0}?", name);
    case "edited":
      return l10n.t("Change {0}?", name);
  }
}

function linesOf({ oldText, newText, removedLines, addedLines }: Hunk): EditCard["lines"] {
  const of = (sign: "+" | "−", text: string, count: number): EditCard["lines"] =>
    count === 0 ? [] : text.split("\n").map((line) => ({ sign, text: line.replace(/\r$/u, "") }));
  return [...of("−", oldText, removedLines), ...of("+", newText, addedLines)];
}
