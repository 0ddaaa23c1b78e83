import type {
  AskParams,
  EarlierPlan,
  MessageNotification,
  OutputNotification,
  PlanNotification,
  ProcessesNotification,
  QueueNotification,
  ReviewMode,
  ReviewNotification,
  SessionSnapshot,
  StateResult,
  StatusNotification,
  SubagentNotification,
  ToolNotification,
  TurnNotification,
  UsageNotification,
} from "../protocol";
import type { Approval } from "../text/approval";
import { Approvals, Questions } from "./approval";
import { Modes } from "./mode";
import { Plans } from "./plan";
import { Reviews } from "./review";
import { Sessions } from "./session";
import { type Link, Status } from "./status";
import { Transcript } from "./transcript";

/** What the extension knows of the daemon and of the user's choices. Each part is a value: a change makes another one. */
export interface State {
  readonly status: Status;
  readonly sessions: Sessions;
  readonly plans: Plans;
  readonly transcript: Transcript;
  readonly reviews: Reviews;
  readonly approvals: Approvals;
  readonly questions: Questions;
  readonly modes: Modes;
}

/** Notifications of the daemon, answers to requests, and choices of the user, all that changes the {@link State}. */
export type Change =
  | { readonly kind: "link"; readonly link: Link }
  /** Answer to `agent/state` of a daemon, which may be a new one. */
  | { readonly kind: "connected"; readonly state: StateResult }
  | { readonly kind: "status"; readonly status: StatusNotification }
  | { readonly kind: "turn"; readonly turn: TurnNotification }
  | { readonly kind: "plan"; readonly plan: PlanNotification }
  /** Answer to `agent/plan/history`, oldest first. */
  | { readonly kind: "history"; readonly sessionId: string; readonly turns: readonly EarlierPlan[] }
  | { readonly kind: "message"; readonly message: MessageNotification }
  | { readonly kind: "tool"; readonly tool: ToolNotification }
  | { readonly kind: "output"; readonly output: OutputNotification }
  | { readonly kind: "usage"; readonly usage: UsageNotification }
  | { readonly kind: "queue"; readonly queue: QueueNotification }
  | { readonly kind: "processes"; readonly processes: ProcessesNotification }
  | { readonly kind: "subagent"; readonly subagent: SubagentNotification }
  | { readonly kind: "reviews"; readonly reviews: readonly ReviewNotification[] }
  /** Answer to `agent/sessions/open`: the session comes into view. */
  | { readonly kind: "opened"; readonly session: SessionSnapshot }
  | { readonly kind: "renamed"; readonly sessionId: string; readonly name: string }
  | { readonly kind: "removed"; readonly sessionId: string }
  /** Entries of a session from before this one are in a page of their own. */
  | { readonly kind: "paged"; readonly entry: string }
  | { readonly kind: "approval"; readonly approval: Approval }
  /** An answer to the approval counts from now on. */
  | { readonly kind: "armed"; readonly approvalId: string }
  | { readonly kind: "settled"; readonly approvalId: string }
  | { readonly kind: "question"; readonly question: AskParams }
  | { readonly kind: "answered"; readonly questionId: string }
  | { readonly kind: "mode"; readonly mode: ReviewMode; readonly sessionId: string | undefined }
  | { readonly kind: "began"; readonly sessionId: string; readonly turnId: string; readonly mode: ReviewMode }
  | { readonly kind: "setting"; readonly mode: ReviewMode };

/** The state of a window without a daemon. `canonical` gives one spelling to URIs that mean the same file. */
export function emptyState(modes = new Modes("review"), canonical?: (uri: string) => string): State {
  return {
    status: new Status(),
    sessions: new Sessions(),
    plans: new Plans(),
    transcript: new Transcript(),
    reviews: new Reviews(canonical),
    approvals: new Approvals(),
    questions: new Questions(),
    modes,
  };
}

