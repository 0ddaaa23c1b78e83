import * as vscode from "vscode";

import type { ConversationView } from "../conversation/view";
import { readyPlan } from "../plan/planReady";
import { leftText } from "../plan/rowItems";
import type { Banner } from "../protocol";
import type { Turn } from "../stores/session";
import type { Store } from "../stores/store";
import { firstParagraph, lastQuestion } from "../text/answer";
import { plainText, oneLine } from "../text/display";
import { type Action, actionOf, actionsOfEnd, textOf } from "../text/messages";
import { type Show, offerActions } from "./offer";

const SHOW_CONVERSATION = (): Action => ({ label: vscode.l10n.t("Show Conversation"), command: ["cairn.showConversation"] });

/** Time in which a daemon that ended is started again without a notification, in milliseconds. */
const RESTART_MS = 2_000;
/** Work after which a notification says that a task is done, if the user looks at another window, in milliseconds. */
const LONG_WORK_MS = 60_000;
/** Time for which the status bar says that a task is done, in milliseconds. */
const DONE_MS = 5_000;

/** The few things that are worth a notification: no daemon, a failed turn, a setting ignored. */
export class Notices implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;

  /** Banners that had a notification, each once for its text. */
  readonly #banners = new Set<string>();

  constructor(
    private readonly store: Store,
    private readonly view: Pick<ConversationView, "visible">,
  ) {
    let reported: string | undefined;
    let late: NodeJS.Timeout | undefined;
    this.#subscriptions = vscode.Disposable.from(
      store.on(["status"], () => {
        const { link, status } = store.state.status;
        const message = link.kind === "failed" ? link.message : undefined;
        if (message !== reported) {
          clearTimeout(late);
          late = message === undefined ? undefined : setTimeout(() => void noDaemon(message), RESTART_MS);
        }
        reported = message;
        status?.banners.forEach((banner) => this.#banner(banner));
      }),
      new vscode.Disposable(() => clearTimeout(late)),
      store.on(["sessions"], ({ before, change }) => {
        if (change.kind === "turn" && change.turn.phase.kind === "ended") {
          this.#turnEnded(change.turn.sessionId);
        } else if (change.kind === "connected") {
          this.#reconnected(before.sessions.turn);
        }
      }),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #banner(banner: Banner): void {
    const key = `${banner.kind}\n${JSON.stringify([banner.code, banner.args])}`;
    // The status bar shows these all the time.
    if (this.#banners.has(key) || banner.kind === "untrusted" || banner.kind === "replay") {
      return;
    }
    this.#banners.add(key);
    const action = actionOf(banner);
    void offerActions(vscode.window.showWarningMessage, textOf(banner), action === undefined ? [] : [action]);
  }

  #turnEnded(sessionId: string): void {
    const { sessions } = this.store.state;
    const turn = sessions.turnOf(sessionId);
    // In sight, the conversation says it, with the same actions.
    const seen = this.view.visible && sessionId === sessions.current;
    if (turn === undefined || (seen && !isUnseenWork(turn))) {
      return;
    }
    if (readyPlan(this.store.state)?.turnId === turn.turnId) {
      void planned(turn);
    } else {
      void (isUnseenWork(turn) ? done(turn) : ended(turn));
    }
  }

  /** A turn that ran when its daemon ended. The next one may know its session, or may not. */
  #reconnected(before: Turn | undefined): void {
    if (before?.phase.kind !== "interrupted") {
      return;
    }
    const now = this.store.state.sessions.turnOf(before.sessionId)?.phase;
    // It may have come to its end in the very last moment.
    const isLost = now === undefined || (now.kind === "ended" && now.reason === "interrupted");
    if (isLost && !(this.view.visible && now !== undefined)) {
      void lost(before, now !== undefined);
    }
  }
}

async function noDaemon(message: string): Promise<void> {
  await offer(vscode.window.showErrorMessage, message, {
    [vscode.l10n.t("Open Settings")]: ["workbench.action.openSettings", "cairn.daemon.path"],
    [vscode.l10n.t("Restart Cairn")]: ["cairn.restart"],
    [vscode.l10n.t("Show Log")]: ["cairn.showLog"],
  });
}

