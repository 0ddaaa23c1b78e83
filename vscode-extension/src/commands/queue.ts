import * as vscode from "vscode";

import type { QueuedRow, Row } from "../plan/rows";
import type { Store } from "../stores/store";
import { showFailure } from "../status/offer";
import type { TaskRequests } from "./taskRequests";

/** Commands for queued follow-ups: add, change, remove, and start now. */
export class QueueCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;

  constructor(
    private readonly tasks: TaskRequests,
    private readonly store: Store,
  ) {
    const on = (command: string, run: (row: QueuedRow) => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(command, async (row: Row | undefined) => {
        if (row?.kind === "queued") {
          await run(row);
        }
      });
    this.#subscriptions = vscode.Disposable.from(
      vscode.commands.registerCommand("cairn.queueFollowUp", (text?: unknown) => this.#add(text)),
      on("cairn.queue.edit", (row) => this.#edit(row)),
      on("cairn.queue.drop", ({ sessionId, item }) => this.#try(this.tasks.dropQueued(sessionId, item.id))),
      on("cairn.queue.send", ({ sessionId, item }) => this.#try(this.tasks.sendQueued(sessionId, item.id))),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  async #add(given: unknown): Promise<void> {
    const turn = this.store.state.sessions.turn;
    if (turn === undefined) {
      await vscode.commands.executeCommand("cairn.runTask", given);
      return;
    }
    const placeHolder = vscode.l10n.t("Starts when the running task has completed. Until then you can change or remove it");
    const text = typeof given === "string" ? given : await ask(vscode.l10n.t("New Follow-Up"), { placeHolder });
    if (text !== undefined) {
      await this.#try(this.tasks.queue(turn.sessionId, text));
    }
  }

  async #edit({ sessionId, item }: QueuedRow): Promise<void> {
    const text = await ask(vscode.l10n.t("Change Follow-Up"), { value: item.text });
    if (text !== undefined && text !== item.text) {
      await this.#try(this.tasks.editQueued(sessionId, item.id, text));
    }
  }

  async #try(request: Promise<unknown>): Promise<void> {
    try {
      await request;
    } catch (error) {
      void showFailure(error);
    }
  }
}

async function ask(title: string, options: vscode.InputBoxOptions): Promise<string | undefined> {
  const text = (await vscode.window.showInputBox({ title, ignoreFocusOut: true, ...options }))?.trim();
  return text === "" ? undefined : text;
}
