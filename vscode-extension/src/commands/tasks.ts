import * as vscode from "vscode";

import { kindOf, problemOf, reasonOf } from "../daemon/agent";
import { readyPlan } from "../plan/planReady";
import type { ReviewMode, TaskContext } from "../protocol";
import type { DraftStore } from "../stores/drafts";
import type { Turn } from "../stores/session";
import type { Store } from "../stores/store";
import { offerActions, showFailure } from "../status/offer";
import { lastQuestion } from "../text/answer";
import { oneLine } from "../text/display";
import { type Action, actionOf } from "../text/messages";
import { modeText } from "../text/modes";
import { CONTINUE_PLAN, RUN_PLAN } from "../text/ownMessages";
import type { ModelSetup } from "./modelSetup";
import { PROMPT_LANGUAGE, type Question, openPrompt, write } from "./prompt";
import type { TaskRequests } from "./taskRequests";

/** Purpose of a text without a session: a new task. */
const NEW_TASK = "task";

/** The conversation view, in which the user writes while it is in sight. */
interface Composer {
  readonly visible: boolean;
  /** For the session in view. */
  focus(): Promise<void>;
  /** For a new session. */
  begin(): Promise<void>;
  /** Takes over a text that was written for a session, or for a new one; false if there is another text already. */
  adopt(sessionId: string | undefined, text: string): boolean;
}

