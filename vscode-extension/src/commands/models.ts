import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { type ModelsResult, type ProviderStatus, requests } from "../protocol";
import { label, oneLine } from "../text/display";
import { actionOf, messageText } from "../text/messages";
import { showFailure } from "../status/offer";

interface Choice extends vscode.QuickPickItem {
  readonly run?: () => Thenable<unknown>;
}

/** `Cairn: Choose Model`: the usable models, and the reason why a provider cannot be used. */
export async function chooseModel(agent: Agent): Promise<void> {
  let models: ModelsResult;
  try {
    models = await agent.request(requests.models, {});
  } catch (error) {
    void showFailure(error);
    return;
  }
  const choice = await vscode.window.showQuickPick(choices(models), {
    title: vscode.l10n.t("Model"),
    placeHolder:
      models.active.provider === "none"
        ? vscode.l10n.t("No model is set up")
        : oneLine(vscode.l10n.t("Now: {0} ({1})", models.active.name, models.active.provider)),
    ignoreFocusOut: true,
    matchOnDescription: true,
  });
  await choice?.run?.();
}

function choices({ active, providers }: ModelsResult): Choice[] {
  const automatic: Choice = {
    label: vscode.l10n.t("Automatic"),
    description: vscode.l10n.t("the first provider that is usable"),
    run: () => write("auto", ""),
  };
  return [automatic, ...providers.flatMap((provider) => providerChoices(provider, active))];
}

function providerChoices({ provider, usable, reason, problem, models }: ProviderStatus, active: ModelsResult["active"]): Choice[] {
  const separator: Choice = { label: provider, kind: vscode.QuickPickItemKind.Separator };
  if (!usable) {
    const [command, ...args] = actionOf(problem)?.command ?? ["cairn.setApiKey"];
    return [
      separator,
      {
        label: `$(circle-slash) ${vscode.l10n.t("Not usable now")}`,
        detail: label(messageText(problem) ?? reason, 400),
        run: () => vscode.commands.executeCommand(command, ...args),
      },
    ];
  }
  const named = models.map((name): Choice => {
    const chosen = provider === active.provider && name === active.name;
    return {
      label: `${chosen ? "$(check)" : "$(blank)"} ${label(name, 100)}`,
      ...(provider === "replay" ? { description: vscode.l10n.t("answers from a script") } : {}),
      run: () => write(provider, name),
    };
  });
  const other: Choice = { label: `$(edit) ${vscode.l10n.t("Another model…")}`, run: () => writeOther(provider) };
  return [separator, ...named, ...(provider === "replay" ? [] : [other])];
}

async function writeOther(provider: string): Promise<void> {
  const title = vscode.l10n.t("Name of a model of {0}", provider);
  const name = (await vscode.window.showInputBox({ title, ignoreFocusOut: true }))?.trim();
  if (name !== undefined && name !== "") {
    await write(provider, name);
  }
}

/** User level: a workspace must not choose where the user's text goes. */
async function write(provider: string, name: string): Promise<void> {
  const settings = vscode.workspace.getConfiguration("cairn.model");
  await settings.update("provider", provider, vscode.ConfigurationTarget.Global);
  await settings.update("name", name === "" || provider === "replay" ? undefined : name, vscode.ConfigurationTarget.Global);
}
