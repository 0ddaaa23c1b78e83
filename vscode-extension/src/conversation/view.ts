import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

import { taskContext } from "../commands/tasks";
import { kindOf } from "../daemon/agent";
import type { Attachment } from "../protocol";
import { contextKeys } from "../status/contextKeys";
import { Emitter } from "../stores/emitter";
import type { CallPlace } from "../stores/transcript";
import { ConversationController } from "./controller";
import { pageHtml } from "./html";
import { MentionFinder, dropped } from "./mentions";
import { type ToPage, VERSION } from "./messages";
import { openTarget } from "./openTarget";
import { PageWatch } from "./pageWatch";
import { type Place, TAB, VIEW, openTab, revealView, tabPlace, viewPlace } from "./places";
import type { Port } from "./port";

type Parts = ConstructorParameters<typeof ConversationController>[0];

/** Shortest time between two pages that are lost and loaded again, in milliseconds. */
const LOAD_AGAIN_MS = 60_000;
/** Key under which it is kept that the view was in sight in this workspace. */
const SEEN = "cairn.conversationSeen";
/** Key under which it is kept that Cairn was shown after its installation. */
const INTRODUCED = "cairn.introduced";

/** Context key that is true while the focus is in the page. VS Code's `focusedView` does not tell it of a page. */
const FOCUSED = "cairn.conversationFocused";

/** Context key that is true while a tab shows the conversation, in place of the view. */
const IN_TAB = "cairn.conversationInTab";

/**
 * View of the conversation: a page of the extension's own, which loads nothing from anywhere else. It is in one
 * place at a time, so that there is one draft: a tab takes the place of the view until it is closed.
 */
export class ConversationView implements vscode.WebviewViewProvider, vscode.WebviewPanelSerializer, vscode.Disposable {
  readonly #controller: ConversationController;
  readonly #subscriptions: vscode.Disposable;
  readonly #hidden = new Emitter<void>();
  #place: Place | undefined;
  #tab: Place | undefined;
  #view: Place | undefined;
  #filled: vscode.Disposable | undefined;
  readonly #setContext = contextKeys();
  #focused = false;
  /** The view says that there is no model. */
  #needsModel = false;
  /** The controller has a page in sight. */
  #shown = false;
  #lastMove: Promise<void> = Promise.resolve();
  #lostAt = Number.NEGATIVE_INFINITY;
  // Setting a context key is the cheapest request that the window answers.
  readonly #watch = new PageWatch(
    () => vscode.commands.executeCommand("setContext", FOCUSED, this.#focused),
    () => this.#place !== undefined && this.#post(this.#place, { v: VERSION, type: "ask" }),
    () => void this.#lost(),
  );

  /** The view went out of sight. */
  readonly onDidHide = this.#hidden.event;

