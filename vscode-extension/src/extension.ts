import * as vscode from "vscode";

import { cancelSubagent } from "./commands/subagents";
import { Credentials } from "./commands/credentials";
import { compactConversation } from "./commands/compact";
import { Demo } from "./commands/demo";
import { EntryPoints, ProblemActions } from "./commands/entryPoints";
import { showMenu } from "./commands/menu";
import { ModelCheck } from "./commands/modelCheck";
import { ModelPicker } from "./commands/modelPicker";
import { chooseMode } from "./commands/modes";
import { manageRules } from "./commands/rules";
import { SessionCommands } from "./commands/sessions";
import { TaskRequests } from "./commands/taskRequests";
import { TaskCommands } from "./commands/tasks";
import { ApprovalCommands } from "./conversation/approvalCommands";
import { ConversationDocument } from "./conversation/document";
import { CommandOutputs } from "./conversation/outputs";
import { waitingNotice } from "./conversation/waitingNotice";
import { ContentFolder } from "./conversation/contentFolder";
import { ComposerMemory } from "./conversation/memory";
import { ConversationView } from "./conversation/view";
import { Agent, reasonOf } from "./daemon/agent";
import { EditPort } from "./edits/applyEdit";
import { PlanCommands } from "./plan/commands";
import { ProcessCommands } from "./plan/processes";
import { PlanHistory } from "./plan/history";
import type { Row } from "./plan/rows";
import { PlanTree } from "./plan/tree";
import { type ReviewMode, type ReviewNotification, editorRequests, notifications, requests } from "./protocol";
import { HunkActions } from "./review/actions";
import { FileBadges } from "./review/badges";
import { Baselines } from "./review/baseline";
import { CheckpointCommands } from "./review/checkpoints";
import { ReviewCommands } from "./review/commands";
import { CurrentEdit } from "./review/currentEdit";
import { reviewContext } from "./review/context";
import { HunkLenses } from "./review/lenses";
import { HunkDecorations } from "./review/hunkDecorations";
import { EditsTree } from "./review/tree";
import { FileWatcher } from "./review/watcher";
import { ScrollAnchor } from "./review/scrollAnchor";
import { ReviewKeys } from "./review/reviewKeys";
import { RemovedZones } from "./review/zones";
import { Notices } from "./status/notices";
import { EditsItem } from "./status/editsItem";
import { sessionContext } from "./status/sessionContext";
import { StatusBar } from "./status/statusBar";
import { Asking } from "./stores/approval";
import { Batcher } from "./stores/batcher";
import { keepModes, readModes } from "./stores/mode";
import { Reading } from "./stores/reading";
import { type Change, NOTIFIED, emptyState } from "./stores/state";
import { Store } from "./stores/store";
import { approvalOf } from "./text/approval";
import { readPage } from "./commands/pages";

let agent: Agent | undefined;

/** Starts the daemon, and the views of the state that it reports. VS Code gives no `observe`; the end-to-end tests do. */
export async function activate(
  context: vscode.ExtensionContext,
  observe?: (store: Store, conversation: ConversationView) => vscode.Disposable,
): Promise<void> {
  const log = vscode.window.createOutputChannel("Cairn", { log: true });
  const daemon = new Agent(context, log);
  agent = daemon;
  const modes = readModes(context.workspaceState, modeSetting());
  const store = new Store(emptyState(modes, (uri) => vscode.Uri.parse(uri).toString()));
  const asking = new Asking(store);
  const edits = new EditPort();
  const credentials = new Credentials(daemon, context.secrets);
  const demo = new Demo(daemon, context);
  const history = new PlanHistory(daemon, store, log);
  const models = new ModelPicker(daemon, credentials, new ModelCheck(daemon));
  const reviews = reviewParts(context, daemon, store, edits);
  const { conversation, parts } = taskParts(context, daemon, { store, asking, history, models, log });
  context.subscriptions.push(
    log,
    daemon,
    asking,
    credentials,
    demo,
    history,
    ...reviews,
    ...parts,
    keepModes(store, context.workspaceState),
    ...(observe === undefined ? [] : [observe(store, conversation)]),
    followModeSetting(store),
    showFirstTask(store, conversation),
    ...simpleCommands(daemon, store, models, log),
  );
  void conversation.introduce(context.globalState);
  const reviewNews = listen(daemon, store);
  answerRequests(daemon, asking, edits);
  context.subscriptions.push(
    daemon.onDidChangeLink((link) => {
      store.apply({ kind: "link", link });
      if (link.kind === "running") {
        void connected();
      }
    }),
  );

  async function connected(): Promise<void> {
    try {
      await credentials.sendAll();
      const state = await daemon.request(requests.state, {});
      reviewNews.flush();
      store.apply({ kind: "connected", state });
      await history.refresh();
      await demo.resume();
    } catch (error) {
      log.error(`The daemon's state could not be read: ${reasonOf(error)}`);
    }
  }

  await daemon.start();
}

export async function deactivate(): Promise<void> {
  await agent?.stop();
}

