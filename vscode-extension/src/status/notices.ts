import * as vscode from "vscode";

import { readyPlan } from "../plan/planReady";
import type { ModeStore } from "../stores/mode";
import type { SessionStore, Turn } from "../stores/session";
import type { StatusStore } from "../stores/status";
import { inert, oneLine } from "../text/display";

/** The few things that are worth a notification: no daemon, a failed turn, a setting ignored. */
export class Notices implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable[];

  constructor(status: StatusStore, sessions: SessionStore, modes: ModeStore) {
    let reported: string | undefined;
    this.#subscriptions = [
      status.onDidChange(() => {
        const message = status.link.kind === "failed" ? status.link.message : undefined;
        if (message !== undefined && message !== reported) {
          void offer(vscode.window.showErrorMessage, message, {
            "Open Settings": ["workbench.action.openSettings", "cairn.daemon.path"],
            "Restart Daemon": ["cairn.restart"],
            "Show Log": ["cairn.showLog"],
          });
        }
        reported = message;
      }),
      status.onDidAddBanner(({ kind, text }) => {
        switch (kind) {
          case "setting":
            void offer(vscode.window.showWarningMessage, text, { "Open Settings": ["workbench.action.openSettings", "cairn"] });
            break;
          case "model":
            void offer(vscode.window.showWarningMessage, text, {
              "Set API Key": ["cairn.setApiKey"],
              "Choose Model": ["cairn.chooseModel"],
            });
            break;
          case "sandbox":
            void offer(vscode.window.showWarningMessage, text, {
              "Open Settings": ["workbench.action.openSettings", "cairn.sandbox"],
              "Show Log": ["cairn.showLog"],
            });
            break;
          case "storage":
          case "elsewhere":
          case "internal":
            void offer(vscode.window.showWarningMessage, text, { "Show Log": ["cairn.showLog"] });
            break;
          case "untrusted":
          case "replay":
            // The status bar says so all the time.
            break;
        }
      }),
      sessions.onDidEndTurn((turn) => {
        void (readyPlan(sessions, modes)?.turnId === turn.turnId ? planned(turn) : ended(turn));
      }),
      sessions.onDidLoseTurn((turn) => void lost(turn, sessions.turnOf(turn.sessionId) !== undefined)),
    ];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }
}

/** It asks for nothing but a yes, whether it ended with a question or not. */
async function planned({ phase }: Turn): Promise<void> {
  const words = phase.kind === "ended" ? phase.summary : "";
  await offer(vscode.window.showInformationMessage, `The plan is ready. ${words}`, {
    "Run Plan": ["cairn.runPlan"],
    Reply: ["cairn.reply"],
    "Show Conversation": ["cairn.showConversation"],
  });
}

async function ended({ phase }: Turn): Promise<void> {
  if (phase.kind !== "ended") {
    return;
  }
  switch (phase.reason) {
    case "failed":
      await offer(vscode.window.showErrorMessage, phase.summary || "The task failed.", {
        "Show Conversation": ["cairn.showConversation"],
        "Choose Model": ["cairn.chooseModel"],
      });
      break;
    case "needsInput":
      await offer(vscode.window.showInformationMessage, phase.summary || "The agent waits for your reply.", {
        Reply: ["cairn.reply"],
        "Show Conversation": ["cairn.showConversation"],
      });
      break;
    case "limit":
      await offer(vscode.window.showWarningMessage, phase.summary || "The task stopped at a limit.", {
        "Continue Plan": ["cairn.continue"],
        "Show Conversation": ["cairn.showConversation"],
      });
      break;
    case "completed":
    case "cancelled":
    case "interrupted":
      // The plan, the status bar and the conversation say so; nobody has to be interrupted.
      break;
  }
}

/** Notice about a turn that ended with its daemon. It can be continued if the next daemon restored it. */
async function lost({ text }: Turn, known: boolean): Promise<void> {
  const task = text === "" ? "The task" : `“${oneLine(text, 80)}”`;
  if (known) {
    await offer(
      vscode.window.showWarningMessage,
      `${task} was interrupted: the daemon ended. Its plan, its conversation and what it had changed are still there.`,
      {
        "Continue Plan": ["cairn.continue"],
        "Show Conversation": ["cairn.showConversation"],
      },
    );
    return;
  }
  await offer(vscode.window.showWarningMessage, `${task} was interrupted: the daemon ended. What it had changed is still there.`, {
    "Show Conversation": ["cairn.showConversation"],
    ...(text === "" ? {} : { "Run Again": ["cairn.runTask", text] }),
  });
}

type Show = (message: string, ...items: string[]) => Thenable<string | undefined>;

async function offer(show: Show, message: string, actions: Record<string, [string, ...unknown[]]>): Promise<void> {
  const choice = await show(inert(oneLine(message, 400)), ...Object.keys(actions));
  const action = choice === undefined ? undefined : actions[choice];
  if (action !== undefined) {
    await vscode.commands.executeCommand(...action);
  }
}
