import { type ClientRequest, request } from "node:http";

import type { Disposable } from "../../src/stores/emitter";
import type { State } from "../../src/stores/state";
import type { Store } from "../../src/stores/store";

type Event = (listener: () => void) => Disposable;

/** A part of the extension's state, and the events after which it may differ. */
export interface StatePart {
  readonly changes: readonly Event[];
  readonly read: () => unknown;
}

/** The parts of the extension's state that tests wait for. */
export function stateOf(store: Store, view: { readonly visible: boolean; readonly onDidHide: Event }): Record<string, StatePart> {
  const part = (parts: Parameters<Store["on"]>[0], read: (state: State) => unknown): StatePart => ({
    changes: [(listener) => store.on(parts, listener)],
    read: () => read(store.state),
  });
  return {
    link: part(["status"], ({ status }) => status.link.kind),
    model: part(["status"], ({ status }) => status.status?.model),
    turn: part(["sessions"], ({ sessions }) => sessions.turn),
    plan: part(["plans"], ({ plans }) => plans.plan),
    edits: part(["reviews"], ({ reviews }) => reviews.files),
    approvals: part(["approvals"], ({ approvals }) => approvals.waiting),
    questions: part(["questions"], ({ questions }) => questions.waiting),
    conversation: { changes: [view.onDidHide], read: () => view.visible },
    queue: part(["sessions"], ({ sessions }) => sessions.queueOf(sessions.current)),
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
