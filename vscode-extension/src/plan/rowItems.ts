import * as vscode from "vscode";
import { env, l10n } from "vscode";

import type { EndReason, SubagentPhase, ToolState } from "../protocol";
import { type Turn, isRunning } from "../stores/session";
import { firstParagraph, lastQuestion } from "../text/answer";
import * as counted from "../text/counts";
import { oneExactLine, oneLine, visible } from "../text/display";
import { textOf } from "../text/messages";
import { wordsOfOwn } from "../text/ownMessages";
import { duration, spokenDuration } from "../text/duration";
import { hasFailed, lastLine, processState } from "../text/processes";
import { capitalised, endText, stateText } from "../text/states";
import { plain, planMarkdown } from "./markdown";
import {
  type SubagentRow,
  type CommandRow,
  type DroppedRow,
  type EarlierRow,
  type FileRow,
  type HistoryRow,
  type ItemRow,
  type ProcessRow,
  type RootRow,
  type TurnRow,
  byKind,
  isDeclaredOnly,
  openItems,
} from "./rows";

/** Texts of a row: label, description, tooltip, and the text for screen readers. */
export interface RowText {
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly spoken: string;
}

const WARNING = themed("warning", "list.warningForeground");
const FAILED = themed("error", "list.errorForeground");
const STOPPED = new vscode.ThemeIcon("circle-slash");
const GONE = new vscode.ThemeIcon("debug-disconnect");
const RUNS = themed("loading~spin", "cairn.activeForeground");

const ENDS: Readonly<Record<EndReason, vscode.ThemeIcon>> = {
  completed: themed("pass", "cairn.completedForeground"),
  needsInput: new vscode.ThemeIcon("question"),
  failed: FAILED,
  limit: WARNING,
  interrupted: WARNING,
  cancelled: STOPPED,
};

/** Icons of commands, while their turn runs and in any case. */
const LIVE: Readonly<Partial<Record<ToolState, vscode.ThemeIcon>>> = {
  awaitingApproval: WARNING,
  queued: new vscode.ThemeIcon("watch"),
  running: RUNS,
};
const OVER: typeof LIVE = { done: themed("check", "cairn.completedForeground"), failed: FAILED, declined: STOPPED, cancelled: STOPPED };

const WAITS = l10n.t("waits for you");
const UNCHECKED = l10n.t("no successful check since the last edit");

export const rowText = byKind<RowText>({
  turn: turnText,
  root: rootText,
  item: itemText,
  subagent: subagentText,
  file: fileText,
  command: commandText,
  process: processText,
  dropped: droppedText,
  history: historyText,
  earlier: earlierText,
});

/** Work that the end of a turn leaves, each fact on its own. */
export function leftText({ openItems: open, uncheckedEdits = false }: { readonly openItems: number; readonly uncheckedEdits?: boolean }): string[] {
  const items = open === 0 ? [] : [open === 1 ? l10n.t("1 plan item open") : l10n.t("{0} plan items open", open)];
  return uncheckedEdits ? [...items, UNCHECKED] : items;
}

function turnText({ turn, waits }: TurnRow): RowText {
  const task = turn.text === "" ? l10n.t("Task") : (wordsOfOwn(turn.text) ?? oneLine(turn.text, 120));
  switch (turn.phase.kind) {
    case "started":
      return waits
        ? { label: task, description: WAITS, tooltip: task, spoken: stateOf(task, WAITS) }
        : { label: task, description: l10n.t("working"), tooltip: task, spoken: l10n.t("Working on: {0}", task) };
    case "interrupted":
      return { label: task, description: l10n.t("interrupted"), tooltip: task, spoken: stateOf(task, l10n.t("interrupted")) };
    case "ended": {
      const outcome = list(endText(turn.phase.reason), ...leftText(turn.phase));
      const summary = oneLine(turn.phase.problem === undefined ? firstParagraph(turn.phase.summary) : textOf(turn.phase.problem), 600);
      return { label: task, description: outcome, tooltip: lines(task, summary), spoken: stateOf(task, outcome) };
    }
  }
}

function rootText({ plan, running, waits, turn, task, ready }: RootRow): RowText {
  const state = list(ready ? l10n.t("waits for your approval") : outcomeText(turn, running), remainder(openItems(plan)), unchecked(turn));
  const shown = running && turn !== undefined ? (waits ? WAITS : l10n.t("working")) : state;
  const words = oneLine(task, 120);
  return {
    // The header of the view shows the progress.
    label: words || l10n.t("Plan"),
    description: shown,
    tooltip: lines(oneLine(task, 300), done(plan), question(turn)),
    spoken:
      words === ""
        ? l10n.t("Plan, {0} of {1} done, {2}", plan.completed, plan.total, shown)
        : l10n.t("{0}. Plan, {1} of {2} done, {3}", words, plan.completed, plan.total, shown),
  };
}

