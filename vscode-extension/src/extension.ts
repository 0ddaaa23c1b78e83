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
import { ModelSetup } from "./commands/modelSetup";
import { QueueCommands } from "./commands/queue";
import { manageRules } from "./commands/rules";
import { SessionCommands, type SessionView } from "./commands/sessions";
import { TaskRequests } from "./commands/taskRequests";
import { TaskCommands } from "./commands/tasks";
import { ConversationDocument } from "./conversation/document";
import { CommandOutputs } from "./conversation/outputs";
import { questionNotice } from "./conversation/questionNotice";
import { ContentFolder } from "./conversation/contentFolder";
import { ComposerMemory } from "./conversation/memory";
import { ConversationView } from "./conversation/view";
import { Agent, reasonOf } from "./daemon/agent";
import { EditPort } from "./edits/applyEdit";
import { ApprovalPrompt } from "./plan/approvals";
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
import { ReadingPlace } from "./review/readingPlace";
import { ReviewKeys } from "./review/reviewKeys";
import { RemovedZones } from "./review/zones";
import { Notices } from "./status/notices";
import { EditsItem } from "./status/editsItem";
import { sessionContext } from "./status/sessionContext";
import { StatusBar } from "./status/statusBar";
import { ApprovalStore } from "./stores/approval";
import { Batcher } from "./stores/batcher";
import { SubagentStore } from "./stores/subagents";
import { DraftStore } from "./stores/drafts";
import { ModeStore } from "./stores/mode";
import { PlanStore } from "./stores/plan";
import { ProcessStore } from "./stores/processes";
import { QuestionStore } from "./stores/questions";
import { QueueStore } from "./stores/queue";
import { Reading } from "./stores/reading";
import { ReviewStore } from "./stores/review";
import { SessionStore } from "./stores/session";
import { StatusStore } from "./stores/status";
import { TranscriptStore } from "./stores/transcript";
import { approvalOf } from "./text/approval";
import { cutOf, readPage } from "./commands/pages";
import { reportState, stateOf, testPort } from "./testState";
import { watchSurface } from "./testSurface";

let agent: Agent | undefined;

