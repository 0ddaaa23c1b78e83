import { l10n } from "vscode";

import type { MessageRole, ToolState } from "../protocol";
import { leftText } from "../plan/rowItems";
import type { Entry } from "../stores/transcript";
import { exact, oneLine, plainHosts, visible } from "../text/display";
import { textOf } from "../text/messages";
import { endText, stateText } from "../text/states";

/** Lines of a tool's output shown from its beginning and its end, where the news is. */
const HEAD_LINES = 8;
const TAIL_LINES = 20;
/** Calls of a subagent that are shown under the call that started it, the newest ones. */
const SUBAGENT_CALLS = 12;

type Tool = Extract<Entry, { kind: "tool" }>;

/** The conversation as plain text. Marks at the start of a line are all the grammar there is. */
export function renderConversation(entries: readonly Entry[]): string {
  if (entries.length === 0) {
    return `${l10n.t("No conversation yet. “Agent: run task” starts one.")}\n`;
  }
  let text = "";
  let last: Entry["kind"] | undefined;
  const known = new Set(entries.map(({ id }) => id));
  const below = subagentCalls(entries);
  for (const entry of entries) {
    if (entry.kind === "tool" && entry.parent !== undefined && known.has(entry.parent)) {
      continue;
    }
    const block = renderEntry(entry, below.get(entry.id));
    if (block !== "") {
      // Calls made one after the other stand together.
      text += last === undefined ? block : `${last === "tool" && entry.kind === "tool" ? "\n" : "\n\n"}${block}`;
      last = entry.kind;
    }
  }
  return `${text}\n`;
}

/** The calls of subagents, by the call that started each. */
function subagentCalls(entries: readonly Entry[]): Map<string, Tool[]> {
  const below = new Map<string, Tool[]>();
  for (const entry of entries) {
    if (entry.kind === "tool" && entry.parent !== undefined) {
      below.set(entry.parent, [...(below.get(entry.parent) ?? []), entry]);
    }
  }
  return below;
}

/** In one line each: what matters of them is in the subagent's report. */
function renderSubagentCalls(calls: readonly Tool[]): string[] {
  const left = Math.max(0, calls.length - SUBAGENT_CALLS);
  return [
    ...(left === 0 ? [] : [`    ${left === 1 ? l10n.t("… 1 earlier call …") : l10n.t("… {0} earlier calls …", left)}`]),
    ...calls.slice(left).map((call) => {
      const { state, command } = call;
      const asked = state === "awaitingApproval" && command !== undefined ? prefixedLines(exact(command), "      $ ") : [];
      return [`    ${toolLine(call)}`, ...asked].join("\n");
    }),
  ];
}

function toolLine({ title, state }: Tool): string {
  return `${mark(state)} ${oneLine(textOf(title), 160)}${state === "done" ? "" : `  (${stateText(state, true)})`}`;
}

function renderEntry(entry: Entry, below: readonly Tool[] = []): string {
  switch (entry.kind) {
    case "message":
      return renderMessage(entry.role, entry.notice === undefined ? entry.text : textOf(entry.notice), entry.incomplete);
    case "tool":
      return renderTool(entry, below);
    case "end":
      return [
        `■ ${capital([endText(entry.reason), ...leftText(entry)].join(" · "))}`,
        ...quoted(entry.problem === undefined ? entry.summary : textOf(entry.problem), "  "),
      ].join("\n");
  }
}

function renderMessage(role: MessageRole, text: string, incomplete: boolean): string {
  const shown = plainHosts(visible(text)).trimEnd();
  if (shown === "") {
    return "";
  }
  const cut = incomplete ? `\n[${l10n.t("cut off: not part of the conversation")}]` : "";
  switch (role) {
    case "user":
      return prefixed(shown, "❯ ", "  ");
    case "assistant":
      return shown + cut;
    case "thinking":
      return prefixed(shown + cut, "┊ ", "┊ ");
    case "reminder":
      // Guidance for the model is no part of what the user and the agent say to each other.
      return "";
    case "notice":
      return prefixed(shown, "! ", "! ");
  }
}

function renderTool(tool: Tool, below: readonly Tool[]): string {
  const { detail, command } = tool;
  const whole = command === undefined ? [] : prefixedLines(exact(command), "  $ ");
  return [toolLine(tool), ...whole, ...renderSubagentCalls(below), ...shortened(quoted(detail, "  │ "))].join("\n");
}

function mark(state: ToolState): string {
  switch (state) {
    case "queued":
    case "running":
      return "○";
    case "awaitingApproval":
      return "?";
    case "done":
      return "✓";
    case "failed":
      return "✗";
    case "declined":
    case "cancelled":
      return "⊘";
  }
}

function quoted(text: string, prefix: string): string[] {
  return text.trim() === "" ? [] : prefixedLines(plainHosts(visible(text)).trimEnd(), prefix);
}

function prefixedLines(text: string, prefix: string): string[] {
  return text.split("\n").map((line) => `${prefix}${line}`);
}

function shortened(lines: string[]): string[] {
  const left = lines.length - HEAD_LINES - TAIL_LINES;
  return left <= 1 ? lines : [...lines.slice(0, HEAD_LINES), `  │ ${l10n.t("… {0} lines …", left)}`, ...lines.slice(-TAIL_LINES)];
}

function prefixed(text: string, first: string, rest: string): string {
  return text
    .split("\n")
    .map((line, index) => (index === 0 ? first : rest) + line)
    .join("\n");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
