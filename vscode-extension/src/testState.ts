import { type ClientRequest, request } from "node:http";

import type { StateSources } from "./conversation/state";
import type { Disposable } from "./stores/emitter";

type Event = (listener: () => void) => Disposable;

/** A part of the extension's state, and the events after which it may differ. */
export interface StatePart {
  readonly changes: readonly Event[];
  readonly read: () => unknown;
}

/** The state that the stores hold. */
export function stateOf({
  status,
  sessions,
  plans,
  reviews,
  approvals,
  questions,
  queue,
}: Omit<StateSources, "reading" | "servers">): Record<string, StatePart> {
  return {
    link: { changes: [status.onDidChange], read: () => status.link.kind },
    model: { changes: [status.onDidChange], read: () => status.status?.model },
    turn: { changes: [sessions.onDidChange], read: () => sessions.turn },
    plan: { changes: [plans.onDidChange], read: () => plans.plan },
    edits: { changes: [reviews.onDidChange], read: () => reviews.files },
    approvals: {
      changes: [approvals.onDidAdd, approvals.onDidArm, approvals.onDidSettle],
      read: () => approvals.waiting.map((params) => ({ ...params, armed: approvals.isArmed(params.approvalId) })),
    },
    questions: { changes: [questions.onDidChange], read: () => questions.waiting },
    queue: { changes: [queue.onDidChange, sessions.onDidChange], read: () => queue.of(sessions.current) },
  };
}

/** The port in the value of `CAIRN_E2E`, which any program may have set. */
export function testPort(value: string | undefined): number | undefined {
  const port = Number(value);
  return Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : undefined;
}

/**
 * Reports the state of the extension to an end-to-end test, which waits for states instead of looking at VS Code's
 * page. Each line of the report is a JSON object with the parts that differ from the line before. The report is one
 * request to loopback, as long as the window.
 */
export function reportState(port: number, parts: Readonly<Record<string, StatePart>>): Disposable {
  const report = request({ host: "127.0.0.1", port, method: "POST", path: "/state" });
  // The test may end before the window does.
  report.on("error", () => undefined);
  const sender = new Sender(report, parts);
  const subscriptions = Object.values(parts).flatMap(({ changes }) => changes.map((change) => change(() => sender.changed())));
  sender.changed();
  return {
    dispose: () => {
      subscriptions.forEach((subscription) => subscription.dispose());
      report.end();
    },
  };
}

class Sender {
  readonly #sent = new Map<string, string>();
  #scheduled = false;

  constructor(
    private readonly report: ClientRequest,
    private readonly parts: Readonly<Record<string, StatePart>>,
  ) {}

  /** Sends what differs, once for all the events of one moment. */
  changed(): void {
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#send();
      });
    }
  }

  #send(): void {
    const line: Record<string, unknown> = {};
    for (const [name, { read }] of Object.entries(this.parts)) {
      const value = read() ?? null;
      const text = JSON.stringify(value);
      if (this.#sent.get(name) !== text) {
        this.#sent.set(name, text);
        line[name] = value;
      }
    }
    if (Object.keys(line).length > 0 && !this.report.writableEnded) {
      this.report.write(`${JSON.stringify(line)}\n`);
    }
  }
}
