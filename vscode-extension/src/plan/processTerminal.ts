import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { type ProcessInfo, requests } from "../protocol";
import { endOfProcess } from "../text/processes";

/** Longest input of one request, in characters: at most 12 KiB as UTF-8. */
const INPUT_CHARS = 4 * 1024;

/**
 * Terminal in which the user watches a process, and types into it. Closing it does not end the process.
 * Output is asked for when the last was written, so a flood of it cannot fill the memory.
 */
export class ProcessTerminal implements vscode.Pseudoterminal {
  readonly #write = new vscode.EventEmitter<string>();
  readonly #cancel = new vscode.CancellationTokenSource();
  #sending: Promise<void> = Promise.resolve();
  /** Line that the user types, for a process without a terminal. */
  #line = "";
  /** True once the user was told that input is not taken. */
  #told = false;
  #ended = false;

  readonly onDidWrite = this.#write.event;

  constructor(
    private readonly agent: Pick<Agent, "request">,
    private readonly sessionId: string,
    private readonly process: ProcessInfo,
    private readonly reasonOf: (error: unknown) => string,
  ) {}

  open(): void {
    void this.#watch();
  }

  close(): void {
    this.#cancel.cancel();
    this.#write.dispose();
  }

  handleInput(data: string): void {
    if (this.#ended) {
      return;
    }
    if (!this.process.input) {
      this.#tell(vscode.l10n.t("This process takes no input."));
    } else if (this.process.terminal) {
      this.#send(data);
    } else {
      this.#type(data);
    }
  }

  async #watch(): Promise<void> {
    const { sessionId, process } = this;
    const { id } = process;
    for (let since = 0; !this.#isClosed() && !this.#ended;) {
      try {
        const { text, missed, end, ended } = await this.agent.request(requests.processOutput, { sessionId, id, since }, this.#cancel.token);
        if (missed > 0) {
          this.#note(vscode.l10n.t("{0} bytes left out", missed));
        }
        this.#write.fire(text.replaceAll(/\r?\n/gu, "\r\n"));
        since = end;
        if (ended !== undefined) {
          this.#ended = true;
          this.#note(vscode.l10n.t("Process {0}: {1}", id, endOfProcess(ended)));
        }
      } catch (error) {
        this.#ended = true;
        if (!this.#isClosed()) {
          this.#note(this.reasonOf(error));
        }
      }
    }
  }

  #isClosed(): boolean {
    return this.#cancel.token.isCancellationRequested;
  }

  /** Lines with echo and backspace, for a process that has no terminal to do it. */
  #type(data: string): void {
    if (data.startsWith("\x1b")) {
      return;
    }
    for (const char of data) {
      if (char === "\r" || char === "\n") {
        this.#write.fire("\r\n");
        this.#send(`${this.#line}\n`);
        this.#line = "";
      } else if (char === "\x7f" || char === "\b") {
        if (this.#line !== "") {
          this.#line = [...this.#line].slice(0, -1).join("");
          this.#write.fire("\b \b");
        }
      } else if (char === "\x03") {
        this.#write.fire("^C\r\n");
        this.#line = "";
        void this.#request(async () => {
          await this.agent.request(requests.processStop, { sessionId: this.sessionId, id: this.process.id });
        });
      } else if (char >= " ") {
        this.#line += char;
        this.#write.fire(char);
      }
    }
  }

  /** Sends input in order, in parts that the daemon takes. */
  #send(text: string): void {
    const { sessionId, process } = this;
    for (let at = 0; at < text.length; at += INPUT_CHARS) {
      const part = text.slice(at, at + INPUT_CHARS);
      this.#sending = this.#sending.then(() =>
        this.#request(async () => {
          const { taken } = await this.agent.request(requests.processInput, { sessionId, id: process.id, text: part });
          if (taken === "part") {
            this.#tell(vscode.l10n.t("The process does not read its input: a part of it was not sent."));
          } else if (taken === "none") {
            this.#tell(vscode.l10n.t("This process takes no input."));
          }
        }),
      );
    }
  }

  async #request(send: () => Promise<void>): Promise<void> {
    try {
      await send();
    } catch (error) {
      this.#tell(this.reasonOf(error));
    }
  }

  #tell(text: string): void {
    if (!this.#told) {
      this.#told = true;
      this.#note(text);
    }
  }

  /** Writes words of Cairn, on a separate line. */
  #note(text: string): void {
    this.#write.fire(`\r\n\x1b[2m[${text}]\x1b[0m\r\n`);
  }
}
