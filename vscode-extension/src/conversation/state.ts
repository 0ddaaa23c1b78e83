import { l10n } from "vscode";

import { readyPlan } from "../plan/planReady";
import { leftText } from "../plan/rowItems";
import type { TaskContext } from "../protocol";
import { dollars, meter, tokens } from "../status/meter";
import type { Reading } from "../stores/reading";
import type { Entry } from "../stores/transcript";
import type { State } from "../stores/state";
import type { Status } from "../stores/status";
import { editsInFiles } from "../text/counts";
import { oneLine } from "../text/display";
import { duration } from "../text/duration";
import { actionsOfEnd, textOf } from "../text/messages";
import { modeText } from "../text/modes";
import { chipLabel } from "./attachments";
import type { LocalServers } from "../commands/localServers";
import { countOf } from "../commands/modelServers";
import { approvalCard, editCard } from "./cards";
import { type Action, type Banner, COMMANDS, type ViewState } from "./messages";
import { otherSessions } from "./otherSessions";

/** Sources of the page besides the {@link State}. */
export interface Around {
  readonly reading: Reading;
  readonly servers: Pick<LocalServers, "found" | "onDidChange" | "look">;
}

type Found = LocalServers["found"];

/** Most files whose edits are asked about at once: the next ones follow. */
const MOST_DECISIONS = 5;

/** State of all that is around the list. `fresh`: the user is about to begin a new conversation. */
export function viewState(sources: State, { reading, servers }: Around, fresh: boolean, context: TaskContext): ViewState {
  const { status, sessions, modes } = sources;
  const session = fresh ? undefined : sessions.current;
  const mode = modeText(modes.of(session));
  const { items, held } = sessions.queueOf(session);
  const used = fresh || sessions.usage === undefined ? undefined : meter(sessions.usage);
  const model = status.status?.model;
  const locked = session === undefined ? undefined : sessions.readOnly;
  const readOnly = locked === undefined ? "" : oneLine(textOf(locked), 300);
  return {
    session: session ?? "",
    title: session === undefined ? "" : oneLine(sessions.title, 60),
    phase: phaseOf(sources, session),
    connected: status.link.kind === "running",
    banners: [...bannersOf(sources), ...otherSessions(sources, session), ...(readOnly === "" ? [] : [forkBanner(readOnly)])],
    start: startOf(sources, servers.found, mode.explanation, context),
    step: session === undefined ? undefined : stepOf(sources),
    mode: status.untrusted
      ? { name: l10n.t("Read-only"), icon: "workspace-untrusted", title: l10n.t("Once you trust the folder: {0}", mode.name) }
      : { name: mode.name, icon: mode.icon, title: mode.explanation },
    model: model === undefined ? "" : oneLine(model.replay ? l10n.t("replay") : model.name, 60),
    meter: used && { text: used.text.replace("$(dashboard) ", ""), title: used.lines.join("\n"), warning: used.severity === "warning" },
    edits: editsOf(sources),
    queue: { items: items.map(({ id, text, attachments = [] }) => ({ id, text, attached: attachments.map(chipLabel).join(", ") })), held },
    chip: chipOf(context),
    chips: [],
    ...asked(sources, session),
    readOnly,
    back: fresh && sessions.turn !== undefined,
    beyond: reading.beyond(session ?? ""),
  };
}

/** Tasks to begin with in this folder, in this mode and with the open file. */
function startOf({ status }: State, found: Found, mode: string, { activeFile }: TaskContext): ViewState["start"] {
  const explain = l10n.t("Explain this project");
  const setup = setupOf(status, found);
  if (status.untrusted) {
    return { text: l10n.t("Cairn reads this folder and answers questions. Trust the folder to let it work."), examples: [explain], setup };
  }
  const tests = activeFile === undefined ? [] : [l10n.t("Write tests for the open file")];
  return {
    text: l10n.t("The agent shows its plan as it works. {0}", mode),
    examples: [explain, l10n.t("Find out why the tests fail, and fix it"), ...tests],
    setup,
  };
}