/** From the user alone: it is a setting of the scope `application`. */
function modeSetting(): ReviewMode {
  return vscode.workspace.getConfiguration("cairn").inspect<ReviewMode>("review.mode")?.globalValue ?? "review";
}

function followModeSetting(store: Store): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration("cairn.review.mode")) {
      store.apply({ kind: "setting", mode: modeSetting() });
    }
  });
}

function showFirstTask(store: Store, conversation: ConversationView): vscode.Disposable {
  return store.on(["sessions"], ({ change }) => {
    if (change.kind === "turn" && change.turn.phase.kind === "started" && change.turn.sessionId === store.state.sessions.current) {
      void conversation.taskBegan();
    }
  });
}

/** Views of the proposed edits, and the commands that decide them. */
function reviewParts(context: vscode.ExtensionContext, daemon: Agent, store: Store, edits: EditPort): vscode.Disposable[] {
  const baselines = new Baselines(daemon, store);
  const current = new CurrentEdit(store);
  return [
    baselines,
    current,
    new EditsTree(store, context.workspaceState),
    new HunkDecorations(store, context.extensionUri),
    new ScrollAnchor(edits),
    new RemovedZones(store),
    new HunkLenses(store),
    new FileBadges(store),
    new FileWatcher(daemon, store),
    new ReviewCommands(daemon, store, baselines, current),
    new ReviewKeys(store, edits, current),
    new CheckpointCommands(daemon),
    new EditsItem(store),
    reviewContext(store),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new HunkActions(store), { providedCodeActionKinds: HunkActions.kinds }),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new ProblemActions(), { providedCodeActionKinds: ProblemActions.kinds }),
  ];
}

interface Around {
  readonly store: Store;
  readonly asking: Asking;
  readonly history: PlanHistory;
  readonly models: ModelPicker;
  readonly log: vscode.LogOutputChannel;
}

/** Views of tasks, plans and sessions, and their commands. */
function taskParts(
  context: vscode.ExtensionContext,
  daemon: Agent,
  { store, asking, history, models, log }: Around,
): { readonly conversation: ConversationView; readonly parts: vscode.Disposable[] } {
  const { workspaceState, storageUri, extensionUri } = context;
  const reading = new Reading(store, (sessionId, end) => readPage(daemon, sessionId, end), reasonOf);
  const tasks = new TaskRequests(daemon, store);
  const memory = new ComposerMemory(workspaceState, storageUri && new ContentFolder(vscode.Uri.joinPath(storageUri, "drafts")));
  const page = vscode.Uri.joinPath(extensionUri, "dist", "webview");
  const parts = { store, asking, reading, tasks, servers: models.servers, memory };
  const conversation = new ConversationView(parts, page, workspaceState, log);
  return {
    conversation,
    parts: [
      conversation,
      new PlanTree(store),
      new PlanCommands(store),
      new ProcessCommands(daemon, store),
      new ConversationDocument(store),
      new CommandOutputs(reading),
      new ApprovalCommands(store, conversation),
      waitingNotice(store, conversation),
      new TaskCommands(tasks, store, conversation),
      new EntryPoints(conversation),
      new SessionCommands(daemon, store, () => history.refresh()),
      new StatusBar(store),
      new Notices(store, conversation),
      sessionContext(store),
    ],
  };
}

function simpleCommands(daemon: Agent, store: Store, models: ModelPicker, log: vscode.LogOutputChannel): vscode.Disposable[] {
  const { registerCommand } = vscode.commands;
  return [
    registerCommand("cairn.chooseModel", (address?: unknown) => models.choose(address)),
    registerCommand("cairn.chooseMode", () => chooseMode(store)),
    registerCommand("cairn.cancelSubagent", (row?: Row) => cancelSubagent(daemon, row)),
    registerCommand("cairn.compact", () => compactConversation(daemon, store.state.sessions.current)),
    registerCommand("cairn.manageRules", () => manageRules(daemon)),
    registerCommand("cairn.menu", () => showMenu(store.state)),
    registerCommand("cairn.showLog", () => log.show(true)),
    registerCommand("cairn.restart", () => daemon.restart()),
  ];
}

/** Applies each notification of the daemon to the state. Returns the batcher of those about reviews. */
function listen(daemon: Agent, store: Store): Batcher<ReviewNotification> {
  for (const kind of NOTIFIED) {
    daemon.onNotification<unknown>(notifications[kind], (value) => store.apply({ kind, [kind]: value } as Change));
  }
  const batcher = new Batcher<ReviewNotification>((reviews) => store.apply({ kind: "reviews", reviews }));
  daemon.onNotification(notifications.review, (review) => batcher.add(review));
  return batcher;
}

function answerRequests(daemon: Agent, asking: Asking, edits: EditPort): void {
  daemon.onRequest(editorRequests.applyEdit, (params) => edits.apply(params));
  daemon.onRequest(editorRequests.save, (params) => edits.save(params));
  daemon.onRequest(editorRequests.ask, (params) => asking.ask(params));
  daemon.onRequest(editorRequests.approve, (params, token) => {
    token.onCancellationRequested(() => asking.withdraw(params.approvalId));
    return asking.approve(approvalOf(params));
  });
}
