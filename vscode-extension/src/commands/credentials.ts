import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { editorNotifications } from "../protocol";

const PROVIDERS = [
  { label: "Anthropic", provider: "anthropic" },
  { label: "OpenAI", provider: "openai", description: "or a server that speaks its protocol" },
];

/** API keys: kept in the editor's secret store, handed to the daemon's memory and nowhere else. */
export class Credentials implements vscode.Disposable {
  readonly #command: vscode.Disposable;

  constructor(
    private readonly agent: Agent,
    private readonly secrets: vscode.SecretStorage,
  ) {
    this.#command = vscode.commands.registerCommand("cairn.setApiKey", () => this.#set());
  }

  dispose(): void {
    this.#command.dispose();
  }

  async sendAll(): Promise<void> {
    for (const { provider } of PROVIDERS) {
      const key = await this.secrets.get(secretName(provider));
      if (key !== undefined) {
        await this.agent.notify(editorNotifications.credentials, { provider, key });
      }
    }
  }

  async #set(): Promise<void> {
    const choice = await vscode.window.showQuickPick(PROVIDERS, { title: "API key of which provider?", ignoreFocusOut: true });
    if (choice === undefined) {
      return;
    }
    const { provider, label } = choice;
    const typed = await vscode.window.showInputBox({
      title: `API key of ${label}`,
      prompt: "Kept in the editor's secret storage. Leave it empty to forget the key.",
      password: true,
      ignoreFocusOut: true,
    });
    if (typed === undefined) {
      return;
    }
    const key = typed.trim();
    if (key === "") {
      await this.secrets.delete(secretName(provider));
    } else {
      await this.secrets.store(secretName(provider), key);
    }
    await this.agent.notify(editorNotifications.credentials, { provider, key: key === "" ? null : key });
    void vscode.window.showInformationMessage(key === "" ? `The key of ${label} is forgotten.` : `The key of ${label} is kept.`);
  }
}

function secretName(provider: string): string {
  return `cairn.key.${provider}`;
}
