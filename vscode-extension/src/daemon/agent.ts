import { accessSync, constants, statSync } from "node:fs";

import * as vscode from "vscode";
import {
  LanguageClient,
  type LanguageClientOptions,
  ResponseError,
  type ServerOptions,
  State,
  type StaticFeature,
  TransportKind,
} from "vscode-languageclient/node";

import {
  type ErrorData,
  type ErrorKind,
  type NotificationMethod,
  PROTOCOL_MINOR,
  PROTOCOL_VERSION,
  type RequestMethod,
  type UiMessage,
  editorNotifications,
} from "../protocol";
import { Emitter } from "../stores/emitter";
import type { Link } from "../stores/status";
import { plainText, oneLine } from "../text/display";
import { textOf } from "../text/messages";
import { discover } from "./discover";
import { Configuration } from "./configuration";
import { versionFault } from "./version";

/** Handler of a request of the daemon. */
export type Answer<P, R> = (params: P, token: vscode.CancellationToken) => Promise<R>;

/**
 * The one connection to the daemon: finds it, starts it, speaks the contract with it, and says
 * how it is. Knows no store and no view.
 */
export class Agent implements vscode.Disposable {
  readonly #context: vscode.ExtensionContext;
  readonly #log: vscode.LogOutputChannel;
  readonly #configuration: Configuration;
  #client: LanguageClient | undefined;
  #listeners: vscode.Disposable[] = [];
  readonly #wiring: ((client: LanguageClient) => vscode.Disposable)[] = [];
  readonly #subscriptions: vscode.Disposable[] = [];
  readonly #link = new Emitter<Link>();
  #transition: Promise<void> = Promise.resolve();

  /** Fires `running` after each (re)connect, before which no request can succeed. */
  readonly onDidChangeLink = this.#link.event;

