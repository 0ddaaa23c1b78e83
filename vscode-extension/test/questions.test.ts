import { describe, expect, it, vi } from "vitest";

import type { AskParams, ToolState } from "../src/protocol";
import { waitingNotice } from "../src/conversation/waitingNotice";
import { Asking } from "../src/stores/approval";
import type { Approval } from "../src/text/approval";
import { said } from "./entries";
import { TestStore } from "./testStore";
import { commands, window } from "./vscode";

const asked = (questionId: string, over: Partial<AskParams> = {}): AskParams => ({
  questionId,
  sessionId: "s",
  turnId: "t",
  callId: questionId,
  text: "Which colour?",
  options: ["Blue", "Red"],
  ...over,
});

describe("questions of the agent", () => {
  it("take the first answer, and are dismissed without words", async () => {
    const store = new TestStore();
    const asking = new Asking(store);
    const waiting = (): string[] => store.questions.waiting.map(({ questionId }) => questionId);
    const first = asking.ask(asked("1"));
    const second = asking.ask(asked("2"));
    expect(waiting()).toEqual(["1", "2"]);
    asking.answer("1", " Green \n");
    asking.answer("1", "Red");
    expect([await first, waiting()]).toEqual([{ answer: "Green" }, ["2"]]);
    asking.answer("2", " ");
    expect([await second, waiting()]).toEqual([{}, []]);
  });

  it("are withdrawn with a call that is over, a turn that ended, and a daemon that is gone", async () => {
    const store = new TestStore();
    const asking = new Asking(store);
    const tool = (callId: string, rev: number, state: ToolState): void =>
      store.tool({ sessionId: "s", turnId: "t", rev, callId, name: "ask_user", title: said("Ask"), state });
    const answers = [asked("1"), asked("2"), asked("3", { turnId: "u" }), asked("4", { turnId: "v" })].map((question) => asking.ask(question));
    tool("1", 1, "running");
    expect(store.questions.waiting).toHaveLength(4);
    tool("1", 2, "cancelled");
    const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
    store.turn({ sessionId: "s", turnId: "t", rev: 2, phase: { kind: "ended", reason: "cancelled", summary: "", openItems: 0, usage } });
    expect(store.questions.waiting.map(({ questionId }) => questionId)).toEqual(["3", "4"]);
    store.link({ kind: "failed", message: "gone" });
    expect(await Promise.all(answers)).toEqual([{}, {}, {}, {}]);
  });
});

it("a notification shows the way to what waits while the conversation is out of sight", async () => {
  const store = new TestStore();
  const asking = new Asking(store);
  let hide = (): void => undefined;
  const onDidHide = (listener: () => void): { dispose(): void } => {
    hide = listener;
    return { dispose: () => undefined };
  };
  const view = { visible: false, focus: vi.fn(() => Promise.resolve()), onDidHide };
  const shown = vi.spyOn(window, "showWarningMessage").mockImplementation((...[, button]: unknown[]) => Promise.resolve(button as string));
  const run = vi.spyOn(commands, "executeCommand");
  const messages = (): unknown[] => shown.mock.calls.splice(0);
  waitingNotice(store, view);
  const approval = { approvalId: "a", sessionId: "s", turnId: "t", callId: "c", title: "Run a command", command: "npm test", risk: "" };
  void asking.approve(approval as unknown as Approval);
  expect(messages()).toEqual([["Run a command? npm test", "Show"]]);
  await vi.waitFor(() => expect(view.focus).toHaveBeenCalledTimes(1));
  void asking.ask(asked("1"));
  expect(messages()).toEqual([["The agent waits for several answers.", "Show"]]);
  view.visible = true;
  asking.answerApproval("a", "deny");
  expect([messages(), run.mock.calls]).toEqual([[], []]);
  view.visible = false;
  hide();
  expect(messages()).toEqual([["Cairn asks: Which colour?", "Show"]]);
  asking.answer("1", "Blue");
  expect(run.mock.calls).toEqual([["notifications.hideToasts"]]);
  vi.restoreAllMocks();
});