  constructor(
    private readonly parts: Parts,
    private readonly folder: vscode.Uri,
    private readonly memory: vscode.Memento,
    private readonly log: vscode.LogOutputChannel,
  ) {
    const finder = new MentionFinder(() => parts.store.state.plans.plan?.items ?? []);
    const port: Port = {
      context: taskContext,
      mentions: (query) => finder.find(query),
      dropped,
      run: (command, ...args) => void vscode.commands.executeCommand(command, ...args),
      open: (target) => void openTarget(target),
      copy: (text) => void vscode.env.clipboard.writeText(text),
      focused: (on) => this.#setFocused(on),
      log: (message) => log.warn(message),
      refused: (error) => {
        if (kindOf(error) === "noModel") {
          void vscode.commands.executeCommand("cairn.chooseModel");
        }
      },
      now: () => performance.now(),
      changed: ({ title, start }) => {
        this.#place?.name(title);
        this.#look(start.setup !== undefined);
      },
    };
    this.#controller = new ConversationController(parts, port);
    this.#subscriptions = vscode.Disposable.from(
      this.#controller,
      vscode.window.registerWebviewViewProvider(VIEW, this),
      vscode.window.registerWebviewPanelSerializer(TAB, this),
      vscode.window.onDidChangeActiveTextEditor(() => this.#controller.contextChanged()),
      vscode.window.onDidChangeTextEditorSelection(() => this.#controller.contextChanged()),
      vscode.commands.registerCommand("cairn.showConversation", (call?: unknown) => this.focus(callOf(call))),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused && this.#needsModel && this.visible) {
          void this.parts.servers.look();
        }
      }),
      vscode.commands.registerCommand("cairn.openInEditor", () => this.#openInEditor()),
      vscode.commands.registerCommand("cairn.showReminders", () => this.#showReminders(true)),
      vscode.commands.registerCommand("cairn.hideReminders", () => this.#showReminders(false)),
      // Decided here and not by two `when` clauses: a context key follows the focus too late for a quick hand.
      vscode.commands.registerCommand("cairn.switchFocus", () => this.#switchFocus()),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** Looks for a server with models while the view says that there is none; also when the user comes back to the window. */
  #look(needed: boolean): void {
    if (needed && !this.#needsModel) {
      void this.parts.servers.look();
    }
    this.#needsModel = needed;
  }

  /** Shows Cairn once after its installation, next to the chat of VS Code. The focus stays where it is. */
  async introduce(memory: vscode.Memento): Promise<void> {
    const visibility = vscode.workspace.getConfiguration("workbench.secondarySideBar").get<string>("defaultVisibility");
    // A user who hides that side bar wants nothing to open it.
    if (memory.get(INTRODUCED) !== true && visibility !== "hidden") {
      await memory.update(INTRODUCED, true);
      await this.#reveal(true);
    }
  }

  /** True while the user can see the conversation. */
  get visible(): boolean {
    return this.#place?.visible === true;
  }

  /** Gives an answer by key to the cards in the view. */
  answer(answer: string): void {
    this.#controller.answer(answer);
  }

  /** Brings the view into sight, with the focus in its composer, or on a call. */
  async focus(call?: CallPlace): Promise<void> {
    this.#controller.focus(call);
    await this.#reveal();
  }

  /**
   * Moves the focus from the editor to the composer, or back. One move after the other: the page takes the
   * focus before VS Code is done, and the end of the first move would undo a second one.
   */
  async #switchFocus(): Promise<void> {
    const move = async () => {
      await (this.#focused ? this.#place?.leave() : this.focus());
    };
    this.#lastMove = this.#lastMove.then(move, move);
    await this.#lastMove;
  }

  /** The same, for a task in a new session, with a text and attachments to look at before they are sent. */
  async begin(text = "", attachments: readonly Attachment[] = []): Promise<void> {
    this.#controller.begin(text, attachments);
    await this.#reveal();
  }

  /**
   * The first task of a workspace brings the view into sight, and leaves the focus where it is. A view
   * that the user had in sight and put away stays away.
   */
  async taskBegan(): Promise<void> {
    if (this.memory.get(SEEN) === true) {
      return;
    }
    await this.#reveal(true);
  }

  /** Fills the view, unless a tab has the conversation: after a reload VS Code draws both, and hides the view then. */
  resolveWebviewView(view: vscode.WebviewView): void {
    const place = viewPlace(view);
    this.#view = place;
    place.onDidDispose(() => {
      this.#view = this.#view === place ? undefined : this.#view;
    });
    if (this.#tab === undefined) {
      this.#fill(place);
    }
  }

  /** Fills a tab of the window before. */
  deserializeWebviewPanel(panel: vscode.WebviewPanel): Promise<void> {
    if (this.#tab === undefined) {
      this.#fillTab(panel);
    } else {
      // A tab has been opened since.
      panel.dispose();
    }
    return Promise.resolve();
  }

  async #openInEditor(): Promise<void> {
    if (this.#tab === undefined) {
      this.#fillTab(openTab(vscode.ViewColumn.Active));
    }
    await this.focus();
  }

  #fillTab(panel: vscode.WebviewPanel): void {
    const tab = tabPlace(panel, (column) => this.#fillTab(openTab(column ?? vscode.ViewColumn.Active)));
    this.#tab = tab;
    this.#setContext(IN_TAB, true);
    tab.onDidDispose(() => {
      this.#tab = undefined;
      this.#setContext(IN_TAB, false);
      if (this.#view !== undefined) {
        this.#fill(this.#view);
      }
    });
    this.#fill(tab);
  }

  #fill(place: Place): void {
    this.#leaveSight();
    this.#filled?.dispose();
    this.#place = place;
    const { webview } = place;
    webview.options = { enableScripts: true, localResourceRoots: [this.folder] };
    this.#filled = vscode.Disposable.from(
      webview.onDidReceiveMessage((message: unknown) => {
        this.#watch.answered();
        this.#controller.receive(message);
      }),
      place.onDidChangeVisibility(() => this.#follow(place)),
      place.onDidDispose(() => {
        if (this.#place === place) {
          this.#place = undefined;
          this.#leaveSight();
        }
      }),
    );
    this.#follow(place);
    webview.html = pageHtml({
      script: webview.asWebviewUri(vscode.Uri.joinPath(this.folder, "main.js")).toString(),
      style: webview.asWebviewUri(vscode.Uri.joinPath(this.folder, "main.css")).toString(),
      source: webview.cspSource,
      nonce: randomBytes(18).toString("base64url"),
      language: vscode.env.language.replace(/[^\w-]/gu, ""),
      tab: place === this.#tab,
      strings: vscode.l10n.bundle ?? {},
    });
  }

  async #reveal(preserveFocus = false): Promise<void> {
    await (this.#tab?.reveal(preserveFocus) ?? revealView(preserveFocus));
  }

  #post(place: Place, message: ToPage): void {
    void place.webview.postMessage(message);
    if (message.type === "state" || message.type === "focus" || message.type === "ask") {
      this.#watch.asked();
    }
  }