/** Ways to a model where there is none, those on this machine first. */
function setupOf(status: Status, servers: Found): ViewState["start"]["setup"] {
  if (status.status === undefined || status.hasModel) {
    return undefined;
  }
  const withModels = servers.filter(({ models }) => models.length > 0);
  const found = withModels.map(({ server, models }): Action => ({
    label: l10n.t("Use {0} ({1})", server.name, countOf(models)),
    server: server.baseUrl ?? "",
  }));
  return {
    text:
      found.length === 0
        ? l10n.t("Cairn needs a model: of a provider with your API key, or of a server such as Ollama.")
        : l10n.t("Cairn needs a model. A server on this machine has some."),
    actions: [
      ...found,
      { label: l10n.t("Choose Model…"), command: "cairn.chooseModel" },
      { label: l10n.t("Try the Demo"), command: "cairn.tryDemo" },
    ],
  };
}

/** Questions that wait for the user. Those of another session are named in a banner, which opens it. */
function asked(
  { sessions, approvals, questions, reviews }: State,
  session: string | undefined,
): Pick<ViewState, "cards" | "decisions" | "questions"> {
  // A subagent is no session: what it asks is shown.
  const isHere = ({ sessionId }: { readonly sessionId: string }): boolean => sessionId === session || sessions.turnOf(sessionId) === undefined;
  return {
    cards: approvals.waiting.filter(isHere).map(approvalCard),
    decisions: reviews.waiting
      .filter(({ hunks }) => hunks.some(isHere))
      .slice(0, MOST_DECISIONS)
      .map(editCard),
    questions: questions.waiting.filter(isHere).map(({ questionId, text, options }) => ({ id: questionId, text, options })),
  };
}

/** Reason for which no turn can start in the session, and the way on. */
function forkBanner(reason: string): Banner {
  return {
    text: l10n.t("Read-only. {0}", reason),
    severity: "info",
    actions: [{ label: l10n.t("Fork Session"), command: "cairn.forkSession" }],
  };
}

/** Facts about an ended turn, and the actions that it offers. */
export function footerOf(
  state: State,
  end: Extract<Entry, { kind: "end" }>,
  files: number,
): { readonly facts: string; readonly actions: readonly Action[] } {
  const { turn, spent } = end;
  const used = spent === undefined ? 0 : spent.usage.inputTokens + spent.usage.outputTokens;
  const facts = [
    ...leftText(end),
    ...(spent === undefined ? [] : [duration(spent.elapsedMs)]),
    ...(used === 0 ? [] : [l10n.t("{0} tokens", tokens(used))]),
    ...(spent?.costMicros === undefined ? [] : [dollars(spent.costMicros)]),
    ...(files === 0 ? [] : [files === 1 ? l10n.t("1 file changed") : l10n.t("{0} files changed", files)]),
  ];
  return { facts: facts.join(" · "), actions: endActions(state, turn) };
}

/** Commands that lead on from the end of the newest turn. */
export function endActions(state: State, turnId: string): Action[] {
  const { sessions, plans } = state;
  const { turn } = sessions;
  if (turn?.turnId !== turnId || turn.phase.kind !== "ended") {
    return [];
  }
  const again: Action = { label: l10n.t("Try Again"), again: turnId };
  const { plan } = plans;
  const open = plan?.turnId === turnId && plan.completed < plan.total;
  const goOn: Action[] = open ? [{ label: l10n.t("Continue Plan"), command: "cairn.continue" }] : [];
  if (readyPlan(state) !== undefined) {
    return [{ label: l10n.t("Run Plan"), command: "cairn.runPlan" }];
  }
  switch (turn.phase.reason) {
    case "failed":
      return actionsOfEnd(turn.phase.problem, turn.sessionId, turn.text !== "").flatMap(({ label, command: [name] }): Action[] => {
        const command = COMMANDS.find((known) => known === name);
        return name === "cairn.tryAgain" ? [again] : command === undefined ? [] : [{ label, command }];
      });
    case "limit":
    case "interrupted":
    case "cancelled":
      return open ? goOn : [again];
    case "completed":
    case "needsInput":
      return [];
  }
}