/** Outcome of the turn of the plan, if the steps do not show it. */
function outcomeText(turn: Turn | undefined, running: boolean): string {
  if (turn === undefined || running) {
    return "";
  }
  switch (turn.phase.kind) {
    case "started":
      return "";
    case "interrupted":
      return l10n.t("interrupted");
    case "ended":
      return turn.phase.reason === "completed" ? "" : endText(turn.phase.reason);
  }
}

const unchecked = (turn: Turn | undefined): string => (turn?.phase.kind === "ended" && turn.phase.uncheckedEdits ? UNCHECKED : "");

function question(turn: Turn | undefined): string {
  const phase = turn?.phase;
  return phase?.kind === "ended" && phase.reason === "needsInput" ? oneLine(lastQuestion(phase.summary), 600) : "";
}

const remainder = (open: number): string => (open === 0 ? l10n.t("done") : l10n.t("{0} open", open));

function itemText(row: ItemRow): RowText {
  const { item } = row;
  const number = row.numbered ? `#${oneLine(item.id, 12)} ` : "";
  const content = `${number}${oneLine(item.content, 300)}`;
  const active = `${number}${oneLine(item.activeForm, 300) || oneLine(item.content, 300)}`;
  const inProgress = item.status === "inProgress" && row.running;
  const label = inProgress ? active : content;
  const { shown, said } = itemState(row, inProgress);
  const counts = list(
    item.files.length === 0 ? "" : counted.files(item.files.length),
    item.commands.length === 0 ? "" : counted.commands(item.commands.length),
    row.edits === 0 ? "" : counted.editsToReview(row.edits),
  );
  return {
    label,
    description: shown,
    tooltip: lines(
      `${number}${oneLine(item.content, 1_000)}`,
      capitalised(said),
      item.status === "completed" && isDeclaredOnly(item) ? l10n.t("The agent says it is done; nothing was recorded under it.") : "",
      ...row.blockers.map((blocker) => l10n.t("Waits for #{0} {1}", oneLine(blocker.id, 12), oneLine(blocker.content, 300))),
      counts,
    ),
    spoken: list(label, said, counts),
  };
}

function itemState({ item, blockers, activity }: ItemRow, inProgress: boolean): { shown: string; said: string } {
  const took = item.elapsedMs >= 1_000;
  if (inProgress) {
    const shown = oneLine(activity, 80);
    return { shown, said: list(l10n.t("in progress"), shown) };
  }
  if (item.status === "completed") {
    if (isDeclaredOnly(item)) {
      return { shown: l10n.t("no recorded work"), said: l10n.t("completed, no recorded work") };
    }
    return took
      ? { shown: duration(whole(item.elapsedMs)), said: l10n.t("completed in {0}", spoken(whole(item.elapsedMs))) }
      : { shown: "", said: l10n.t("completed") };
  }
  if (item.status === "cancelled") {
    return { shown: l10n.t("cancelled"), said: l10n.t("cancelled") };
  }
  if (item.status === "inProgress") {
    return { shown: l10n.t("begun"), said: took ? l10n.t("begun, {0} so far", spoken(whole(item.elapsedMs))) : l10n.t("begun") };
  }
  if (item.blocked || blockers.length > 0) {
    const by = blockers.map(({ id }) => `#${oneLine(id, 12)}`).join(", ");
    const shown = by === "" ? l10n.t("blocked") : l10n.t("blocked by {0}", by);
    return { shown, said: shown };
  }
  return { shown: "", said: took ? l10n.t("open, {0} so far", spoken(whole(item.elapsedMs))) : l10n.t("open") };
}

