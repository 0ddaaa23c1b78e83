import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { type ModelsResult, type ServerModel, type ServerModelsResult, type UiMessage, requests } from "../protocol";
import { label, oneLine } from "../text/display";
import { textOf } from "../text/messages";
import { showFailure } from "../status/offer";
import type { Credentials } from "./credentials";
import type { ModelCheck } from "./modelCheck";
import { LocalServers } from "./localServers";
import { LOCAL, type ModelServer, VENDORS, countOf, factsOf, originOf, plainHost, serverAt, settingsFor } from "./modelServers";

interface Choice extends vscode.QuickPickItem {
  readonly run?: () => Thenable<unknown>;
}

/** `Cairn: Choose Model`: from a server, over its key, to one of its models. */
export class ModelPicker {
  readonly servers = new LocalServers((server) => this.#ask(server));

  constructor(
    private readonly agent: Agent,
    private readonly credentials: Credentials,
    private readonly check: ModelCheck,
  ) {}

  /** Shows the servers. Those on this machine are added as they answer. `address`: of the chosen one. */
  async choose(address?: unknown): Promise<void> {
    try {
      const chosen = LOCAL.find(({ baseUrl }) => baseUrl === address);
      if (chosen !== undefined) {
        await this.#chooseModel(chosen);
        return;
      }
      const [models, origins] = await Promise.all([this.agent.request(requests.models, {}), this.credentials.origins()]);
      await this.#chooseServer(models, origins);
    } catch (error) {
      void showFailure(error);
    }
  }

  async #chooseServer(models: ModelsResult, origins: ReadonlySet<string>): Promise<void> {
    const pick = vscode.window.createQuickPick<Choice>();
    let open = true;
    const show = (): void => {
      pick.items = [...this.#vendors(models, origins), ...this.#here(), ...this.#others(models)];
    };
    pick.title = vscode.l10n.t("Model");
    pick.placeholder =
      models.active.provider === "none"
        ? vscode.l10n.t("No model is set up")
        : oneLine(vscode.l10n.t("Now: {0} ({1})", models.active.name, models.active.provider));
    pick.matchOnDescription = true;
    pick.ignoreFocusOut = true;
    pick.busy = true;
    show();
    const news = this.servers.onDidChange(show);
    void this.servers.look().then(() => open && (pick.busy = false));
    const chosen = await new Promise<Choice | undefined>((resolve) => {
      pick.onDidAccept(() => resolve(pick.selectedItems[0]));
      pick.onDidHide(() => resolve(undefined));
      pick.show();
    });
    open = false;
    news.dispose();
    pick.dispose();
    await chosen?.run?.();
  }

  #vendors({ providers }: ModelsResult, origins: ReadonlySet<string>): Choice[] {
    const rows = VENDORS.map((server): Choice => {
      const own = originOf(server) === undefined ? providers.find(({ provider }) => provider === server.provider) : undefined;
      const usable = own?.usable === true || origins.has(originOf(server) ?? own?.origin ?? "");
      return {
        label: `${usable ? "$(pass)" : "$(key)"} ${server.name}`,
        description: usable ? vscode.l10n.t("ready") : vscode.l10n.t("Add Key…"),
        ...(own === undefined || own.usable || own.problem === undefined || own.problem.code === "no_api_key"
          ? {}
          : { detail: label(textOf(own.problem), 200) }),
        run: () => this.#chooseModel(server),
      };
    });
    return [heading(vscode.l10n.t("Providers")), ...rows];
  }