function phaseOf({ status, sessions, approvals, reviews, questions }: State, session: string | undefined): ViewState["phase"] {
  const turn = session === undefined ? undefined : sessions.turnOf(session);
  if (status.link.kind === "failed") {
    return "lost";
  }
  if (status.link.kind === "starting") {
    return "starting";
  }
  if (turn === undefined) {
    return "empty";
  }
  if (turn.phase.kind !== "started") {
    return "ended";
  }
  if (reviews.waiting.length > 0 || [...approvals.waiting, ...questions.waiting].some(({ turnId }) => turnId === turn.turnId)) {
    return "waiting";
  }
  return status.status?.connection.kind === "retrying" ? "retrying" : "running";
}

function bannersOf({ status }: State): Banner[] {
  const { link } = status;
  const log: Action = { label: l10n.t("Show Log"), command: "cairn.showLog" };
  if (link.kind === "failed") {
    return [
      {
        text: oneLine(link.message, 300),
        severity: "error",
        actions: [{ label: l10n.t("Restart Cairn"), command: "cairn.restart" }, log],
      },
    ];
  }
  return (status.status?.banners ?? []).flatMap((banner): Banner[] => {
    const text = textOf(banner);
    switch (banner.kind) {
      case "untrusted":
        return [
          {
            text: l10n.t("This folder is not trusted: Cairn only reads."),
            severity: "warning",
            actions: [{ label: l10n.t("Trust…"), command: "workbench.trust.manage" }],
          },
        ];
      case "model":
        return [
          {
            text: oneLine(text, 300),
            severity: "warning",
            actions: [
              { label: l10n.t("Set API Key"), command: "cairn.setApiKey" },
              { label: l10n.t("Choose Model"), command: "cairn.chooseModel" },
            ],
          },
        ];
      case "elsewhere":
        return [{ text: oneLine(text, 300), severity: "info", actions: [] }];
      case "replay":
      case "setting":
      case "storage":
      case "sandbox":
      case "internal":
        // The status bar and notifications name these.
        return [];
    }
  });
}

/** The step in progress, else the call in progress. */
function stepOf({ sessions, plans, reviews, questions }: State): ViewState["step"] {
  const { turn } = sessions;
  if (turn?.phase.kind !== "started") {
    return undefined;
  }
  const [waiting] = reviews.waiting;
  if (waiting !== undefined) {
    return { text: l10n.t("Decide on {0}", oneLine(waiting.path, 100)), place: "" };
  }
  if (questions.waiting.some(({ turnId }) => turnId === turn.turnId)) {
    return { text: l10n.t("Answer the question"), place: "" };
  }
  const { plan } = plans;
  const item = plan?.turnId === turn.turnId ? plan.items.find(({ status }) => status === "inProgress") : undefined;
  if (plan !== undefined && item !== undefined) {
    return { text: oneLine(item.activeForm || item.content, 120), place: `${plan.completed}/${plan.total}` };
  }
  return { text: sessions.activeTool === undefined ? "" : oneLine(textOf(sessions.activeTool.title), 120), place: "" };
}

function editsOf({ reviews }: State): ViewState["edits"] {
  const { files } = reviews;
  const hunks = files.flatMap((file) => file.hunks);
  if (hunks.length === 0) {
    return undefined;
  }
  const sum = (of: "addedLines" | "removedLines"): number => hunks.reduce((all, hunk) => all + hunk[of], 0);
  return { edits: editsInFiles(hunks.length, files.length), counts: { added: sum("addedLines"), removed: sum("removedLines") } };
}

function chipOf({ activeFile, selection }: TaskContext): ViewState["chip"] {
  if (activeFile === undefined) {
    return undefined;
  }
  const chip = selection === undefined ? { kind: "file" as const, uri: activeFile } : { kind: "selection" as const, ...selection };
  const label = oneLine(chipLabel(chip), 80);
  return { label, title: label, selection: selection !== undefined };
}