/** Offers to run a finished plan, also where the turn ended with a question. */
async function planned({ phase }: Turn): Promise<void> {
  const words = phase.kind === "ended" ? firstParagraph(phase.summary) : "";
  await offer(vscode.window.showInformationMessage, vscode.l10n.t("The plan is ready. {0}", words), {
    [vscode.l10n.t("Run Plan")]: ["cairn.runPlan"],
    [vscode.l10n.t("Reply")]: ["cairn.reply"],
    [vscode.l10n.t("Show Conversation")]: ["cairn.showConversation"],
  });
}

/** True for a task that took long and was completed while the user looked at another window. */
function isUnseenWork({ phase }: Turn): boolean {
  return (
    phase.kind === "ended" &&
    phase.reason === "completed" &&
    (phase.spent?.elapsedMs ?? 0) > LONG_WORK_MS &&
    !vscode.window.state.focused &&
    vscode.workspace.getConfiguration("cairn").get<boolean>("notify.done", true)
  );
}

/** First words of the answer that a completed task ended with. */
function doneWords({ phase }: Turn): string {
  const words =
    phase.kind === "ended" ? [oneLine(firstParagraph(phase.summary), 120), ...leftText(phase)].filter((part) => part !== "").join(" · ") : "";
  return words === "" ? vscode.l10n.t("Cairn: the task is done.") : vscode.l10n.t("Cairn: {0}", words);
}

async function done(turn: Turn): Promise<void> {
  await offer(vscode.window.showInformationMessage, doneWords(turn), {
    [vscode.l10n.t("Show Conversation")]: ["cairn.openSession", turn.sessionId],
  });
}

async function ended(turn: Turn): Promise<void> {
  const { phase, sessionId, text } = turn;
  if (phase.kind !== "ended") {
    return;
  }
  switch (phase.reason) {
    case "failed":
      await offerActions(
        vscode.window.showErrorMessage,
        phase.problem === undefined ? phase.summary || vscode.l10n.t("The task failed.") : textOf(phase.problem),
        [...actionsOfEnd(phase.problem, sessionId, text !== ""), SHOW_CONVERSATION()],
      );
      break;
    case "needsInput":
      await offer(vscode.window.showInformationMessage, lastQuestion(phase.summary) || vscode.l10n.t("The agent waits for your reply."), {
        [vscode.l10n.t("Reply")]: ["cairn.reply"],
        [vscode.l10n.t("Show Conversation")]: ["cairn.showConversation"],
      });
      break;
    case "limit":
      await offerActions(
        vscode.window.showWarningMessage,
        phase.problem === undefined ? phase.summary || vscode.l10n.t("The task stopped at a limit.") : textOf(phase.problem),
        [...actionsOfEnd(phase.problem ?? { action: "continue_task" }, sessionId, false), SHOW_CONVERSATION()],
      );
      break;
    case "completed":
      vscode.window.setStatusBarMessage(plainText(doneWords(turn)), DONE_MS);
      break;
    case "cancelled":
    case "interrupted":
      // The plan, the status bar and the conversation show it, so no notification interrupts the user.
      break;
  }
}

/** Notice about a turn that ended with its daemon. It can be continued if the next daemon restored it. */
async function lost({ text }: Turn, known: boolean): Promise<void> {
  const task = text === "" ? vscode.l10n.t("The task") : `“${oneLine(text, 80)}”`;
  if (known) {
    await offer(
      vscode.window.showWarningMessage,
      vscode.l10n.t("{0} was interrupted: the daemon ended. Its plan, its conversation and what it had changed are still there.", task),
      {
        [vscode.l10n.t("Continue Plan")]: ["cairn.continue"],
        [vscode.l10n.t("Show Conversation")]: ["cairn.showConversation"],
      },
    );
    return;
  }
  await offer(vscode.window.showWarningMessage, vscode.l10n.t("{0} was interrupted: the daemon ended. What it had changed is still there.", task), {
    [vscode.l10n.t("Show Conversation")]: ["cairn.showConversation"],
    ...(text === "" ? {} : { [vscode.l10n.t("Run Again")]: ["cairn.runTask", text] }),
  });
}

async function offer(show: Show, message: string, actions: Record<string, [string, ...unknown[]]>): Promise<void> {
  await offerActions(
    show,
    message,
    Object.entries(actions).map(([label, command]) => ({ label, command })),
  );
}
