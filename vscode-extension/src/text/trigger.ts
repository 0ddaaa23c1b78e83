import { l10n } from "vscode";

import type { CommandName } from "../conversation/messages";

/** A mention or a command that is being written: from its sign to the cursor. */
export interface Trigger {
  readonly sign: "@" | "/";
  readonly query: string;
  readonly start: number;
  readonly end: number;
}

const QUERY_CHARS = 100;

/** The mention at the cursor, after a space or at the start of a line; or the command at the start of the text. */
export function triggerAt(text: string, cursor: number): Trigger | undefined {
  const before = text.slice(Math.max(0, cursor - QUERY_CHARS - 1), cursor);
  const [, query] = /(?:^|[\s(])@([^\s@]*)$/u.exec(before) ?? [];
  if (query !== undefined) {
    return { sign: "@", query, start: cursor - query.length - 1, end: cursor };
  }
  const [, command] = /^\/([a-z]*)$/u.exec(text.slice(0, cursor)) ?? [];
  return command === undefined ? undefined : { sign: "/", query: command, start: 0, end: cursor };
}

interface CommandRow {
  readonly name: string;
  readonly icon: string;
  readonly words: string;
  readonly command: CommandName;
}

const COMMANDS: readonly CommandRow[] = [
  { name: "plan", icon: "list-tree", words: l10n.t("choose plan mode or another one"), command: "cairn.chooseMode" },
  { name: "compact", icon: "fold", words: l10n.t("shorten the conversation to save room"), command: "cairn.compact" },
  { name: "export", icon: "export", words: l10n.t("save the conversation as Markdown"), command: "cairn.exportMarkdown" },
  { name: "mode", icon: "checklist", words: l10n.t("choose how edits are reviewed"), command: "cairn.chooseMode" },
  { name: "model", icon: "hubot", words: l10n.t("choose the model"), command: "cairn.chooseModel" },
];

export function commandRows(query: string): readonly CommandRow[] {
  return COMMANDS.filter(({ name }) => name.startsWith(query));
}
