import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { type SessionMatch, type SessionSummary, requests } from "../protocol";
import { matchRows, sessionGroups, sessionText } from "../text/sessions";

/** Button of a row in the list of sessions. */
export interface SessionButton extends vscode.QuickInputButton {
  readonly run: (session: SessionSummary) => Promise<void>;
}

interface Row extends vscode.QuickPickItem {
  /** Without one: a heading, or the row that asks for more. */
  readonly session?: SessionSummary;
}

interface Port {
  open(session: SessionSummary): Promise<void>;
  /** Runs an action of a row, after the list is closed. */
  run(act: () => Promise<void>): void;
}

/** Time without a key press after which the text of sessions is searched, in milliseconds. */
const PAUSE_MS = 250;
/** Fewest characters that are searched for. */
const SHORTEST = 2;

/** List of the sessions of the workspace. What is typed filters the rows, and finds sessions by their text. */
export class SessionList {
  readonly #pick = vscode.window.createQuickPick<Row>();
  readonly #known = new Map<string, SessionSummary>();
  #next: string | undefined;
  #matches: { readonly query: string; readonly rows: readonly SessionMatch[]; readonly limited: boolean } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #search: vscode.CancellationTokenSource | undefined;

  constructor(
    private readonly agent: Agent,
    private readonly buttons: readonly SessionButton[],
    private readonly port: Port,
  ) {
    const pick = this.#pick;
    pick.title = vscode.l10n.t("Open session");
    pick.placeholder = vscode.l10n.t("Search in names, states and conversations · Enter opens, Tab goes to the buttons of a row");
    pick.matchOnDescription = true;
    pick.matchOnDetail = true;
    pick.onDidHide(() => {
      this.#stop();
      pick.dispose();
    });
    pick.onDidTriggerItemButton(({ button, item: { session } }) => {
      const chosen = buttons.find((known) => known === button);
      if (session !== undefined && chosen !== undefined) {
        this.#leave(() => chosen.run(session));
      }
    });
    pick.onDidAccept(() => {
      const row = pick.selectedItems[0];
      if (row?.session !== undefined) {
        const { session } = row;
        this.#leave(() => this.port.open(session));
      } else if (row !== undefined) {
        this.port.run(() => this.#load());
      }
    });
    pick.onDidChangeValue((value) => this.#typed(value.trim()));
  }

  /** Returns false if there is no session. */
  async show(): Promise<boolean> {
    this.#pick.show();
    try {
      await this.#load();
    } catch (error) {
      this.#pick.hide();
      throw error;
    }
    if (this.#known.size === 0) {
      this.#pick.hide();
      return false;
    }
    return true;
  }

  #leave(act: () => Promise<void>): void {
    this.#pick.hide();
    this.port.run(act);
  }

  async #load(): Promise<void> {
    this.#pick.busy = true;
    const page = await this.agent.request(requests.listSessions, this.#next === undefined ? {} : { cursor: this.#next });
    this.#next = page.next;
    const first = page.sessions.find(({ sessionId }) => this.#known.size > 0 && !this.#known.has(sessionId))?.sessionId;
    for (const session of page.sessions) {
      this.#known.set(session.sessionId, session);
    }
    this.#draw();
    // The reader continues where the list ended before.
    const at = this.#pick.items.find(({ session }) => session !== undefined && session.sessionId === first);
    if (at !== undefined) {
      this.#pick.activeItems = [at];
    }
    this.#pick.busy = false;
  }

  #typed(query: string): void {
    this.#stop();
    if (query.length < SHORTEST) {
      if (this.#matches !== undefined) {
        this.#matches = undefined;
        this.#draw();
      }
      return;
    }
    this.#timer = setTimeout(() => void this.#find(query), PAUSE_MS);
  }

  /** Ends the search that runs, and the one about to begin. */
  #stop(): void {
    clearTimeout(this.#timer);
    this.#search?.cancel();
    this.#search?.dispose();
    this.#search = undefined;
    this.#pick.busy = false;
  }

  async #find(query: string): Promise<void> {
    const search = new vscode.CancellationTokenSource();
    this.#search = search;
    this.#pick.busy = true;
    try {
      const { matches, limited } = await this.agent.request(requests.searchSessions, { query }, search.token);
      if (this.#search === search) {
        this.#matches = { query, rows: matches, limited };
        this.#draw();
      }
    } catch (error) {
      if (this.#search === search) {
        void vscode.window.showWarningMessage(vscode.l10n.t("The text of the sessions was not searched: {0}", reasonOf(error)));
      }
    }
    if (this.#search === search) {
      this.#stop();
    }
  }

  #draw(): void {
    const now = Date.now();
    const { buttons } = this;
    const rows = sessionGroups([...this.#known.values()], now, vscode.env.language).flatMap(({ heading, sessions }): Row[] => [
      { label: heading, kind: vscode.QuickPickItemKind.Separator },
      ...sessions.map((session) => ({ ...sessionText(session, now), session, buttons })),
    ]);
    const older: Row = { label: `$(ellipsis) ${vscode.l10n.t("Older sessions…")}`, alwaysShow: true };
    const title = vscode.l10n.t("Open session");
    // A heading would not be shown while something is typed.
    this.#pick.title = this.#matches?.limited === true ? vscode.l10n.t("{0} · more match: type more", title) : title;
    this.#pick.keepScrollPosition = true;
    this.#pick.items = [...rows, ...this.#found(now), ...(this.#next === undefined ? [] : [older])];
  }

  /** Sessions that only their text tells: the editor shows the others, whose rows have the words. */
  #found(now: number): Row[] {
    const { query = "", rows = [] } = this.#matches ?? {};
    return matchRows(rows, query, this.#known, now).map(({ session, text }) => ({
      ...text,
      session,
      buttons: this.buttons,
      alwaysShow: true,
    }));
  }
}
