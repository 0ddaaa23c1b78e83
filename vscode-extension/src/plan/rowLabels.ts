import { l10n } from "vscode";

import type { ApproveParams, SubagentPhase, EndReason, ToolState } from "../protocol";
import type { Turn } from "../stores/session";
import { questionWords } from "../text/approval";
import { firstParagraph, lastQuestion } from "../text/answer";
import { count, oneExactLine, oneLine, visible } from "../text/display";
import { messageText } from "../text/messages";
import { duration, spokenDuration } from "../text/duration";
import {
  type SubagentRow,
  type AnswerRow,
  type CommandRow,
  type DecideRow,
  type DroppedRow,
  type EarlierRow,
  type FileRow,
  type HistoryRow,
  type ItemRow,
  type QueuedRow,
  type ReadyRow,
  type RootRow,
  type Row,
  type TurnRow,
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

const WAITS = l10n.t("waits for you");

export function rowText(row: Row): RowText {
  switch (row.kind) {
    case "approval":
      return approvalText(row.params);
    case "decide":
      return decideText(row);
    case "ready":
      return readyText(row);
    case "turn":
      return turnText(row);
    case "answer":
      return answerText(row);
    case "root":
      return rootText(row);
    case "item":
      return itemText(row);
    case "subagent":
      return subagentText(row);
    case "file":
      return fileText(row);
    case "command":
      return commandText(row);
    case "dropped":
      return droppedText(row);
    case "queued":
      return queuedText(row);
    case "history":
      return historyText(row);
    case "earlier":
      return earlierText(row);
  }
}

export function endText(reason: EndReason): string {
  switch (reason) {
    case "completed":
      return "done";
    case "needsInput":
      return "waits for your reply";
    case "cancelled":
      return "cancelled";
    case "failed":
      return "failed";
    case "limit":
      return "stopped at a limit";
    case "interrupted":
      return "interrupted";
  }
}

/** State of a command. Without a running turn, an unfinished command counts as interrupted. */
export function stateText(state: ToolState, running: boolean): string {
  switch (state) {
    case "queued":
      return running ? "queued" : "interrupted";
    case "awaitingApproval":
      return running ? "waits for approval" : "interrupted";
    case "running":
      return running ? "running" : "interrupted";
    case "done":
      return "passed";
    case "failed":
    case "declined":
    case "cancelled":
      return state;
  }
}

function approvalText(params: ApproveParams): RowText {
  const { title, command, reason, cwd, subagent } = params;
  const whose = subagent === undefined ? "" : oneLine(subagent, 80);
  return {
    // The kind comes first, because a long row is cut at its end.
    label: questionWords(params, 120),
    description: whose,
    tooltip: `${whose === "" ? "" : `${whose}\n`}${oneLine(title)}: ${oneExactLine(command, 1_000)}\nin ${oneLine(cwd)}\n${oneLine(reason)}`,
    spoken: `Approval needed. ${oneLine(title)}: ${oneLine(command)}${whose === "" ? "" : `, for ${whose}`}`,
  };
}

function decideText({ file }: DecideRow): RowText {
  const name = oneLine(file.path.split("/").at(-1) ?? file.path);
  const edits = count(file.hunks.length, "edit");
  return {
    label: l10n.t("Decide on {0}", name),
    description: edits,
    tooltip: lines(oneLine(file.path, 400), l10n.t("The agent waits until you have decided on these edits."), edits),
    spoken: l10n.t("Decision needed. {0}, {1}", oneLine(file.path), edits),
  };
}

function readyText({ open }: ReadyRow): RowText {
  const steps = count(open, "step");
  return {
    label: "Run Plan",
    description: steps,
    tooltip: lines("The plan waits for your approval: nothing has been changed yet.", "Reply to have it changed."),
    spoken: ["The plan waits for your approval. Run Plan", steps].filter((part) => part !== "").join(", "),
  };
}

function queuedText({ item, place, held }: QueuedRow): RowText {
  const task = oneLine(item.text, 120);
  const when = held ? "waits for you" : place === 1 ? "next" : "queued";
  const why = held ? "The task before did not complete, so this does not begin by itself." : "Begins when the task before it has completed.";
  return { label: task, description: when, tooltip: lines(oneLine(item.text, 1_000), why), spoken: `To be done next: ${task}, ${when}` };
}

function turnText({ turn, waits }: TurnRow): RowText {
  const task = turn.text === "" ? "Task" : oneLine(turn.text, 120);
  switch (turn.phase.kind) {
    case "started":
      return waits
        ? { label: task, description: WAITS, tooltip: task, spoken: `${task}: ${WAITS}` }
        : { label: task, description: "working", tooltip: task, spoken: `Working on: ${task}` };
    case "interrupted":
      return { label: task, description: "interrupted", tooltip: task, spoken: `${task}: interrupted` };
    case "ended": {
      const outcome = endText(turn.phase.reason);
      const summary = oneLine(messageText(turn.phase.problem) ?? firstParagraph(turn.phase.summary), 600);
      return { label: task, description: outcome, tooltip: lines(task, summary), spoken: `${task}: ${outcome}` };
    }
  }
}

function answerText({ summary, asks }: AnswerRow): RowText {
  const said = asks ? lastQuestion(summary) : firstParagraph(summary);
  const spoken = oneLine(said, 400);
  return {
    label: oneLine(said, 160),
    description: "",
    tooltip: visible(said.slice(0, 1_500)),
    spoken: asks ? l10n.t("Question: {0}", spoken) : l10n.t("Answer: {0}", spoken),
  };
}

function rootText({ plan, running, waits, turn, task, ready }: RootRow): RowText {
  const state = [ready ? "waits for your approval" : outcomeText(turn, running), remainder(openItems(plan))].filter((part) => part !== "").join(", ");
  const shown = running && turn !== undefined ? (waits ? WAITS : "working") : state;
  const words = oneLine(task, 120);
  return {
    // The header of the view shows the progress.
    label: words || l10n.t("Plan"),
    description: shown,
    tooltip: lines(oneLine(task, 300), `${plan.completed} of ${plan.total} done`, question(turn)),
    spoken: `${words === "" ? "" : `${words}. `}Plan, ${plan.completed} of ${plan.total} done, ${shown}`,
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
      return "interrupted";
    case "ended":
      return turn.phase.reason === "completed" ? "" : endText(turn.phase.reason);
  }
}

function question(turn: Turn | undefined): string {
  const phase = turn?.phase;
  return phase?.kind === "ended" && phase.reason === "needsInput" ? oneLine(lastQuestion(phase.summary), 600) : "";
}

const remainder = (open: number): string => (open === 0 ? "done" : `${open} open`);

function itemText(row: ItemRow): RowText {
  const { item } = row;
  const number = row.numbered ? `#${oneLine(item.id, 12)} ` : "";
  const content = `${number}${oneLine(item.content, 300)}`;
  const active = `${number}${oneLine(item.activeForm, 300) || oneLine(item.content, 300)}`;
  const inProgress = item.status === "inProgress" && row.running;
  const label = inProgress ? active : content;
  const { shown, said } = itemState(row, inProgress);
  const counts = [
    count(item.files.length, "file"),
    count(item.commands.length, "command"),
    row.edits === 0 ? "" : `${count(row.edits, "edit")} to review`,
  ].filter((part) => part !== "");
  return {
    label,
    description: shown,
    tooltip: lines(
      `${number}${oneLine(item.content, 1_000)}`,
      capitalised(said),
      ...row.blockers.map((blocker) => `Waits for #${oneLine(blocker.id, 12)} ${oneLine(blocker.content, 300)}`),
      counts.join(", "),
    ),
    spoken: [label, said, ...counts].join(", "),
  };
}

function itemState({ item, blockers, activity }: ItemRow, inProgress: boolean): { shown: string; said: string } {
  const took = item.elapsedMs >= 1_000;
  if (inProgress) {
    const shown = oneLine(activity, 80);
    return { shown, said: ["in progress", ...(shown === "" ? [] : [shown])].join(", ") };
  }
  if (item.status === "completed") {
    if (isDeclaredOnly(item)) {
      return { shown: "no recorded work", said: "completed, no recorded work" };
    }
    return took
      ? { shown: duration(whole(item.elapsedMs)), said: `completed in ${spokenDuration(whole(item.elapsedMs))}` }
      : { shown: "", said: "completed" };
  }
  if (item.blocked || blockers.length > 0) {
    const by = blockers.map(({ id }) => `#${oneLine(id, 12)}`).join(", ");
    const shown = by === "" ? "blocked" : `blocked by ${by}`;
    return { shown, said: shown };
  }
  return { shown: "", said: took ? `open, ${spokenDuration(whole(item.elapsedMs))} so far` : "open" };
}

function subagentText({ subagent, activity, live }: SubagentRow): RowText {
  const title = oneLine(subagent.title, 120);
  const state = subagentState(subagent.phase, live);
  const progress = subagent.total === 0 ? "" : `${subagent.completed}/${subagent.total}`;
  const doing = live ? oneLine(activity, 80) : "";
  // The icon shows that it works or is done.
  const quiet = state === "done" || (state === "working" && (progress !== "" || doing !== ""));
  const said = subagent.total === 0 ? "" : `${subagent.completed} of ${subagent.total} done`;
  const tokens = subagent.usage.inputTokens + subagent.usage.outputTokens;
  const spent = [count(subagent.rounds, "round"), count(tokens, "token")].filter((part) => part !== "");
  const present = (parts: string[]): string[] => parts.filter((part) => part !== "");
  return {
    label: title,
    description: present([progress, quiet ? "" : state, doing]).join(" · "),
    tooltip: lines(`Subagent: ${oneLine(subagent.title, 600)}`, capitalised(present([state, said]).join(", ")), spent.join(", ")),
    spoken: present([`Subagent ${title}`, state, said, doing]).join(", "),
  };
}

function subagentState(phase: SubagentPhase, live: boolean): string {
  switch (phase.kind) {
    case "waiting":
      return live ? "waits for others" : "interrupted";
    case "running":
      return live ? "working" : "interrupted";
    case "ended":
      // The question is the agent's, so the user need not act.
      return phase.reason === "completed" || phase.reason === "needsInput" ? "done" : endText(phase.reason);
  }
}

function fileText({ file, edits }: FileRow): RowText {
  const name = oneLine(file.path.split("/").at(-1) ?? file.path);
  const folder = oneLine(file.path.split("/").slice(0, -1).join("/"));
  const pending = edits === 0 ? "" : count(edits, "edit");
  return {
    label: name,
    description: [pending, folder].filter((part) => part !== "").join("  "),
    tooltip: lines(oneLine(file.path, 400), pending === "" ? "" : `${pending} of this step to review`),
    spoken: `File ${oneLine(file.path)}, ${pending === "" ? "nothing to review" : `${pending} to review`}`,
  };
}

function commandText({ command, parent }: CommandRow): RowText {
  const { elapsedMs } = command;
  const title = oneLine(command.title, 300);
  const state = stateText(command.state, parent.running);
  // The icon shows that a command passed, so the row shows its duration.
  const quiet = command.state === "done" && elapsedMs !== undefined;
  return {
    label: title,
    description: [...(quiet ? [] : [state]), ...(elapsedMs === undefined ? [] : [duration(elapsedMs)])].join(", "),
    tooltip: lines(oneLine(command.title, 1_000), capitalised(elapsedMs === undefined ? state : `${state} after ${duration(elapsedMs)}`)),
    spoken: [title, state, ...(elapsedMs === undefined ? [] : [spokenDuration(elapsedMs)])].join(", "),
  };
}

function droppedText({ texts }: DroppedRow): RowText {
  const label = texts.length === 1 ? "1 step was dropped" : `${texts.length} steps were dropped`;
  return {
    label,
    description: "",
    tooltip: lines("Left out of the plan while still open:", ...texts.map((text) => oneLine(text, 300))),
    spoken: `${label}: ${texts.map((text) => oneLine(text)).join("; ")}`,
  };
}

function historyText({ turns }: HistoryRow): RowText {
  return {
    label: "Earlier turns",
    description: String(turns.length),
    tooltip: "Plans of earlier turns of this session, newest first",
    spoken: `Earlier turns, ${count(turns.length, "plan")}`,
  };
}

function earlierText({ earlier: { task, reason, plan } }: EarlierRow): RowText {
  const label = oneLine(task, 120) || "Task";
  const outcome = reason === "completed" ? remainder(openItems(plan)) : endText(reason);
  return {
    label,
    description: `${plan.completed}/${plan.total} · ${outcome}`,
    tooltip: lines(oneLine(task, 600), `${plan.completed} of ${plan.total} done, ${outcome}`),
    spoken: `${label}, ${plan.completed} of ${plan.total} done, ${outcome}`,
  };
}

const lines = (...parts: string[]): string => parts.filter((part) => part !== "").join("\n");

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const whole = (ms: number): number => Math.floor(ms / 1_000) * 1_000;