  /** The page is gone, with its process or without. */
  async #lost(): Promise<void> {
    const again = performance.now() - this.#lostAt > LOAD_AGAIN_MS;
    this.#lostAt = performance.now();
    this.log.warn("The page of the conversation does not answer.");
    if (again) {
      await this.#place?.reload();
      void vscode.window.showInformationMessage(vscode.l10n.t("The conversation view had stopped and was loaded again."));
      return;
    }
    const write = vscode.l10n.t("Write in an Editor");
    const chosen = await vscode.window.showInformationMessage(
      vscode.l10n.t("The conversation view does not answer. “Cairn: Open Conversation as Text” shows the conversation without it."),
      write,
    );
    if (chosen === write) {
      await vscode.commands.executeCommand("cairn.openPrompt", "", this.parts.store.state.sessions.current);
    }
  }

  #showReminders(shown: boolean): void {
    this.#setContext("cairn.remindersShown", shown);
    this.#controller.showReminders(shown);
  }

  #setFocused(on: boolean): void {
    this.#focused = on;
    this.#setContext(FOCUSED, on);
  }

  /** A hidden page is thrown away, and one that comes back asks for everything. */
  #follow(place: Place): void {
    if (!place.visible) {
      this.#leaveSight();
      return;
    }
    if (this.memory.get(SEEN) !== true) {
      void this.memory.update(SEEN, true);
    }
    if (!this.#shown) {
      this.#shown = true;
      this.#setContext("cairn.conversationVisible", true);
      this.#controller.show({ post: (message) => this.#post(place, message) });
    }
  }

  #leaveSight(): void {
    this.#watch.stop();
    this.#controller.show(undefined);
    this.#setFocused(false);
    if (this.#shown) {
      this.#shown = false;
      this.#setContext("cairn.conversationVisible", false);
      this.#hidden.fire();
    }
  }
}

/** The call that a row of the plan names; other rows and menus name none. */
function callOf(argument: unknown): CallPlace | undefined {
  const { sessionId, callId } = (argument ?? {}) as Record<string, unknown>;
  return typeof sessionId === "string" && typeof callId === "string" ? { sessionId, callId } : undefined;
}