  #here(): Choice[] {
    const found = this.servers.found.map(({ server, models }): Choice => ({
      label: `$(server) ${server.name}`,
      description: countOf(models),
      run: () => this.#chooseModel(server),
    }));
    const other: Choice = {
      label: `$(link) ${vscode.l10n.t("Other Server…")}`,
      description: vscode.l10n.t("any server with the API of OpenAI, by its address"),
      run: () => this.#askAddress(),
    };
    return [heading(vscode.l10n.t("Servers on this machine, and others")), ...found, other];
  }

  #others({ active }: ModelsResult): Choice[] {
    const check: Choice = {
      label: `$(checklist) ${vscode.l10n.t("Check the Model…")}`,
      description: vscode.l10n.t("three small requests show what {0} and its server do", oneLine(active.name, 60)),
      run: () => this.check.run(active.name, {}),
    };
    return [
      heading(vscode.l10n.t("More")),
      ...(active.provider === "none" || active.replay ? [] : [check]),
      {
        label: `$(wand) ${vscode.l10n.t("Automatic")}`,
        description: vscode.l10n.t("the first provider that is usable"),
        run: () => write({ provider: "auto", name: undefined }),
      },
      {
        label: `$(play-circle) ${vscode.l10n.t("Demo")}`,
        description: vscode.l10n.t("answers from a script"),
        run: () => write({ provider: "replay", name: undefined }),
      },
    ];
  }

  async #askAddress(): Promise<void> {
    const address = await vscode.window.showInputBox({
      title: vscode.l10n.t("Address of a server with the API of OpenAI"),
      placeHolder: "https://models.example.com/v1",
      ignoreFocusOut: true,
      validateInput: (text) => (text === "" || serverAt(text) !== undefined ? undefined : vscode.l10n.t("This is no http or https address.")),
    });
    const server = serverAt(address ?? "");
    if (server !== undefined && (await allowPlain(server))) {
      await this.#chooseModel(server);
    }
  }

  /** Asks for a key. Without encryption it goes only where the user confirms that. */
  async #askKey(server: ModelServer, origin: string): Promise<boolean | undefined> {
    const host = plainHost(server);
    if (host !== undefined) {
      const send = vscode.l10n.t("Enter Key");
      const question = vscode.l10n.t("Send an API key to {0} without encryption?", host);
      const detail = vscode.l10n.t("Everybody on the way to this host can read the key.");
      if ((await vscode.window.showWarningMessage(question, { modal: true, detail }, send)) !== send) {
        return undefined;
      }
    }
    return this.credentials.ask(server.provider, origin);
  }

  /** Asks for a key until the server answers, then shows its models. */
  async #chooseModel(server: ModelServer): Promise<void> {
    for (;;) {
      const told = await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: vscode.l10n.t("Asking {0} for its models…", server.name) },
        () => this.#ask(server),
      );
      if (told.problem === undefined) {
        return this.#showModels(server, told.models);
      }
      const { code } = told.problem;
      if (code === "no_api_key" || code === "key_of_other_server") {
        if ((await this.#askKey(server, told.origin)) !== true) {
          return;
        }
      } else if (!(await this.#goOn(server, told.origin, told.problem))) {
        return;
      }
    }
  }

  /** The reason for which there is no list, and the ways on. True to ask again. */
  async #goOn(server: ModelServer, origin: string, problem: UiMessage): Promise<boolean> {
    let again = false;
    const reason = oneLine(textOf(problem), 400);
    const rows: Choice[] = [
      { label: `$(refresh) ${vscode.l10n.t("Try Again")}`, run: () => Promise.resolve((again = true)) },
      ...(origin === ""
        ? []
        : [
            {
              label: `$(key) ${vscode.l10n.t("Set API Key…")}`,
              run: async () => (again = (await this.#askKey(server, origin)) !== undefined),
            },
            { label: `$(edit) ${vscode.l10n.t("Enter a Model Name…")}`, run: () => this.#askName(server) },
          ]),
    ];
    const chosen = await vscode.window.showQuickPick(rows, {
      title: vscode.l10n.t("{0} named no models", server.name),
      placeHolder: reason,
      ignoreFocusOut: true,
    });
    await chosen?.run?.();
    return again;
  }

  async #showModels(server: ModelServer, models: readonly ServerModel[]): Promise<void> {
    const rows = models.map((model): Choice => ({
      label: label(model.name, 100),
      description: factsOf(model),
      run: () => this.#use(server, model),
    }));
    const other: Choice = { label: `$(edit) ${vscode.l10n.t("Enter a Model Name…")}`, run: () => this.#askName(server) };
    const chosen = await vscode.window.showQuickPick([...rows, other], {
      title: vscode.l10n.t("{0} works: {1}", server.name, countOf(models)),
      placeHolder: vscode.l10n.t("Choose a model"),
      matchOnDescription: true,
      ignoreFocusOut: true,
    });
    await chosen?.run?.();
  }

  async #askName(server: ModelServer): Promise<void> {
    const title = vscode.l10n.t("Name of a model of {0}", server.name);
    const name = (await vscode.window.showInputBox({ title, ignoreFocusOut: true }))?.trim();
    if (name !== undefined && name !== "") {
      await this.#use(server, { name });
    }
  }

  /** Makes the model answer. One of a server that is no known vendor is checked at once. */
  async #use(server: ModelServer, model: ServerModel): Promise<void> {
    await write(settingsFor(server, model));
    if (!VENDORS.includes(server)) {
      const { provider, baseUrl } = server;
      await this.check.run(model.name, { server: { provider, ...(baseUrl === undefined ? {} : { baseUrl }) }, name: oneLine(model.name) });
    }
  }

  #ask({ provider, baseUrl }: ModelServer): Promise<ServerModelsResult> {
    return this.agent.request(requests.serverModels, { provider, ...(baseUrl === undefined ? {} : { baseUrl }) });
  }
}

function heading(words: string): Choice {
  return { label: words, kind: vscode.QuickPickItemKind.Separator };
}

/** True if the user lets text go to the server, which may be without encryption. The host is remembered. */
async function allowPlain(server: ModelServer): Promise<boolean> {
  const host = plainHost(server);
  const named = vscode.workspace.getConfiguration("cairn.model").inspect<readonly string[]>("plainHttpHosts")?.globalValue ?? [];
  if (host === undefined || named.includes(host)) {
    return true;
  }
  const allow = vscode.l10n.t("Allow Plain HTTP");
  const question = vscode.l10n.t("Ask {0} without encryption?", host);
  const detail = vscode.l10n.t(
    "Everybody on the way to this host can read the conversation and the files that the agent reads. The setting cairn.model.plainHttpHosts keeps your answer.",
  );
  if ((await vscode.window.showWarningMessage(question, { modal: true, detail }, allow)) !== allow) {
    return false;
  }
  await write({ plainHttpHosts: [...named, host] });
  return true;
}

/** User level: a workspace must not choose where the user's text goes. */
async function write(values: Readonly<Record<string, unknown>>): Promise<void> {
  const settings = vscode.workspace.getConfiguration("cairn.model");
  for (const [key, value] of Object.entries(values)) {
    if (settings.inspect(key)?.globalValue !== value) {
      await settings.update(key, value, vscode.ConfigurationTarget.Global);
    }
  }
}
