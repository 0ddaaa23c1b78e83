import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import type { QueuedRow, Row } from "../plan/rows";
import { requests } from "../protocol";
import type { ModeStore } from "../stores/mode";
import type { SessionStore } from "../stores/session";

/** Commands for queued follow-ups: add, change, remove, and start now. */
export class QueueCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable[];

  constructor(
    private readonly agent: Agent,
    private readonly sessions: SessionStore,
    private readonly modes: ModeStore,
  ) {
    const on = (command: string, run: (row: QueuedRow) => Promise<void>): vscode.Disposable =>
      vscode.commands.registerCommand(command, async (row: Row | undefined) => {
        if (row?.kind === "queued") {
          await run(row);
        }
      });
    this.#subscriptions = [
      vscode.commands.registerCommand("cairn.queueFollowUp", (text?: unknown) => this.#add(text)),
      on("cairn.queue.edit", (row) => this.#edit(row)),
      on("cairn.queue.drop", ({ sessionId, item }) => this.#try(this.agent.request(requests.queueDrop, { sessionId, id: item.id }))),
      on("cairn.queue.send", ({ sessionId, item }) => this.#try(this.agent.request(requests.queueSend, { sessionId, id: item.id }))),
    ];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  async #add(given: unknown): Promise<void> {
    const turn = this.sessions.turn;
    if (turn === undefined) {
      await vscode.commands.executeCommand("cairn.runTask", given);
      return;
    }
    const placeHolder = "Runs when the running task has completed; until then it can be changed or dropped";
    const text = typeof given === "string" ? given : await ask("What should be done next?", { placeHolder });
    if (text !== undefined) {
      const { sessionId } = turn;
      await this.#try(this.agent.request(requests.queueAdd, { sessionId, text, mode: this.modes.of(sessionId) }));
    }
  }

  async #edit({ sessionId, item }: QueuedRow): Promise<void> {
    const text = await ask("Change what should be done next", { value: item.text });
    if (text !== undefined && text !== item.text) {
      await this.#try(this.agent.request(requests.queueEdit, { sessionId, id: item.id, text }));
    }
  }

  async #try(request: Promise<unknown>): Promise<void> {
    try {
      await request;
    } catch (error) {
      void vscode.window.showErrorMessage(reasonOf(error));
    }
  }
}

async function ask(title: string, options: vscode.InputBoxOptions): Promise<string | undefined> {
  const text = (await vscode.window.showInputBox({ title, ignoreFocusOut: true, ...options }))?.trim();
  return text === "" ? undefined : text;
}