/** Starting, answering, steering and ending tasks. */
export class TaskCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  /** Purpose of each open prompt: a new task, unless it is a reply in a session. */
  readonly #prompts = new WeakMap<vscode.TextDocument, string>();

  constructor(
    private readonly tasks: TaskRequests,
    private readonly store: Store,
    private readonly drafts: DraftStore,
    private readonly setup: ModelSetup,
    private readonly view: Composer,
  ) {
    this.#subscriptions = vscode.Disposable.from(
      ...["cairn.runTask", "cairn.newTask"].map((command) => vscode.commands.registerCommand(command, (text?: unknown) => this.#runTask(text))),
      vscode.commands.registerCommand("cairn.reply", () => this.#reply()),
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

  /**
   * A separate task, in a new session, and never during a running one: there is one plan in view,
   * and one task to stop. `given` is for other extensions and keybindings.
   */
  async #runTask(given: unknown): Promise<void> {
    const words = typeof given === "string" ? given : undefined;
    if (words === undefined && this.view.visible) {
      await this.#compose(NEW_TASK);
      return;
    }
    const { running } = this.store.state.sessions;
    if (running) {
      await this.#insteadOfAnother(words);
      return;
    }
    // Read before the input box takes the focus.
    const context = taskContext();
    const text =
      words ??
      (await this.#ask({
        purpose: NEW_TASK,
        title: vscode.l10n.t("New Task"),
        placeHolder: this.#hint(
          context.selection === undefined ? vscode.l10n.t("Describe the task") : vscode.l10n.t("Describe the task for the selected text"),
        ),
      }));
    if (text === undefined) {
      return;
    }
    // One may have begun while the user was typing.
    if (this.store.state.sessions.turn?.phase.kind === "started") {
      await this.#insteadOfAnother(text);
    } else {
      await this.#start(text, undefined, context);
    }
  }

  /** Sends a message to the session in view: to the running turn, or as its next turn. */
  async #reply(): Promise<void> {
    const turn = this.store.state.sessions.turn;
    if (turn === undefined) {
      await this.#runTask(undefined);
      return;
    }
    if (this.view.visible) {
      await this.#compose(turn.sessionId);
      return;
    }
    const context = taskContext();
    const running = turn.phase.kind === "started";
    const text = await this.#ask({
      purpose: turn.sessionId,
      title: running ? vscode.l10n.t("Send to the Running Task") : vscode.l10n.t("Reply"),
      placeHolder: running
        ? vscode.l10n.t("The agent reads it before its next step")
        : this.#hint(questionOf(turn) || vscode.l10n.t("Goes on in the same conversation"), turn.sessionId),
    });
    if (text === undefined) {
      return;
    }
    await this.#send(turn, text, context);
  }

  /** Moves the input to the conversation view, with a draft that was written elsewhere. */
  async #compose(purpose: string): Promise<void> {
    await (purpose === NEW_TASK ? this.view.begin() : this.view.focus());
    const draft = this.drafts.of(purpose);
    if (draft !== "" && this.view.adopt(purpose === NEW_TASK ? undefined : purpose, draft)) {
      this.drafts.keep(purpose, "");
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
    const purpose = this.#prompts.get(document) ?? NEW_TASK;
    const turn = purpose === NEW_TASK ? undefined : this.store.state.sessions.turnOf(purpose);
    if (turn === undefined && this.store.state.sessions.running) {
      await this.#insteadOfAnother(text);
      return;
    }
    const sent = turn === undefined ? await this.#start(text, undefined, {}) : await this.#send(turn, text, {});
    if (sent && vscode.window.activeTextEditor?.document === document) {
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    }
  }

  /** Returns `undefined` if the user leaves the box, or continues in an editor. */
  async #ask(question: Question): Promise<string | undefined> {
    const written = await write(this.drafts, question);
    if (written?.kind === "document") {
      await this.#openPrompt(written.text, question.purpose);
      this.drafts.keep(question.purpose, "");
    }
    return written?.kind === "text" ? written.text : undefined;
  }

  /** Opens a text in an editor, from which it is sent to a session, or as a new task. */
  async #openPrompt(text: unknown, sessionId: unknown): Promise<void> {
    const purpose = typeof sessionId === "string" && sessionId !== "" ? sessionId : NEW_TASK;
    this.#prompts.set(await openPrompt(typeof text === "string" ? text : ""), purpose);
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
      await this.#try(turn.sessionId, turn.text, () => this.tasks.again(turn));
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

  /** Describes an unusual condition of the turn that the text would start. */
  #hint(words: string, sessionId?: string): string {
    const mode = this.store.state.modes.of(sessionId);
    return mode === "review" ? words : vscode.l10n.t("{0} ({1} mode)", words, modeText(mode).name);
  }

  async #insteadOfAnother(text: string | undefined): Promise<void> {
    const tell = {
      label: `$(comment) ${vscode.l10n.t("Send to the Running Task")}`,
      detail: vscode.l10n.t("The agent reads it before its next step"),
    };
    const queue = {
      label: `$(list-ordered) ${vscode.l10n.t("Queue It for Afterwards")}`,
      detail: vscode.l10n.t("It begins when the running task has completed"),
    };
    const cancel = { label: `$(debug-stop) ${vscode.l10n.t("Cancel the Running Task")}`, detail: vscode.l10n.t("Then another one can be started") };
    const picked = await vscode.window.showQuickPick([tell, queue, cancel], { title: vscode.l10n.t("A task is running"), ignoreFocusOut: true });
    const turn = this.store.state.sessions.turn;
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

  /** Starts a turn; false if it was refused. The text is then kept, and offered again. */
  async #start(text: string, sessionId: string | undefined, context: TaskContext, mode?: ReviewMode): Promise<boolean> {
    return await this.#try(sessionId ?? NEW_TASK, text, () => this.tasks.start(text, sessionId, context, mode));
  }

  async #steer(turn: Turn, text: string): Promise<boolean> {
    return await this.#try(turn.sessionId, text, () => this.tasks.steer(turn, text));
  }

  async #try(purpose: string, text: string, request: () => Promise<void>): Promise<boolean> {
    try {
      await request();
      this.drafts.sent(purpose, text);
      return true;
    } catch (error) {
      this.drafts.keep(purpose, text);
      void this.#refused(purpose, text, error);
      return false;
    }
  }

  /** Shows why nothing was started, and offers the text again. */
  async #refused(purpose: string, text: string, error: unknown): Promise<void> {
    const command = purpose === NEW_TASK ? "cairn.runTask" : "cairn.reply";
    if (kindOf(error) === "noModel") {
      await this.setup.offer(text, () => vscode.commands.executeCommand(command));
      return;
    }
    const showText: Action = { label: vscode.l10n.t("Show Text"), command: [command] };
    const showLog: Action = { label: vscode.l10n.t("Show Log"), command: ["cairn.showLog"] };
    const action = actionOf(problemOf(error));
    const message = vscode.l10n.t("{0} Your text is kept.", reasonOf(error));
    await offerActions(vscode.window.showErrorMessage, message, [...(action === undefined ? [] : [action]), showText, showLog]);
  }
}

/** The question with which the turn ended; empty if there is none. */
function questionOf({ phase }: Turn): string {
  return phase.kind === "ended" && phase.reason === "needsInput" ? oneLine(lastQuestion(phase.summary), 100) : "";
}

/** The active file, and the selection in it. */
export function taskContext(): TaskContext {
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
