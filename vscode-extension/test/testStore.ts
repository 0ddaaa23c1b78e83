import type {
  AskParams,
  MessageNotification,
  PlanNotification,
  ProcessesNotification,
  QueueNotification,
  ReviewMode,
  ReviewNotification,
  SessionSnapshot,
  StatusNotification,
  SubagentNotification,
  ToolNotification,
  TurnNotification,
} from "../src/protocol";
import { Modes } from "../src/stores/mode";
import { type State, emptyState } from "../src/stores/state";
import type { Link } from "../src/stores/status";
import { Store } from "../src/stores/store";
import type { Approval } from "../src/text/approval";

/** A store with a method for each kind of news, and with the parts of its state. */
export class TestStore extends Store {
  constructor(mode: ReviewMode = "review", canonical?: (uri: string) => string) {
    super(emptyState(new Modes(mode), canonical));
  }

  get sessions(): State["sessions"] {
    return this.state.sessions;
  }

  get plans(): State["plans"] {
    return this.state.plans;
  }

  get transcript(): State["transcript"] {
    return this.state.transcript;
  }

  get reviews(): State["reviews"] {
    return this.state.reviews;
  }

  get approvals(): State["approvals"] {
    return this.state.approvals;
  }

  get questions(): State["questions"] {
    return this.state.questions;
  }

  review(...reviews: readonly ReviewNotification[]): void {
    this.apply({ kind: "reviews", reviews });
  }

  turn(turn: TurnNotification): void {
    this.apply({ kind: "turn", turn });
  }

  plan(plan: PlanNotification): void {
    this.apply({ kind: "plan", plan });
  }

  tool(tool: ToolNotification): void {
    this.apply({ kind: "tool", tool });
  }

  message(message: MessageNotification): void {
    this.apply({ kind: "message", message });
  }

  queue(queue: QueueNotification): void {
    this.apply({ kind: "queue", queue });
  }

  processes(processes: ProcessesNotification): void {
    this.apply({ kind: "processes", processes });
  }

  subagent(subagent: SubagentNotification): void {
    this.apply({ kind: "subagent", subagent });
  }

  approval(approval: Approval): void {
    this.apply({ kind: "approval", approval });
  }

  question(question: AskParams): void {
    this.apply({ kind: "question", question });
  }

  link(link: Link): void {
    this.apply({ kind: "link", link });
  }

  status(status: StatusNotification): void {
    this.apply({ kind: "status", status });
  }

  /** A daemon tells its state, of these sessions. */
  connected(...sessions: SessionSnapshot[]): void {
    const status = { rev: 0, model: { provider: "none", name: "", replay: false }, connection: { kind: "idle" }, banners: [] } as const;
    this.apply({ kind: "connected", state: { sessions, reviews: [], status: { ...status, banners: [] } } });
  }

  opened(session: SessionSnapshot): void {
    this.apply({ kind: "opened", session });
  }
}