function subagentText({ subagent, activity, live }: SubagentRow): RowText {
  const title = oneLine(subagent.title, 120);
  const state = subagentState(subagent.phase, live);
  const progress = subagent.total === 0 ? "" : `${subagent.completed}/${subagent.total}`;
  const doing = live ? oneLine(activity, 80) : "";
  // The icon shows that it works or is done.
  const quiet = isDone(subagent.phase) || (live && subagent.phase.kind === "running" && (progress !== "" || doing !== ""));
  const said = subagent.total === 0 ? "" : done(subagent);
  const tokens = subagent.usage.inputTokens + subagent.usage.outputTokens;
  const spent = list(subagent.rounds === 0 ? "" : counted.rounds(subagent.rounds), tokens === 0 ? "" : counted.tokens(tokens));
  return {
    label: title,
    description: [progress, quiet ? "" : state, doing].filter((part) => part !== "").join(" · "),
    tooltip: lines(l10n.t("Subagent: {0}", oneLine(subagent.title, 600)), capitalised(list(state, said)), spent),
    spoken: list(l10n.t("Subagent {0}", title), state, said, doing),
  };
}

/** A subagent that has not ended, while its turn runs. */
const WORKING: Readonly<Record<Exclude<SubagentPhase["kind"], "ended">, { readonly state: string; readonly icon: vscode.ThemeIcon }>> = {
  waiting: { state: l10n.t("waits for others"), icon: new vscode.ThemeIcon("watch") },
  running: { state: l10n.t("working"), icon: RUNS },
};

function subagentState(phase: SubagentPhase, live: boolean): string {
  if (phase.kind === "ended") {
    return isDone(phase) ? l10n.t("done") : endText(phase.reason);
  }
  return live ? WORKING[phase.kind].state : l10n.t("interrupted");
}

/** True also for a question: it is the agent's, so the user need not act. */
function isDone(phase: SubagentPhase): boolean {
  return phase.kind === "ended" && (phase.reason === "completed" || phase.reason === "needsInput");
}

function fileText({ file, edits }: FileRow): RowText {
  const name = oneLine(file.path.split("/").at(-1) ?? file.path);
  const folder = oneLine(file.path.split("/").slice(0, -1).join("/"));
  const path = oneLine(file.path);
  return {
    label: name,
    description: [edits === 0 ? "" : counted.edits(edits), folder].filter((part) => part !== "").join("  "),
    tooltip: lines(
      oneLine(file.path, 400),
      edits === 0 ? "" : edits === 1 ? l10n.t("1 edit of this step to review") : l10n.t("{0} edits of this step to review", edits),
    ),
    spoken:
      edits === 0
        ? l10n.t("File {0}, nothing to review", path)
        : edits === 1
          ? l10n.t("File {0}, 1 edit to review", path)
          : l10n.t("File {0}, {1} edits to review", path, edits),
  };
}

function commandText({ command, parent }: CommandRow): RowText {
  const { elapsedMs } = command;
  const title = oneLine(textOf(command.title), 300);
  const state = stateText(command.state, parent.running);
  // The icon shows that a command passed, so the row shows its duration.
  const quiet = command.state === "done" && elapsedMs !== undefined;
  return {
    label: title,
    description: list(quiet ? "" : state, elapsedMs === undefined ? "" : duration(elapsedMs)),
    tooltip: lines(
      oneLine(textOf(command.title), 1_000),
      capitalised(elapsedMs === undefined ? state : l10n.t("{0} after {1}", state, duration(elapsedMs))),
    ),
    spoken: list(title, state, elapsedMs === undefined ? "" : spoken(elapsedMs)),
  };
}

function processText({ process }: ProcessRow): RowText {
  // Short, so that its state is in sight after it.
  const command = oneExactLine(process.command, 24);
  const state = processState(process);
  const last = process.phase.kind === "running" ? lastLine(process) : "";
  return {
    label: command,
    description: last === "" ? state : `${state} · ${last}`,
    tooltip: lines(oneExactLine(process.command, 1_000), l10n.t("Process {0}: {1}", process.id, state), visible(process.tail.slice(-1_000))),
    spoken: list(l10n.t("Process {0}", command), state, last),
  };
}

function droppedText({ texts }: DroppedRow): RowText {
  const label = texts.length === 1 ? l10n.t("1 step was dropped") : l10n.t("{0} steps were dropped", texts.length);
  return {
    label,
    description: "",
    tooltip: lines(l10n.t("Left out of the plan while still open:"), ...texts.map((text) => oneLine(text, 300))),
    spoken: stateOf(label, texts.map((text) => oneLine(text)).join("; ")),
  };
}

function historyText({ turns }: HistoryRow): RowText {
  return {
    label: l10n.t("Earlier turns"),
    description: String(turns.length),
    tooltip: l10n.t("Plans of earlier turns of this session, newest first"),
    spoken: list(l10n.t("Earlier turns"), counted.plans(turns.length)),
  };
}

