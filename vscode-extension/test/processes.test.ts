import { describe, expect, it, vi } from "vitest";

import { ProcessTerminal } from "../src/plan/processTerminal";
import { type ProcessInfo, requests } from "../src/protocol";
import { hasFailed, lastLine, processState } from "../src/text/processes";
import { TestStore } from "./testStore";

function process(facts: Partial<ProcessInfo> = {}): ProcessInfo {
  return {
    id: 1,
    command: "npm start",
    input: true,
    terminal: false,
    startedAt: 0,
    phase: { kind: "running", stopping: false },
    written: 0,
    tail: "",
    ...facts,
  };
}

describe("processes of sessions", () => {
  it("keep the newest notification, also after an empty one", () => {
    const store = new TestStore();
    store.processes({ sessionId: "s", rev: 2, processes: [process({ tail: "newer" })] });
    store.processes({ sessionId: "s", rev: 1, processes: [process({ tail: "older" })] });
    expect(store.sessions.processesOf("s")[0]?.tail).toBe("newer");
    store.processes({ sessionId: "s", rev: 3, processes: [] });
    store.processes({ sessionId: "s", rev: 2, processes: [process()] });
    expect(store.sessions.processesOf("s")).toEqual([]);
  });

  it("are told in words without control characters", () => {
    const ended = process({ phase: { kind: "ended", at: 1, end: { kind: "code", code: 3 } } });
    expect([processState(process()), processState(ended), hasFailed(ended)]).toEqual(["running", "ended with exit code 3", true]);
    expect(hasFailed(process({ phase: { kind: "ended", at: 1, end: { kind: "stopped", by: "user" } } }))).toBe(false);
    expect(lastLine(process({ tail: "one\ntwo\u202e" }))).not.toContain("\u202e");
  });
});

/** A terminal, with the requests that the agent gets. */
function terminal(facts: Partial<ProcessInfo>, answers: Record<string, unknown[]>) {
  const sent: unknown[] = [];
  const request = vi.fn((kind: { method: string }, params: object) => {
    if (kind.method !== requests.processOutput.method) {
      sent.push(params);
    }
    const answer = answers[kind.method]?.shift();
    return answer === undefined ? new Promise(() => undefined) : Promise.resolve(answer);
  });
  const made = new ProcessTerminal({ request } as never, "s", process(facts), String);
  let shown = "";
  made.onDidWrite((text) => (shown += text));
  return { made, sent, request, shown: () => shown };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("the terminal of a process", () => {
  it("asks for output where the last ended, and tells what is missing and how it ended", async () => {
    const output = [
      { text: "one\ntwo\r\n", missed: 0, end: 9 },
      { text: "three", missed: 7, end: 21, ended: { kind: "code", code: 0 } },
    ];
    const { made, request, shown } = terminal({}, { [requests.processOutput.method]: output });
    made.open();
    await settled();
    expect(request.mock.calls.map(([, params]) => params)).toMatchObject([{ since: 0 }, { since: 9 }]);
    expect(shown()).toContain("one\r\ntwo\r\n");
    expect(shown()).toMatch(/\[7 bytes left out\].*\r\nthree\r\n.*\[Process 1: ended with exit code 0\]/s);
  });

  it("echoes a line, with backspace, and sends it at its end", async () => {
    const { made, sent, shown } = terminal({}, { [requests.processInput.method]: [{ taken: "all" }] });
    for (const data of ["h", "ö", "\x7f", "i", "\x1b[A", "\r"]) {
      made.handleInput(data);
    }
    await settled();
    expect(shown()).toBe("hö\b \bi\r\n");
    expect(sent).toEqual([{ sessionId: "s", id: 1, text: "hi\n" }]);
  });

  it("stops a process without a terminal at Ctrl+C, and passes the key to one with a terminal", async () => {
    const plain = terminal({}, { [requests.processStop.method]: [{}] });
    plain.made.handleInput("\x03");
    const tty = terminal({ terminal: true }, { [requests.processInput.method]: [{ taken: "all" }] });
    tty.made.handleInput("\x03");
    await settled();
    expect(plain.request.mock.calls.map(([kind]) => kind)).toEqual([requests.processStop]);
    expect(tty.sent).toEqual([{ sessionId: "s", id: 1, text: "\x03" }]);
    expect(tty.shown()).toBe("");
  });

  it("says once that input is not taken", async () => {
    const { made, sent, shown } = terminal({ input: false }, {});
    made.handleInput("a");
    made.handleInput("b");
    const partly = terminal({}, { [requests.processInput.method]: [{ taken: "part" }] });
    partly.made.handleInput("x\r");
    await settled();
    expect([sent, shown().match(/takes no input/g)?.length]).toEqual([[], 1]);
    expect(partly.shown()).toContain("a part of it was not sent");
  });
});
