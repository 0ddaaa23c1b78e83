import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { type ExportFormat, type SessionSnapshot, type SessionSummary, requests } from "../protocol";
import type { Store } from "../stores/store";
import { plainText, oneLine } from "../text/display";
import { sessionTitle } from "../text/sessions";
import { showFailure } from "../status/offer";
import { type SessionButton, SessionList } from "./sessionList";

type Named = Pick<SessionSummary, "sessionId" | "task" | "name">;

const NONE_OPEN = (): string => vscode.l10n.t("Cairn: no session is open. Choose one with “Cairn: Open Session”.");

/** Longest name of a session, in characters. */
const LONGEST_NAME = 200;

/** The earlier sessions of the workspace: open, rename, fork, delete and restore, export. */
export class SessionCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;

  constructor(
    private readonly agent: Agent,
    private readonly store: Store,
    /** Reads the plans of the session that came into view. */
    private readonly readPlans: () => Promise<void>,
  ) {
    this.#subscriptions = vscode.Disposable.from(
      vscode.commands.registerCommand("cairn.openSession", (id?: unknown) =>
        this.#try(() => (typeof id === "string" ? this.#open({ sessionId: id }) : this.#choose())),
      ),
      vscode.commands.registerCommand("cairn.forkSession", () => this.#try(() => this.#forkCurrent())),
      vscode.commands.registerCommand("cairn.renameSession", () => this.#try(() => this.#renameCurrent())),
      vscode.commands.registerCommand("cairn.deleteSession", () => this.#try(() => this.#deleteCurrent())),
      vscode.commands.registerCommand("cairn.exportMarkdown", () => this.#try(() => this.#exportCurrent("markdown"))),
      vscode.commands.registerCommand("cairn.exportReplay", () => this.#try(() => this.#exportCurrent("replay"))),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  async #choose(): Promise<void> {
    const icon = (name: string): vscode.ThemeIcon => new vscode.ThemeIcon(name);
    const buttons: SessionButton[] = [
      {
        iconPath: icon("edit"),
        tooltip: vscode.l10n.t("Rename Session"),
        run: async (session) => {
          await this.#rename(session);
          await this.#choose();
        },
      },
      { iconPath: icon("repo-forked"), tooltip: vscode.l10n.t("Fork Session"), run: (session) => this.#fork(session) },
      {
        iconPath: icon("markdown"),
        tooltip: vscode.l10n.t("Export Session as Markdown"),
        run: ({ sessionId }) => this.#export(sessionId, "markdown"),
      },
      { iconPath: icon("trash"), tooltip: vscode.l10n.t("Delete Session"), run: (session) => this.#delete(session) },
    ];
    const list = new SessionList(this.agent, buttons, {
      open: (session) => this.#open(session),
      run: (act) => void this.#try(act),
    });
    if (!(await list.show())) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: there is no session in this workspace yet."), 5_000);
    }
  }

  async #open({ sessionId }: Pick<SessionSummary, "sessionId">): Promise<void> {
    await this.#show(await this.agent.request(requests.openSession, { sessionId }));
  }

  async #fork({ sessionId }: Pick<SessionSummary, "sessionId">): Promise<void> {
    await this.#show(await this.agent.request(requests.forkSession, { sessionId }));
    // It looks just like the other one.
    const words = vscode.l10n.t("Cairn: this is a fork. The session it comes from stays as it was.");
    vscode.window.setStatusBarMessage(words, 10_000);
  }

  async #forkCurrent(): Promise<void> {
    const { current } = this.store.state.sessions;
    if (current !== undefined) {
      await this.#fork({ sessionId: current });
    }
  }

  async #renameCurrent(): Promise<void> {
    const { current, name, title } = this.store.state.sessions;
    if (current === undefined) {
      vscode.window.setStatusBarMessage(NONE_OPEN(), 5_000);
    } else {
      await this.#rename({ sessionId: current, task: title, ...(name !== undefined && { name }) });
    }
  }

  async #rename({ sessionId, task, name }: Named): Promise<void> {
    const answer = await vscode.window.showInputBox({
      title: vscode.l10n.t("Rename session"),
      prompt: vscode.l10n.t("Without a name the session is shown by its first message."),
      value: name ?? oneLine(task, LONGEST_NAME - 1),
      validateInput: (text) =>
        [...text.trim()].length > LONGEST_NAME ? vscode.l10n.t("A name has at most {0} characters.", LONGEST_NAME) : undefined,
    });
    if (answer !== undefined) {
      await this.agent.request(requests.renameSession, { sessionId, name: answer });
      this.store.apply({ kind: "renamed", sessionId, name: answer.trim() });
    }
  }

  async #show(opened: { readonly kind: "opened"; readonly session: SessionSnapshot } | { readonly kind: "earlier" }): Promise<void> {
    if (opened.kind === "opened") {
      this.store.apply({ kind: "opened", session: opened.session });
      await this.readPlans();
      // Its plan is in the same side bar.
      await vscode.commands.executeCommand("cairn.showConversation");
    }
  }

  async #deleteCurrent(): Promise<void> {
    const { current, name, title } = this.store.state.sessions;
    if (current === undefined) {
      vscode.window.setStatusBarMessage(NONE_OPEN(), 5_000);
    } else {
      await this.#delete({ sessionId: current, task: title, ...(name !== undefined && { name }) });
    }
  }

  async #delete(session: Named): Promise<void> {
    const { sessionId } = session;
    const inView = this.store.state.sessions.current === sessionId;
    await this.agent.request(requests.deleteSession, { sessionId });
    this.store.apply({ kind: "removed", sessionId });
    void this.#try(() => this.#offerUndo(session, inView));
  }

  /** The daemon keeps the files of a deleted session for a while. */
  async #offerUndo(session: Named, wasInView: boolean): Promise<void> {
    const undo = vscode.l10n.t("Undo");
    const name = plainText(oneLine(sessionTitle(session), 60));
    const answer = await vscode.window.showInformationMessage(
      vscode.l10n.t("The session “{0}” was deleted. The files it changed stay as they are.", name),
      undo,
    );
    if (answer !== undo) {
      return;
    }
    const { sessionId } = session;
    await this.agent.request(requests.restoreSession, { sessionId });
    if (wasInView && !this.store.state.sessions.running) {
      await this.#show(await this.agent.request(requests.openSession, { sessionId }));
    } else {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: the session “{0}” is back.", name), 5_000);
    }
  }

  async #exportCurrent(format: ExportFormat): Promise<void> {
    const { current } = this.store.state.sessions;
    if (current === undefined) {
      vscode.window.setStatusBarMessage(NONE_OPEN(), 5_000);
    } else {
      await this.#export(current, format);
    }
  }

  /** As a document that the user may save, or not. */
  async #export(sessionId: string, format: ExportFormat): Promise<void> {
    const exported = await this.agent.request(requests.exportSession, { sessionId, format });
    const language = format === "markdown" ? "markdown" : "json";
    const document =
      exported.kind === "text"
        ? await vscode.workspace.openTextDocument({ language, content: exported.text })
        : await vscode.workspace.openTextDocument(vscode.Uri.parse(exported.uri));
    await vscode.window.showTextDocument(document, { preview: false });
  }

  async #try(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      void showFailure(error);
    }
  }
}