/** Connects the daemon, the stores that it fills, and the views of the stores. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  // Without a test nothing is watched, and no connection opens.
  const port = testPort(process.env["CAIRN_E2E"]);
  const surface = port === undefined ? {} : watchSurface();
  const log = vscode.window.createOutputChannel("Cairn", { log: true });
  const daemon = new Agent(context, log);
  agent = daemon;

  const plans = new PlanStore();
  const reviews = new ReviewStore((uri) => vscode.Uri.parse(uri).toString());
  const sessions = new SessionStore();
  const approvals = new ApprovalStore();
  const transcript = new TranscriptStore();
  const reading = new Reading(transcript, (sessionId, end) => readPage(daemon, sessionId, end), reasonOf);
  const status = new StatusStore();
  const subagents = new SubagentStore();
  const processes = new ProcessStore();
  const modes = new ModeStore(
    context.workspaceState,
    () =>
      // From the user alone: it is a setting of the scope `application`.
      vscode.workspace.getConfiguration("cairn").inspect<ReviewMode>("review.mode")?.globalValue ?? "review",
  );
  const queue = new QueueStore();
  const questions = new QuestionStore();
  const drafts = new DraftStore(context.workspaceState);
  const setup = new ModelSetup(status);
  const demo = new Demo(daemon, context);
  const stores = { plans, reviews, sessions, approvals, status, modes, queue, questions };

  const credentials = new Credentials(daemon, context.secrets);
  const models = new ModelPicker(daemon, credentials, new ModelCheck(daemon));
  const baselines = new Baselines(daemon, reviews);
  const edits = new EditPort();
  const current = new CurrentEdit(reviews);
  const history = new PlanHistory(daemon, plans, sessions, log);
  const tasks = new TaskRequests(daemon, sessions, modes, transcript);
  const content = context.storageUri && new ContentFolder(vscode.Uri.joinPath(context.storageUri, "drafts"));
  const conversation = new ConversationView(
    { ...stores, transcript, reading, tasks, servers: models.servers, memory: new ComposerMemory(context.workspaceState, content) },
    setup,
    vscode.Uri.joinPath(context.extensionUri, "dist", "webview"),
    context.workspaceState,
    log,
  );
  const sessionView: SessionView = {
    show: async (session) => {
      transcript.open(session.transcript, cutOf([session]));
      // Calls that are not over are not part of the transcript yet.
      session.tools.forEach((tool) => transcript.tool(tool));
      sessions.open(session);
      queue.open(session);
      session.subagents.forEach((subagent) => subagents.update(subagent));
      processes.open(session);
      plans.restore(session.plan);
      await history.refresh();
    },
    clear: (sessionId) => {
      if (sessions.current === sessionId) {
        transcript.open([]);
        plans.restore(undefined);
      }
      sessions.remove(sessionId);
    },
  };
  context.subscriptions.push(
    log,
    daemon,
    approvals,
    credentials,
    baselines,
    new PlanTree({ ...stores, subagents, processes }),
    history,
    new PlanCommands(plans, reviews),
    new ProcessCommands(daemon, processes, sessions),
    new EditsTree(reviews, plans, context.workspaceState),
    new HunkDecorations(reviews, context.extensionUri),
    new ReadingPlace(edits),
    new RemovedZones(reviews),
    new HunkLenses(reviews),
    new FileBadges(reviews),
    new FileWatcher(daemon, reviews),
    new ConversationDocument(transcript),
    new CommandOutputs(reading),
    new ApprovalPrompt(approvals, transcript, conversation),
    questionNotice(questions, conversation),
    current,
    new ReviewCommands(daemon, reviews, baselines, current),
    new ReviewKeys(reviews, edits, current),
    new CheckpointCommands(daemon),
    setup,
    demo,
    conversation,
    new TaskCommands(tasks, sessions, modes, drafts, setup, conversation),
    new EntryPoints(conversation),
    new QueueCommands(tasks, sessions),
    new SessionCommands(daemon, sessions, sessionView),
    new StatusBar(stores),
    new EditsItem(reviews),
    new Notices(status, sessions, modes, reviews, conversation),
    reviewContext(reviews),
    sessionContext(stores),
    ...(port === undefined ? [] : [reportState(port, { ...stateOf(stores), ...surface })]),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("cairn.review.mode")) {
        modes.settingChanged();
      }
    }),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new HunkActions(reviews), {
      providedCodeActionKinds: HunkActions.kinds,
    }),
    vscode.languages.registerCodeActionsProvider({ scheme: "file" }, new ProblemActions(), { providedCodeActionKinds: ProblemActions.kinds }),
    vscode.commands.registerCommand("cairn.chooseModel", (address?: unknown) => models.choose(address)),
    vscode.commands.registerCommand("cairn.chooseMode", () => chooseMode(modes, sessions)),
    vscode.commands.registerCommand("cairn.cancelSubagent", (row?: Row) => cancelSubagent(daemon, row)),
    vscode.commands.registerCommand("cairn.compact", () => compactConversation(daemon, sessions)),
    vscode.commands.registerCommand("cairn.manageRules", () => manageRules(daemon)),
    vscode.commands.registerCommand("cairn.menu", () => showMenu(stores)),
    vscode.commands.registerCommand("cairn.showLog", () => log.show(true)),
    vscode.commands.registerCommand("cairn.restart", () => daemon.restart()),
  );

  void conversation.introduce(context.globalState);

  daemon.onNotification(notifications.turn, (turn) => {
    approvals.turn(turn);
    questions.turn(turn);
    transcript.turn(turn);
    sessions.update(turn);
    if (turn.phase.kind === "started" && turn.sessionId === sessions.current) {
      void conversation.taskBegan();
    }
  });
  daemon.onNotification(notifications.plan, (plan) => {
    // Another session may run besides the session in view. Its plan comes with it when it is opened.
    if (plan.sessionId === sessions.current) {
      plans.update(plan);
    }
  });
  daemon.onNotification(notifications.subagent, (subagent) => subagents.update(subagent));
  daemon.onNotification(notifications.message, (message) => transcript.message(message));
  daemon.onNotification(notifications.tool, (tool) => {
    approvals.tool(tool);
    questions.tool(tool);
    transcript.tool(tool);
    sessions.updateTool(tool);
  });
  daemon.onNotification(notifications.output, (piece) => transcript.output(piece));
  const reviewBatcher = new Batcher<ReviewNotification>((news) => reviews.update(...news));
  daemon.onNotification(notifications.review, (review) => reviewBatcher.add(review));
  daemon.onNotification(notifications.queue, (next) => queue.update(next));
  daemon.onNotification(notifications.processes, (next) => processes.update(next));
  daemon.onNotification(notifications.usage, (usage) => sessions.updateUsage(usage));
  daemon.onNotification(notifications.status, (next) => status.update(next));

  daemon.onRequest(editorRequests.applyEdit, (params) => edits.apply(params));
  daemon.onRequest(editorRequests.save, (params) => edits.save(params));
  daemon.onRequest(editorRequests.ask, (params) => questions.ask(params));
  daemon.onRequest(editorRequests.approve, (params, token) => {
    token.onCancellationRequested(() => approvals.withdraw(params.approvalId));
    return approvals.ask(approvalOf(params));
  });

  context.subscriptions.push(
    daemon.onDidChangeLink((link) => {
      status.setLink(link);
      if (link.kind === "running") {
        void connected();
      } else {
        approvals.clear();
        questions.clear();
        sessions.disconnect();
        processes.disconnect();
      }
    }),
  );

  /** Replaces the state of all stores with that of the daemon, which may be a new one. */
  async function connected(): Promise<void> {
    try {
      await credentials.sendAll();
      status.reconnect();
      const state = await daemon.request(requests.state, {});
      const open = state.sessions;
      transcript.reconnect(
        open.flatMap((session) => session.transcript),
        cutOf(open),
      );
      status.restore(state.status);
      reviewBatcher.flush();
      reviews.restore(state.reviews);
      sessions.restore(open);
      queue.restore(open);
      processes.restore(open);
      subagents.restore(open.flatMap((session) => session.subagents));
      plans.restore(open.find(({ sessionId }) => sessionId === sessions.current)?.plan);
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
