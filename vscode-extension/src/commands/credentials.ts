import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { editorNotifications, requests } from "../protocol";
import { type Key, readKeys, withKey } from "../stores/keys";
import { oneLine } from "../text/display";
import { showFailure } from "../status/offer";

const KEPT = "cairn.keys";

/**
 * API keys: kept in the editor's secret store, each with the server it is for, handed to the daemon's
 * memory and nowhere else. Where a provider's requests go is for the daemon to say.
 */
export class Credentials implements vscode.Disposable {
  readonly #command: vscode.Disposable;

  constructor(
    private readonly agent: Agent,
    private readonly secrets: vscode.SecretStorage,
  ) {
    this.#command = vscode.commands.registerCommand("cairn.setApiKey", (provider?: unknown) => this.#set(provider));
  }

  dispose(): void {
    this.#command.dispose();
  }

  async sendAll(): Promise<void> {
    for (const key of readKeys(await this.secrets.get(KEPT))) {
      await this.#send(key);
    }
  }

  async #set(provider: unknown): Promise<void> {
    try {
      const { providers } = await this.agent.request(requests.models, {});
      const choices = providers
        .filter(({ origin }) => origin !== "")
        .map(({ provider, origin }) => ({ label: nameOf(provider), description: oneLine(origin), provider, origin }));
      const named = choices.find((choice) => choice.provider === provider);
      const choice =
        named ?? (await vscode.window.showQuickPick(choices, { title: vscode.l10n.t("API key of which provider?"), ignoreFocusOut: true }));
      if (choice !== undefined) {
        const saved = await this.ask(choice.provider, choice.origin);
        if (saved !== undefined) {
          void vscode.window.showInformationMessage(
            saved ? vscode.l10n.t("API key for {0} saved.", choice.origin) : vscode.l10n.t("API key for {0} removed.", choice.origin),
          );
        }
      }
    } catch (error) {
      void showFailure(error);
    }
  }

  /** Origins for which a key is kept. */
  async origins(): Promise<ReadonlySet<string>> {
    return new Set(readKeys(await this.secrets.get(KEPT)).map(({ origin }) => origin));
  }

  /**
   * Asks for the key of a server, keeps it and hands it to the daemon. False for an empty key, which removes
   * the one before; nothing if the user goes back.
   */
  async ask(provider: string, origin: string): Promise<boolean | undefined> {
    const typed = await vscode.window.showInputBox({
      title: vscode.l10n.t("API Key for {0}", oneLine(origin)),
      prompt: vscode.l10n.t("Stored in the editor's secret storage and sent to this server only. Leave it empty to remove the key."),
      password: true,
      ignoreFocusOut: true,
    });
    if (typed === undefined) {
      return undefined;
    }
    const key = { provider, origin, key: typed.trim() };
    await this.secrets.store(KEPT, JSON.stringify(withKey(readKeys(await this.secrets.get(KEPT)), key)));
    await this.#send(key);
    return key.key !== "";
  }

  async #send({ provider, origin, key }: Key): Promise<void> {
    await this.agent.notify(editorNotifications.credentials, { provider, origin, key: key === "" ? null : key });
  }
}

function nameOf(provider: string): string {
  switch (provider) {
    case "anthropic":
      return "Anthropic";
    case "openai":
      return vscode.l10n.t("OpenAI, or a server that speaks its protocol");
    default:
      return provider;
  }
}
