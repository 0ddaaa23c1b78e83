import type {
  AskParams,
  EarlierPlan,
  NotificationMethod,
  ReviewMode,
  ReviewNotification,
  SessionSnapshot,
  StateResult,
  notifications,
} from "../protocol";
import type { Approval } from "../text/approval";
import { Waiting } from "./approval";
import { Modes } from "./mode";
import { Plans } from "./plan";
import { Reviews } from "./review";
import { Sessions } from "./session";
import { type Link, Status } from "./status";
import { Transcript } from "./transcript";

/** State that the extension shows: that of the daemon, and choices of the user. Each part is a value: a change makes another one. */
export interface State {
  readonly status: Status;
  readonly sessions: Sessions;
  readonly plans: Plans;
  readonly transcript: Transcript;
  readonly reviews: Reviews;
  readonly approvals: Waiting<Approval>;
  readonly questions: Waiting<AskParams>;
  readonly modes: Modes;
}

/** Notifications that are changes as they come. Those of reviews are batched, and those of checks are not part of the state. */
export const NOTIFIED = ["turn", "plan", "message", "tool", "output", "queue", "processes", "subagent", "usage", "status"] as const;
type Notifications = typeof notifications;
type Notified = {
  [K in (typeof NOTIFIED)[number]]: { readonly kind: K } & {
    readonly [P in K]: Notifications[K] extends NotificationMethod<infer Params> ? Params : never;
  };
}[(typeof NOTIFIED)[number]];

/** Notifications of the daemon, answers to requests, and choices of the user, all that changes the {@link State}. */
export type Change =
  | { readonly kind: "link"; readonly link: Link }
  /** Answer to `agent/state` of a daemon, which may be a new one. */
  | { readonly kind: "connected"; readonly state: StateResult }
  | Notified
  /** Answer to `agent/plan/history`, oldest first. */
  | { readonly kind: "history"; readonly sessionId: string; readonly turns: readonly EarlierPlan[] }
  | { readonly kind: "reviews"; readonly reviews: readonly ReviewNotification[] }
  /** Answer to `agent/sessions/open`: the session comes into view. */
  | { readonly kind: "opened"; readonly session: SessionSnapshot }
  | { readonly kind: "renamed"; readonly sessionId: string; readonly name: string }
  | { readonly kind: "removed"; readonly sessionId: string }
  /** Entries of a session from before this one are in a page of their own. */
  | { readonly kind: "paged"; readonly entry: string }
  | { readonly kind: "approval"; readonly approval: Approval }
  /** An answer to the approval counts from now on. */
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
    approvals: new Waiting(),
    questions: new Waiting(),
    modes,
  };
}

type Kind = Change["kind"];
type Of<K extends Kind> = Extract<Change, { readonly kind: K }>;
type Reducers = { readonly [K in Kind]: (state: State, change: Of<K>) => Partial<State> };

