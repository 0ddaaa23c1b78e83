import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { type ExportFormat, type SessionSnapshot, type SessionSummary, requests } from "../protocol";
import type { SessionStore } from "../stores/session";
import { inert, oneLine } from "../text/display";
import { sessionText } from "../text/sessions";

/** Views that show the session in view. */
export interface SessionView {
  show(session: SessionSnapshot): Promise<void>;
  /** Empties the views if they show this session, which was deleted. */
  clear(sessionId: string): void;
}

interface Row extends vscode.QuickPickItem {
  /** Without one: the row that asks for more. */
  readonly session?: SessionSummary;
}

interface Button extends vscode.QuickInputButton {
  readonly run: (session: SessionSummary) => Promise<void>;
}

/** The earlier sessions of the workspace: open, fork, delete, export. */
export class SessionCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable[];

  constructor(
    private readonly agent: Agent,
    private readonly sessions: SessionStore,
    private readonly view: SessionView,
  ) {
    this.#subscriptions = [
      vscode.commands.registerCommand("cairn.openSession", () => this.#try(() => this.#choose())),
      vscode.commands.registerCommand("cairn.exportMarkdown", () => this.#try(() => this.#exportCurrent("markdown"))),
      vscode.commands.registerCommand("cairn.exportReplay", () => this.#try(() => this.#exportCurrent("replay"))),
    ];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  async #choose(): Promise<void> {
    const pick = vscode.window.createQuickPick<Row>();
    pick.title = "Open session";
    pick.placeholder = "Sessions of this workspace, the newest first";
    pick.matchOnDescription = true;
    pick.busy = true;
    pick.onDidHide(() => pick.dispose());
    const leave = (act: () => Promise<void>): void => {
      pick.hide();
      void this.#try(act);
    };
    const buttons: Button[] = [
      { iconPath: new vscode.ThemeIcon("repo-forked"), tooltip: "Fork Session", run: (session) => this.#fork(session) },
      {
        iconPath: new vscode.ThemeIcon("markdown"),
        tooltip: "Export Session as Markdown",
        run: ({ sessionId }) => this.#export(sessionId, "markdown"),
      },
      { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Delete Session", run: (session) => this.#delete(session) },
    ];
    let next: string | undefined;
    const load = async (): Promise<void> => {
      const page = await this.agent.request(requests.listSessions, next === undefined ? {} : { cursor: next });
      next = page.next;
      const rows = page.sessions.map((session): Row => ({ ...sessionText(session, Date.now()), session, buttons }));
      const known = pick.items.filter((row) => row.session !== undefined);
      pick.items = [...known, ...rows, ...(next === undefined ? [] : [{ label: "$(ellipsis) Older sessions…", alwaysShow: true }])];
      pick.busy = false;
    };
    pick.onDidTriggerItemButton(({ button, item: { session } }) => {
      const chosen = buttons.find((known) => known === button);
      if (session !== undefined && chosen !== undefined) {
        leave(() => chosen.run(session));
      }
    });
    pick.onDidAccept(() => {
      const row = pick.selectedItems[0];
      if (row?.session !== undefined) {
        const { session } = row;
        leave(() => this.#open(session));
      } else if (row !== undefined) {
        void this.#try(load);
      }
    });
    pick.show();
    try {
      await load();
    } catch (error) {
      pick.hide();
      throw error;
    }
    if (pick.items.length === 0) {
      pick.hide();
      vscode.window.setStatusBarMessage("Cairn: there is no session in this workspace yet.", 5_000);
    }
  }

  async #open({ sessionId }: SessionSummary): Promise<void> {
    if (this.#isFree()) {
      await this.#show(await this.agent.request(requests.openSession, { sessionId }));
    }
  }

  async #fork({ sessionId }: SessionSummary): Promise<void> {
    if (this.#isFree()) {
      await this.#show(await this.agent.request(requests.forkSession, { sessionId }));
      // It looks just like the other one.
      vscode.window.setStatusBarMessage("Cairn: this is a fork. The session it comes from stays as it was.", 10_000);
    }
  }

  async #show(opened: { readonly kind: "opened"; readonly session: SessionSnapshot } | { readonly kind: "earlier" }): Promise<void> {
    if (opened.kind === "opened") {
      await this.view.show(opened.session);
      // Where the side bar shows something else, who opens a session wants to see its plan.
      if (opened.session.plan !== undefined) {
        await vscode.commands.executeCommand("cairn.plan.focus");
      }
      await vscode.commands.executeCommand("cairn.showConversation");
    }
  }

  async #delete({ sessionId, task }: SessionSummary): Promise<void> {
    const remove = "Delete";
    const answer = await vscode.window.showWarningMessage(
      "Delete this session?",
      {
        modal: true,
        detail: inert(`“${oneLine(task, 200)}”\n\nIts conversation and its plans are removed from the disk. The files it changed stay as they are.`),
      },
      remove,
    );
    if (answer === remove) {
      await this.agent.request(requests.deleteSession, { sessionId });
      this.view.clear(sessionId);
    }
  }

  async #exportCurrent(format: ExportFormat): Promise<void> {
    const { current } = this.sessions;
    if (current === undefined) {
      vscode.window.setStatusBarMessage("Cairn: no session is open. Choose one with “Cairn: Open Session”.", 5_000);
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

  /** One plan is in view, and one task can be stopped: the one that runs. */
  #isFree(): boolean {
    const { running } = this.sessions;
    if (running) {
      vscode.window.setStatusBarMessage("Cairn: a task is running. Cancel it first, or wait for its end.", 5_000);
    }
    return !running;
  }

  async #try(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      void vscode.window.showErrorMessage(inert(reasonOf(error)));
    }
  }
}
