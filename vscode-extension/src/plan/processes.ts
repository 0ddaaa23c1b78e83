import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { type ProcessInfo, requests } from "../protocol";
import { isRunning } from "../stores/session";
import type { Store } from "../stores/store";
import { label, oneExactLine } from "../text/display";
import { lastLine, processState } from "../text/processes";
import { ProcessTerminal } from "./processTerminal";
import type { Row } from "./rows";

/** Commands that watch and stop a process: that of a row, else one that the user picks. */
export class ProcessCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  /** Open terminals, by session and process. */
  readonly #terminals = new Map<string, vscode.Terminal>();

  constructor(
    private readonly agent: Agent,
    private readonly store: Store,
  ) {
    const on = (command: string, run: (row: Row | undefined) => unknown): vscode.Disposable => vscode.commands.registerCommand(command, run);
    this.#subscriptions = vscode.Disposable.from(
      on("cairn.watchProcess", (row) => this.#watch(row)),
      on("cairn.stopProcess", (row) => this.#stop(row)),
      vscode.window.onDidCloseTerminal((closed) => {
        for (const [key, terminal] of this.#terminals) {
          if (terminal === closed) {
            this.#terminals.delete(key);
          }
        }
      }),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  async #watch(row: Row | undefined): Promise<void> {
    const chosen = await this.#choose(row, vscode.l10n.t("Watch which process?"));
    if (chosen === undefined) {
      return;
    }
    const { sessionId, process } = chosen;
    const key = `${sessionId}#${process.id}`;
    const terminal =
      this.#terminals.get(key) ??
      vscode.window.createTerminal({
        name: label(process.command, 40),
        iconPath: new vscode.ThemeIcon("server-process"),
        pty: new ProcessTerminal(this.agent, sessionId, process, reasonOf),
      });
    this.#terminals.set(key, terminal);
    terminal.show();
  }

  async #stop(row: Row | undefined): Promise<void> {
    const chosen = await this.#choose(row, vscode.l10n.t("Stop which process?"));
    if (chosen === undefined) {
      return;
    }
    try {
      await this.agent.request(requests.processStop, { sessionId: chosen.sessionId, id: chosen.process.id });
    } catch (error) {
      // It may have ended while the row was on the screen.
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: {0}", reasonOf(error)), 5_000);
    }
  }

  async #choose(row: Row | undefined, title: string): Promise<{ readonly sessionId: string; readonly process: ProcessInfo } | undefined> {
    if (row?.kind === "process") {
      return row;
    }
    const sessionId = this.store.state.sessions.current ?? "";
    const running = this.#running();
    const [first] = running;
    if (first === undefined) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: no process runs."), 5_000);
      return undefined;
    }
    if (running.length === 1) {
      return { sessionId, process: first };
    }
    const picked = await vscode.window.showQuickPick(
      running.map((process) => ({
        label: oneExactLine(process.command, 120),
        description: processState(process),
        detail: lastLine(process),
        process,
      })),
      { title },
    );
    return picked === undefined ? undefined : { sessionId, process: picked.process };
  }

  #running(): readonly ProcessInfo[] {
    return this.store.state.sessions.processesOf(this.store.state.sessions.current).filter(isRunning);
  }
}
