import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { readyPlan } from "../plan/planReady";
import { type TaskContext, requests } from "../protocol";
import type { ModeStore } from "../stores/mode";
import type { SessionStore, Turn } from "../stores/session";
import { modeText } from "../text/modes";

const RUN_PLAN = "The plan is approved. Carry it out now, step by step, and keep its steps up to date.";
const CONTINUE = "Go on with the open steps of the plan.";

/** Starting, answering, steering and ending tasks. */
export class TaskCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable[];

  constructor(
    private readonly agent: Agent,
    private readonly sessions: SessionStore,
    private readonly modes: ModeStore,
  ) {
    this.#subscriptions = [
      ...["cairn.runTask", "cairn.newTask"].map((command) => vscode.commands.registerCommand(command, (text?: unknown) => this.#runTask(text))),
      vscode.commands.registerCommand("cairn.reply", () => this.#reply()),
      vscode.commands.registerCommand("cairn.continue", () => this.#followUp(CONTINUE)),
      vscode.commands.registerCommand("cairn.runPlan", () => this.#runPlan()),
      vscode.commands.registerCommand("cairn.followUp", (text: unknown) => this.#followUp(text)),
      vscode.commands.registerCommand("cairn.cancel", () => this.#cancel()),
    ];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  /**
   * A task of its own, in a new session, and never beside a running one: there is one plan in view,
   * and one task to stop. `given` is for other extensions and keybindings.
   */
  async #runTask(given: unknown): Promise<void> {
    const words = typeof given === "string" ? given : undefined;
    const { running } = this.sessions;
    if (running) {
      await this.#insteadOfAnother(words);
      return;
    }
    // Read before the input box takes the focus.
    const context = taskContext();
    const text =
      words ??
      (await ask(
        "What should be done?",
        this.#hint(context.selection === undefined ? "Describe the task" : "Describe the task for the selected text"),
      ));
    if (text === undefined) {
      return;
    }
    // One may have begun while the user was typing.
    if (this.sessions.turn?.phase.kind === "started") {
      await this.#insteadOfAnother(text);
    } else {
      await this.#start(text, undefined, context);
    }
  }

  /** More words in the session in view: to the running turn, or as its next one. */
  async #reply(): Promise<void> {
    const turn = this.sessions.turn;
    if (turn === undefined) {
      await this.#runTask(undefined);
      return;
    }
    const context = taskContext();
    const running = turn.phase.kind === "started";
    const text = await ask(
      running ? "Tell the running task" : "Reply",
      running ? "It is read at the next safe point" : this.#hint("Goes on in the same conversation", turn.sessionId),
    );
    if (text === undefined) {
      return;
    }
    // The turn may have ended, or another begun, while the user was typing.
    const now = this.sessions.turnOf(turn.sessionId) ?? turn;
    if (now.phase.kind === "started") {
      await this.#steer(now, text);
    } else {
      await this.#start(text, turn.sessionId, context);
    }
  }

  /** The next turn of the session in view, with words that need no asking. */
  async #followUp(text: unknown): Promise<void> {
    const turn = this.sessions.turn;
    if (typeof text !== "string" || turn === undefined) {
      return;
    }
    if (turn.phase.kind === "ended") {
      await this.#start(text, turn.sessionId, {});
    } else {
      vscode.window.setStatusBarMessage("Cairn: a task is running. Cancel it first, or wait for its end.", 5_000);
    }
  }

  /** The user said yes to a plan: from here on its edits are proposals. */
  async #runPlan(): Promise<void> {
    const turn = readyPlan(this.sessions, this.modes);
    if (turn === undefined) {
      vscode.window.setStatusBarMessage("Cairn: there is no plan to approve.", 5_000);
    } else {
      await this.#start(RUN_PLAN, turn.sessionId, {}, "review");
    }
  }

  async #cancel(): Promise<void> {
    const turn = this.sessions.turn;
    if (turn?.phase.kind !== "started") {
      vscode.window.setStatusBarMessage("Cairn: no task is running.", 5_000);
      return;
    }
    await this.#try(this.agent.request(requests.cancel, { sessionId: turn.sessionId, turnId: turn.turnId }));
  }

  /** Says what is not as usual about what the words will start. */
  #hint(words: string, sessionId?: string): string {
    const mode = this.modes.of(sessionId);
    return mode === "review" ? words : `${words} (${modeText(mode).name} mode)`;
  }

  async #insteadOfAnother(text: string | undefined): Promise<void> {
    const tell = { label: "$(comment) Tell the running task", detail: "Your words are read at the next safe point" };
    const queue = { label: "$(list-ordered) Queue it for afterwards", detail: "It begins when the running task has completed" };
    const cancel = { label: "$(debug-stop) Cancel the running task", detail: "Then another one can be started" };
    const picked = await vscode.window.showQuickPick([tell, queue, cancel], { title: "A task is running", ignoreFocusOut: true });
    const turn = this.sessions.turn;
    if (picked === cancel) {
      await this.#cancel();
    } else if (picked === queue) {
      await vscode.commands.executeCommand("cairn.queueFollowUp", text);
    } else if (picked === tell && text !== undefined && turn?.phase.kind === "started") {
      await this.#steer(turn, text);
    } else if (picked === tell) {
      await this.#reply();
    }
  }

  async #start(text: string, sessionId: string | undefined, context: TaskContext, mode = this.modes.of(sessionId)): Promise<void> {
    const session = sessionId === undefined ? {} : { sessionId };
    await this.#try(
      this.agent
        .request(requests.runTask, { text, ...session, mode, context })
        .then((started) => this.modes.began(started.sessionId, started.turnId, mode)),
    );
  }

  async #steer(turn: Turn, text: string): Promise<void> {
    await this.#try(this.agent.request(requests.steer, { sessionId: turn.sessionId, expectedTurnId: turn.turnId, text }));
  }

  async #try(request: Promise<unknown>): Promise<void> {
    try {
      await request;
    } catch (error) {
      const log = "Show Log";
      if ((await vscode.window.showErrorMessage(reasonOf(error), log)) === log) {
        await vscode.commands.executeCommand("cairn.showLog");
      }
    }
  }
}

async function ask(title: string, placeHolder: string): Promise<string | undefined> {
  const text = (await vscode.window.showInputBox({ title, placeHolder, ignoreFocusOut: true }))?.trim();
  return text === "" ? undefined : text;
}

function taskContext(): TaskContext {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") {
    return {};
  }
  const { document, selection } = editor;
  const uri = document.uri.toString();
  if (selection.isEmpty) {
    return { activeFile: uri };
  }
  const { start, end } = selection;
  return {
    activeFile: uri,
    selection: {
      uri,
      range: {
        start: { line: start.line, character: start.character },
        end: { line: end.line, character: end.character },
      },
      text: document.getText(selection),
    },
  };
}
