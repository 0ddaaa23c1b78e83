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
  /** Key of the explanation among the strings of the page. */
  readonly words: string;
  readonly command: CommandName;
}

const COMMANDS: readonly CommandRow[] = [
  { name: "plan", icon: "list-tree", words: "commandPlan", command: "cairn.chooseMode" },
  { name: "compact", icon: "fold", words: "commandCompact", command: "cairn.compact" },
  { name: "export", icon: "export", words: "commandExport", command: "cairn.exportMarkdown" },
  { name: "mode", icon: "checklist", words: "commandMode", command: "cairn.chooseMode" },
  { name: "model", icon: "hubot", words: "commandModel", command: "cairn.chooseModel" },
];

export function commandRows(query: string): readonly CommandRow[] {
  return COMMANDS.filter(({ name }) => name.startsWith(query));
}