/** The state after a change. Notifications that came late change nothing. */
export function apply(state: State, change: Change): State {
  const { status, sessions, plans, transcript, reviews, approvals, questions, modes } = state;
  switch (change.kind) {
    case "link":
      return linked(state, change.link);
    case "connected":
      return connected(state, change.state);
    case "status":
      return { ...state, status: status.with(change.status) };
    case "turn": {
      const { turn } = change;
      return {
        ...state,
        sessions: sessions.withTurn(turn),
        transcript: transcript.withTurn(turn),
        approvals: turn.phase.kind === "ended" ? approvals.without(({ turnId }) => turnId === turn.turnId) : approvals,
        questions: turn.phase.kind === "ended" ? questions.without(({ turnId }) => turnId === turn.turnId) : questions,
      };
    }
    case "plan":
      // Another session may run besides the one in view. Its plan comes with it when it is opened.
      return change.plan.sessionId === sessions.current ? { ...state, plans: plans.with(change.plan) } : state;
    case "history":
      return { ...state, plans: plans.withEarlier(change.sessionId, change.turns) };
    case "message":
      return { ...state, transcript: transcript.withMessage(change.message) };
    case "tool":
      return withTool(state, change.tool);
    case "output":
      return { ...state, transcript: transcript.withOutput(change.output) };
    case "usage":
      return { ...state, sessions: sessions.withUsage(change.usage) };
    case "queue":
      return { ...state, sessions: sessions.withQueue(change.queue) };
    case "processes":
      return { ...state, sessions: sessions.withProcesses(change.processes) };
    case "subagent":
      return { ...state, sessions: sessions.withSubagents(change.subagent) };
    case "reviews":
      return { ...state, reviews: reviews.with(...change.reviews) };
    case "opened":
      return opened(state, change.session);
    case "renamed":
      return { ...state, sessions: sessions.renamed(change.sessionId, change.name) };
    case "removed":
      return {
        ...state,
        sessions: sessions.without(change.sessionId),
        ...(sessions.current === change.sessionId && { transcript: new Transcript(), plans: plans.restored(undefined) }),
      };
    case "paged":
      return { ...state, transcript: transcript.from(change.entry) };
    case "approval":
      return { ...state, approvals: approvals.with(change.approval), transcript: transcript.withApproval(change.approval) };
    case "armed":
      return { ...state, approvals: approvals.armed(change.approvalId) };
    case "settled":
      return { ...state, approvals: approvals.without(({ approvalId }) => approvalId === change.approvalId) };
    case "question":
      return { ...state, questions: questions.with(change.question) };
    case "answered":
      return { ...state, questions: questions.without(({ questionId }) => questionId === change.questionId) };
    case "mode":
      return { ...state, modes: modes.chose(change.mode, change.sessionId) };
    case "began":
      return { ...state, modes: modes.began(change.sessionId, change.turnId, change.mode) };
    case "setting":
      return { ...state, modes: modes.set(change.mode) };
  }
}

function linked(state: State, link: Link): State {
  const status = state.status.linked(link);
  // The daemon is gone, and with it its questions and processes.
  return link.kind === "running"
    ? { ...state, status }
    : { ...state, status, sessions: state.sessions.disconnected(), approvals: new Approvals(), questions: new Questions() };
}

/** Replaces everything: a new daemon counts its revisions from the start. */
function connected(state: State, { sessions: open, status, reviews }: StateResult): State {
  const sessions = Sessions.of(open);
  return {
    ...state,
    status: state.status.restored(status),
    sessions,
    plans: state.plans.restored(open.find(({ sessionId }) => sessionId === sessions.current)?.plan),
    transcript: open.some(({ transcript }) => transcript.length > 0) ? Transcript.of(open) : state.transcript.reconnected(),
    reviews: state.reviews.restored(reviews),
  };
}

function opened(state: State, session: SessionSnapshot): State {
  // Calls that are not over are not part of the transcript yet.
  const transcript = session.tools.reduce((all, tool) => all.withTool(tool), Transcript.of([session]));
  return { ...state, transcript, sessions: state.sessions.opened(session), plans: state.plans.restored(session.plan) };
}

function withTool(state: State, tool: ToolNotification): State {
  const isOf = ({ sessionId, callId }: { readonly sessionId: string; readonly callId: string }): boolean =>
    sessionId === tool.sessionId && callId === tool.callId;
  const asks = tool.state === "queued" || tool.state === "awaitingApproval";
  return {
    ...state,
    sessions: state.sessions.withTool(tool),
    transcript: state.transcript.withTool(tool),
    approvals: asks ? state.approvals : state.approvals.without(isOf),
    questions: asks || tool.state === "running" ? state.questions : state.questions.without(isOf),
  };
}
