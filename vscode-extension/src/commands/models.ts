import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { type ModelsResult, type ProviderStatus, requests } from "../protocol";
import { label, oneLine } from "../text/display";

interface Choice extends vscode.QuickPickItem {
  readonly run?: () => Thenable<unknown>;
}

/** `Cairn: Choose Model`: what is usable now, and why the rest is not. */
export async function chooseModel(agent: Agent): Promise<void> {
  let models: ModelsResult;
  try {
    models = await agent.request(requests.models, {});
  } catch (error) {
    void vscode.window.showErrorMessage(reasonOf(error));
    return;
  }
  const choice = await vscode.window.showQuickPick(choices(models), {
    title: "Model",
    placeHolder: oneLine(`Now: ${models.active.name} (${models.active.provider})`),
    ignoreFocusOut: true,
    matchOnDescription: true,
  });
  await choice?.run?.();
}

function choices({ active, providers }: ModelsResult): Choice[] {
  const automatic: Choice = {
    label: "Automatic",
    description: "the first provider that is usable",
    run: () => write("auto", ""),
  };
  return [automatic, ...providers.flatMap((provider) => providerChoices(provider, active))];
}

function providerChoices({ provider, usable, reason, models }: ProviderStatus, active: ModelsResult["active"]): Choice[] {
  const separator: Choice = { label: provider, kind: vscode.QuickPickItemKind.Separator };
  if (!usable) {
    const setKey = (): Thenable<unknown> => vscode.commands.executeCommand("cairn.setApiKey");
    const openSettings = (): Thenable<unknown> => vscode.commands.executeCommand("workbench.action.openSettings", "cairn.model");
    return [separator, { label: "$(circle-slash) Not usable now", detail: label(reason, 400), run: provider === "replay" ? openSettings : setKey }];
  }
  const named = models.map((name): Choice => {
    const chosen = provider === active.provider && name === active.name;
    return {
      label: `${chosen ? "$(check)" : "$(blank)"} ${label(name, 100)}`,
      ...(provider === "replay" ? { description: "answers from a script" } : {}),
      run: () => write(provider, name),
    };
  });
  const other: Choice = { label: "$(edit) Another model…", run: () => writeOther(provider) };
  return [separator, ...named, ...(provider === "replay" ? [] : [other])];
}

async function writeOther(provider: string): Promise<void> {
  const name = (await vscode.window.showInputBox({ title: `Name of a model of ${provider}`, ignoreFocusOut: true }))?.trim();
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
