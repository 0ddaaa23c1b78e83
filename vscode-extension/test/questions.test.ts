import { describe, expect, it, vi } from "vitest";

import type { AskParams, ToolState } from "../src/protocol";
import { QuestionStore } from "../src/stores/questions";
import { said } from "./entries";

const asked = (questionId: string, over: Partial<AskParams> = {}): AskParams => ({
  questionId,
  sessionId: "s",
  turnId: "t",
  callId: questionId,
  text: "Which colour?",
  options: ["Blue", "Red"],
  ...over,
});

describe("the question store", () => {
  it("passes on the first answer, and dismisses a question without words", async () => {
    const store = new QuestionStore();
    const changed = vi.fn();
    store.onDidChange(changed);
    const first = store.ask(asked("1"));
    const second = store.ask(asked("2"));
    expect(store.waiting.map(({ questionId }) => questionId)).toEqual(["1", "2"]);
    expect(store.answer("1", " Green \n")).toBe(true);
    expect(store.answer("1", "Red")).toBe(false);
    expect(await first).toEqual({ answer: "Green" });
    store.answer("2", " ");
    expect(await second).toEqual({});
    expect(changed).toHaveBeenCalledTimes(4);
    expect(changed).toHaveBeenNthCalledWith(1, expect.objectContaining({ questionId: "1" }));
  });

  it("withdraws the question of a call that is over, of a turn that ended, and of a daemon that is gone", async () => {
    const store = new QuestionStore();
    const tool = (callId: string, state: ToolState): void =>
      store.tool({ sessionId: "s", turnId: "t", rev: 1, callId, name: "ask_user", title: said("Ask"), state });
    const answers = [store.ask(asked("1")), store.ask(asked("2")), store.ask(asked("3", { turnId: "u" })), store.ask(asked("4", { turnId: "v" }))];
    tool("1", "running");
    expect(store.waiting).toHaveLength(4);
    tool("1", "cancelled");
    const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
    store.turn({ sessionId: "s", turnId: "t", rev: 2, phase: { kind: "ended", reason: "cancelled", summary: "", openItems: 0, usage } });
    expect(store.waiting.map(({ questionId }) => questionId)).toEqual(["3", "4"]);
    store.clear();
    expect(await Promise.all(answers)).toEqual([{}, {}, {}, {}]);
  });
});