/** Parts of the state that each change replaces. Notifications that came late change nothing. */
const REDUCERS: Reducers = {
  link: linked,
  connected,
  opened,
  turn: turned,
  tool: called,
  status: ({ status }, change) => ({ status: status.with(change.status) }),
  // Another session may run besides the one in view. Its plan comes with it when it is opened.
  plan: ({ sessions, plans }, { plan }) => (plan.sessionId === sessions.current ? { plans: plans.with(plan) } : {}),
  history: ({ plans }, { sessionId, turns }) => ({ plans: plans.withEarlier(sessionId, turns) }),
  message: ({ transcript }, { message }) => ({ transcript: transcript.withMessage(message) }),
  output: ({ transcript }, { output }) => ({ transcript: transcript.withOutput(output) }),
  paged: ({ transcript }, { entry }) => ({ transcript: transcript.from(entry) }),
  usage: ({ sessions }, { usage }) => ({ sessions: sessions.told("usage", usage) }),
  queue: ({ sessions }, { queue }) => ({ sessions: sessions.told("queue", queue) }),
  processes: ({ sessions }, { processes }) => ({ sessions: sessions.told("processes", processes) }),
  subagent: ({ sessions }, { subagent }) => ({ sessions: sessions.withSubagents(subagent) }),
  renamed: ({ sessions }, { sessionId, name }) => ({ sessions: sessions.renamed(sessionId, name) }),
  removed: ({ sessions, plans }, { sessionId }) => ({
    sessions: sessions.without(sessionId),
    ...(sessions.current === sessionId && { transcript: new Transcript(), plans: plans.restored(undefined) }),
  }),
  reviews: ({ reviews }, change) => ({ reviews: reviews.with(...change.reviews) }),
  approval: ({ approvals, transcript }, { approval }) => ({ approvals: approvals.with(approval), transcript: transcript.withApproval(approval) }),
  settled: ({ approvals }, { approvalId }) => ({ approvals: approvals.without((asked) => asked.approvalId === approvalId) }),
  question: ({ questions }, { question }) => ({ questions: questions.with(question) }),
  answered: ({ questions }, { questionId }) => ({ questions: questions.without((asked) => asked.questionId === questionId) }),
  mode: ({ modes }, { mode, sessionId }) => ({ modes: modes.chose(mode, sessionId) }),
  began: ({ modes }, { sessionId, turnId, mode }) => ({ modes: modes.began(sessionId, turnId, mode) }),
  setting: ({ modes }, { mode }) => ({ modes: modes.set(mode) }),
};

/** The state after a change. */
export function apply<K extends Kind>(state: State, change: Of<K>): State {
  return { ...state, ...REDUCERS[change.kind](state, change) };
}

function turned({ sessions, transcript, approvals, questions }: State, { turn }: Of<"turn">): Partial<State> {
  const isOver = ({ turnId }: { readonly turnId: string }): boolean => turn.phase.kind === "ended" && turnId === turn.turnId;
  return {
    sessions: sessions.withTurn(turn),
    transcript: transcript.withTurn(turn),
    approvals: approvals.without(isOver),
    questions: questions.without(isOver),
  };
}

function linked(state: State, { link }: Of<"link">): Partial<State> {
  const status = state.status.linked(link);
  // The daemon is gone, and with it its questions and processes.
  return link.kind === "running"
    ? { status }
    : { status, sessions: state.sessions.disconnected(), approvals: new Waiting(), questions: new Waiting() };
}

/** Replaces everything: a new daemon counts its revisions from the start. */
function connected(state: State, { state: { sessions: open, status, reviews } }: Of<"connected">): Partial<State> {
  const sessions = Sessions.of(open);
  return {
    status: state.status.restored(status),
    sessions,
    plans: state.plans.restored(open.find(({ sessionId }) => sessionId === sessions.current)?.plan),
    transcript: open.some(({ transcript }) => transcript.length > 0) ? Transcript.of(open) : state.transcript.reconnected(),
    reviews: state.reviews.restored(reviews),
  };
}

function opened({ sessions, plans }: State, { session }: Of<"opened">): Partial<State> {
  // Calls that are not over are not part of the transcript yet.
  const transcript = session.tools.reduce((all, tool) => all.withTool(tool), Transcript.of([session]));
  return { transcript, sessions: sessions.opened(session), plans: plans.restored(session.plan) };
}

function called(state: State, { tool }: Of<"tool">): Partial<State> {
  const isOf = ({ sessionId, callId }: { readonly sessionId: string; readonly callId: string }): boolean =>
    sessionId === tool.sessionId && callId === tool.callId;
  const asks = tool.state === "queued" || tool.state === "awaitingApproval";
  return {
    sessions: state.sessions.withTool(tool),
    transcript: state.transcript.withTool(tool),
    approvals: asks ? state.approvals : state.approvals.without(isOf),
    questions: asks || tool.state === "running" ? state.questions : state.questions.without(isOf),
  };
}