function earlierText({ earlier: { task, reason, plan } }: EarlierRow): RowText {
  const label = oneLine(task, 120) || l10n.t("Task");
  const outcome = reason === "completed" ? remainder(openItems(plan)) : endText(reason);
  return {
    label,
    description: `${plan.completed}/${plan.total} · ${outcome}`,
    tooltip: lines(oneLine(task, 600), list(done(plan), outcome)),
    spoken: list(label, done(plan), outcome),
  };
}

const done = ({ completed, total }: { readonly completed: number; readonly total: number }): string => l10n.t("{0} of {1} done", completed, total);

/** A row and its state, for the ear. */
const stateOf = (row: string, state: string): string => l10n.t("{0}: {1}", row, state);

const spoken = (ms: number): string => spokenDuration(ms, env.language);

/** Facts about a row, one after the other; empty ones are left out. */
const list = (...facts: string[]): string => facts.filter((fact) => fact !== "").join(", ");

const lines = (...parts: string[]): string => parts.filter((part) => part !== "").join("\n");

const whole = (ms: number): number => Math.floor(ms / 1_000) * 1_000;

/** The icon of a row. Nothing spins unless something runs. */
export const iconOf = byKind<vscode.ThemeIcon>({
  turn: ({ waits, turn: { phase } }) =>
    waits ? WARNING : phase.kind === "ended" ? ENDS[phase.reason] : phase.kind === "started" ? new vscode.ThemeIcon("loading~spin") : GONE,
  root: () => new vscode.ThemeIcon("checklist"),
  item: itemIcon,
  subagent: subagentIcon,
  file: () => vscode.ThemeIcon.File,
  command: ({ command, parent }) => (parent.running ? LIVE[command.state] : undefined) ?? OVER[command.state] ?? GONE,
  process: ({ process }) => (isRunning(process) ? themed("server-process", "cairn.activeForeground") : hasFailed(process) ? FAILED : STOPPED),
  dropped: () => themed("dash", "descriptionForeground"),
  history: () => new vscode.ThemeIcon("history"),
  earlier: ({ earlier }) => ENDS[earlier.reason],
});

function itemIcon({ item, running, blockers }: ItemRow): vscode.ThemeIcon {
  if (item.status === "completed") {
    return themed(isDeclaredOnly(item) ? "pass" : "pass-filled", "cairn.completedForeground");
  }
  if (item.status === "cancelled") {
    return themed("dash", "descriptionForeground");
  }
  if (item.status === "inProgress") {
    return running ? themed("loading~spin", "cairn.activeForeground") : new vscode.ThemeIcon("record");
  }
  return new vscode.ThemeIcon(item.blocked || blockers.length > 0 ? "circle-slash" : "circle-large-outline");
}

function subagentIcon({ subagent: { phase }, live }: SubagentRow): vscode.ThemeIcon {
  return phase.kind === "ended" ? ENDS[phase.reason === "needsInput" ? "completed" : phase.reason] : live ? WORKING[phase.kind].icon : GONE;
}

function themed(icon: string, color: string): vscode.ThemeIcon {
  return new vscode.ThemeIcon(icon, new vscode.ThemeColor(color));
}

const show = (...call: unknown[]): vscode.Command => ({ command: "cairn.showConversation", title: l10n.t("Show Conversation"), arguments: call });

/** Command of a click or Enter. Rows with children open and close instead. */
export const commandOf = byKind<vscode.Command | undefined>(
  {
    turn: () => show(),
    command: ({ parent: { sessionId }, command: { callId } }) => show({ sessionId, callId }),
    file: (row) => ({ command: "cairn.openPlanFile", title: l10n.t("Open"), arguments: [row] }),
    process: (row) => ({ command: "cairn.watchProcess", title: l10n.t("Watch Process"), arguments: [row] }),
    subagent: ({ subagent }) => (subagent.total === 0 ? show() : undefined),
  },
  undefined,
);

/** Text that the command Copy puts on the clipboard. */
export const copiedText = byKind<string | undefined>(
  {
    root: ({ plan }) => planMarkdown(plan.items),
    earlier: ({ earlier }) => planMarkdown(earlier.plan.items),
    item: ({ item }) => plain(item.content),
    file: ({ file }) => file.path,
    command: ({ command }) => plain(textOf(command.title)),
    dropped: ({ texts }) => texts.map((text) => `${plain(text)}\n`).join(""),
    turn: ({ turn }) => plain(turn.text),
    subagent: ({ subagent }) => plain(subagent.title),
    process: ({ process }) => process.command,
  },
  undefined,
);
