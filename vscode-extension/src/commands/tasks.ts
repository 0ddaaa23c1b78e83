import * as vscode from "vscode";

import { kindOf } from "../daemon/agent";
import { readyPlan } from "../plan/planReady";
import { selectionOf } from "../conversation/mentions";
import type { ReviewMode, TaskContext } from "../protocol";
import type { Turn } from "../stores/session";
import type { Store } from "../stores/store";
import { showFailure } from "../status/offer";
import { CONTINUE_PLAN, RUN_PLAN } from "../text/ownMessages";
import type { TaskRequests } from "./taskRequests";

/** Language of documents in which a message is written. */
const PROMPT_LANGUAGE = "cairn-prompt";

/** The conversation view, in which the user writes. */
interface Composer {
  /** For the session in view. */
  focus(): Promise<void>;
  /** For a new session, with a text to look at before it is sent. */
  begin(text?: string): Promise<void>;
}

/** Starting, answering, steering and ending tasks. */
export class TaskCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  /** Session of each open prompt that is a reply in one. */
  readonly #prompts = new WeakMap<vscode.TextDocument, string>();

  constructor(
    private readonly tasks: TaskRequests,
    private readonly store: Store,
    private readonly view: Composer,
  ) {
    this.#subscriptions = vscode.Disposable.from(
      ...["cairn.runTask", "cairn.newTask"].map((command) => vscode.commands.registerCommand(command, (text?: unknown) => this.#runTask(text))),
      vscode.commands.registerCommand("cairn.reply", () => this.view.focus()),
      vscode.commands.registerCommand("cairn.sendPrompt", () => this.#sendPrompt()),
      vscode.commands.registerCommand("cairn.openPrompt", (text: unknown, sessionId: unknown) => this.#openPrompt(text, sessionId)),
      vscode.commands.registerCommand("cairn.continue", () => this.#followUp(CONTINUE_PLAN)),
      vscode.commands.registerCommand("cairn.tryAgain", (sessionId?: unknown) => this.#tryAgain(sessionId)),
      vscode.commands.registerCommand("cairn.runPlan", () => this.#runPlan()),
      vscode.commands.registerCommand("cairn.followUp", (text: unknown) => this.#followUp(text)),
      vscode.commands.registerCommand("cairn.cancel", () => this.#cancel()),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** Opens the composer for a new session. A text that another extension or a keybinding gives starts at once. */
  async #runTask(text: unknown): Promise<void> {
    if (typeof text !== "string") {
      await this.view.begin();
    } else if (this.store.state.sessions.running || !(await this.#start(text, undefined, taskContext()))) {
      await this.view.begin(text);
    }
  }

  /** To the running turn, or as the next one of its session. */
  async #send(turn: Turn, text: string, context: TaskContext): Promise<boolean> {
    // The turn may have ended, or another begun, while the user was typing.
    const now = this.store.state.sessions.turnOf(turn.sessionId) ?? turn;
    return now.phase.kind === "started" ? await this.#steer(now, text) : await this.#start(text, turn.sessionId, context);
  }

  /** Sends the text of the prompt in the active editor and closes it. A text that was not sent stays open. */
  async #sendPrompt(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    const text = document?.getText().trim() ?? "";
    if (document?.languageId !== PROMPT_LANGUAGE || text === "") {
      return;
    }
    const turn = this.store.state.sessions.turnOf(this.#prompts.get(document) ?? "");
    if (turn === undefined && this.store.state.sessions.running) {
      await this.view.begin(text);
      return;
    }
    const sent = turn === undefined ? await this.#start(text, undefined, {}) : await this.#send(turn, text, {});
    if (sent && vscode.window.activeTextEditor?.document === document) {
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    }
  }

  /** Opens a text in an editor, where it can have several lines and from which it is sent to a session, or as a new task. */
  async #openPrompt(text: unknown, sessionId: unknown): Promise<void> {
    const document = await vscode.workspace.openTextDocument({ language: PROMPT_LANGUAGE, content: typeof text === "string" ? text : "" });
    const { end } = document.lineAt(document.lineCount - 1).range;
    await vscode.window.showTextDocument(document, { preview: false, selection: new vscode.Range(end, end) });
    if (typeof sessionId === "string" && sessionId !== "") {
      this.#prompts.set(document, sessionId);
    }
    vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: Ctrl+Enter in the editor sends the text."), 8_000);
  }

  /** Starts the next turn of the session in view with a given text. */
  async #followUp(text: unknown): Promise<void> {
    const turn = this.store.state.sessions.turn;
    if (typeof text !== "string" || turn === undefined) {
      return;
    }
    if (turn.phase.kind === "ended") {
      await this.#start(text, turn.sessionId, {});
    } else {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: a task is running. Cancel it first, or wait for its end."), 5_000);
    }
  }

  /** Sends the task of the newest turn of a session again, by default of the session in view. */
  async #tryAgain(sessionId: unknown): Promise<void> {
    const turn = typeof sessionId === "string" ? this.store.state.sessions.turnOf(sessionId) : this.store.state.sessions.turn;
    if (turn === undefined || turn.text === "") {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: there is no task to try again."), 5_000);
    } else if (turn.phase.kind === "started") {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: a task is running. Cancel it first, or wait for its end."), 5_000);
    } else {
      await this.#try(() => this.tasks.again(turn));
    }
  }

  /** The user said yes to a plan: from here on its edits are proposals. */
  async #runPlan(): Promise<void> {
    const turn = readyPlan(this.store.state);
    if (turn === undefined) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: there is no plan to approve."), 5_000);
    } else {
      await this.#start(RUN_PLAN, turn.sessionId, {}, "review");
    }
  }

  async #cancel(): Promise<void> {
    const turn = this.store.state.sessions.turn;
    if (turn?.phase.kind !== "started") {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: no task is running."), 5_000);
      return;
    }
    try {
      await this.tasks.cancel(turn);
    } catch (error) {
      void showFailure(error);
    }
  }

  /** Starts a turn; false if it was refused. */
  async #start(text: string, sessionId: string | undefined, context: TaskContext, mode?: ReviewMode): Promise<boolean> {
    return await this.#try(() => this.tasks.start(text, sessionId, context, mode));
  }

  async #steer(turn: Turn, text: string): Promise<boolean> {
    return await this.#try(() => this.tasks.steer(turn, text));
  }

  /** Makes a request. If it is refused, shows why and returns false. */
  async #try(request: () => Promise<void>): Promise<boolean> {
    try {
      await request();
      return true;
    } catch (error) {
      void (kindOf(error) === "noModel" ? vscode.commands.executeCommand("cairn.chooseModel") : showFailure(error));
      return false;
    }
  }
}

/** The active file, and the selection in it. */
export function taskContext(): TaskContext {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") {
    return {};
  }
  const { document, selection } = editor;
  const activeFile = document.uri.toString();
  if (selection.isEmpty) {
    return { activeFile };
  }
  const { uri = "", range, text = "" } = selectionOf(document, selection);
  return { activeFile, ...(range && { selection: { uri, range, text } }) };
}