  constructor(context: vscode.ExtensionContext, log: vscode.LogOutputChannel) {
    this.#context = context;
    this.#log = log;
    this.#configuration = new Configuration(context.extension.packageJSON);
    this.#subscriptions.push(
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("cairn.daemon.path")) {
          void this.restart();
        } else if (event.affectsConfiguration("cairn")) {
          void this.#pushSettings();
        }
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.notify(editorNotifications.trust, { trusted: true })),
    );
  }

  /** Handles notifications of one kind, on this connection and every later one. */
  onNotification<P>(kind: NotificationMethod<P>, handler: (params: P) => void): void {
    this.#wiring.push((client) => client.onNotification(kind.method, handler));
  }

  /** Answers requests of one kind, on this connection and every later one. */
  onRequest<P, R>(kind: RequestMethod<P, R>, answer: Answer<P, R>): void {
    this.#wiring.push((client) => client.onRequest(kind.method, answer));
  }

  async request<P extends object, R>(kind: RequestMethod<P, R>, params: P, token?: vscode.CancellationToken): Promise<R> {
    const client = this.#client;
    if (client?.state !== State.Running) {
      throw new Error(vscode.l10n.t("The Cairn daemon is not running. Use “Cairn: Restart Cairn”, or look at its log."));
    }
    // Without a token none is given: the client would send `undefined` as a second parameter.
    return await (token === undefined ? client.sendRequest<R>(kind.method, params) : client.sendRequest<R>(kind.method, params, token));
  }

  async notify<P extends object>(kind: NotificationMethod<P>, params: P): Promise<void> {
    if (this.#client?.state === State.Running) {
      await this.#client.sendNotification(kind.method, params);
    }
  }

  start(): Promise<void> {
    return this.#exclusively(() => this.#start());
  }

  restart(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  /** For `deactivate`: resolves when the daemon has been stopped and has ended. */
  stop(): Promise<void> {
    return this.#exclusively(() => this.#stop());
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions).dispose();
    void this.stop();
  }

  #exclusively(job: () => Promise<void>): Promise<void> {
    this.#transition = this.#transition.then(job, job);
    return this.#transition;
  }

  async #start(): Promise<void> {
    this.#link.fire({ kind: "starting" });
    const found = discover({
      setting: this.#configuration.text("daemon.path"),
      extension: this.#context.extensionPath,
      path: process.env["PATH"] ?? "",
      platform: process.platform,
      isExecutable,
    });
    if (found.kind === "missing") {
      this.#link.fire({ kind: "failed", message: found.message });
      return;
    }
    this.#log.info(`Daemon: ${found.path} (${found.from})`);
    const client = this.#create(found.path);
    this.#client = client;
    this.#listeners = this.#wiring.map((wire) => wire(client));
    this.#listeners.push(client.onDidChangeState(({ newState }) => this.#follow(client, newState)));
    try {
      await client.start();
    } catch (error) {
      this.#log.error(error instanceof Error ? error : String(error));
      this.#link.fire({ kind: "failed", message: vscode.l10n.t("The Cairn daemon at {0} did not start: {1}", found.path, reasonOf(error)) });
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    for (const listener of this.#listeners) {
      listener.dispose();
    }
    this.#listeners = [];
    if (client?.state === State.Running || client?.state === State.Starting) {
      await client.stop().catch((error: unknown) => this.#log.warn(`The daemon did not stop in order: ${reasonOf(error)}`));
    }
    await client?.dispose().catch(() => undefined);
  }

  /** Handles a start or end of the daemon, including the automatic restart after a crash. */
  #follow(client: LanguageClient, state: State): void {
    if (client !== this.#client) {
      return;
    }
    if (state === State.Running) {
      const fault = versionFault(protocolVersionOf(client));
      if (fault === undefined) {
        // It may have been granted while the daemon was starting.
        void this.notify(editorNotifications.trust, { trusted: vscode.workspace.isTrusted });
        this.#link.fire({ kind: "running", version: client.initializeResult?.serverInfo?.version ?? "" });
      } else {
        this.#link.fire({ kind: "failed", message: fault });
        void this.stop();
      }
    } else if (state === State.Stopped) {
      this.#link.fire({ kind: "failed", message: vscode.l10n.t("The Cairn daemon has stopped.") });
    } else {
      this.#link.fire({ kind: "starting" });
    }
  }

  #create(command: string): LanguageClient {
    const server: ServerOptions = { command, transport: TransportKind.stdio };
    const options: LanguageClientOptions = {
      documentSelector: [{ scheme: "file" }],
      outputChannel: this.#log,
      initializationOptions: () => ({ settings: this.#configuration.forDaemon(), trusted: vscode.workspace.isTrusted }),
      diagnosticCollectionName: "cairn",
      // The extension has its own views for the features that the daemon offers to standard LSP clients.
      middleware: {
        provideCodeLenses: () => [],
        provideCodeActions: () => [],
        handleDiagnostics: () => undefined,
      },
    };
    const client = new LanguageClient("cairn", "Cairn", server, options);
    client.registerFeature(speaksCairn);
    return client;
  }

  async #pushSettings(): Promise<void> {
    if (this.#client?.state === State.Running) {
      await this.#client.sendNotification("workspace/didChangeConfiguration", { settings: { cairn: this.#configuration.forDaemon() } });
    }
  }
}

/** Text of a failed request, as plain text for a notification. */
export function reasonOf(error: unknown): string {
  const problem = problemOf(error);
  const fallback = error instanceof Error ? error.message : String(error);
  return plainText(oneLine(problem === undefined ? fallback : textOf(problem), 600));
}

/** The message about a refused request; `undefined` for any other error. */
export function problemOf(error: unknown): UiMessage | undefined {
  const data = error instanceof ResponseError ? (error.data as Partial<UiMessage> | undefined | null) : undefined;
  return typeof data?.template === "string" ? (data as UiMessage) : undefined;
}

/** Kind of a failed request; `undefined` if the daemon did not answer it. */
export function kindOf(error: unknown): ErrorKind | undefined {
  return error instanceof ResponseError ? (error.data as Partial<ErrorData> | undefined)?.kind : undefined;
}

/** Says which protocol the extension speaks. */
const speaksCairn: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    const cairn = { protocolVersion: PROTOCOL_VERSION, protocolMinor: PROTOCOL_MINOR, output: true, ask: true };
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), cairn };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

function protocolVersionOf(client: LanguageClient): unknown {
  const experimental = client.initializeResult?.capabilities.experimental as { cairn?: { protocolVersion?: unknown } } | undefined;
  return experimental?.cairn?.protocolVersion;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
