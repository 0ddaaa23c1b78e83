import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ANSWER_MS, IDLE_MS, LAST_MS, PageWatch } from "../src/conversation/pageWatch";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watched(roundTrip: () => Promise<void> = () => Promise.resolve()) {
  const [ask, lost] = [vi.fn(), vi.fn()];
  const watch = new PageWatch(roundTrip, ask, lost);
  watch.answered();
  return { watch, ask, lost };
}

describe("the watch over the page", () => {
  it("tells once of a page that does not answer", async () => {
    const { watch, lost } = watched();
    watch.asked();
    await vi.advanceTimersByTimeAsync(ANSWER_MS / 2);
    watch.asked();
    await vi.advanceTimersByTimeAsync(ANSWER_MS / 2 + LAST_MS);
    expect(lost).toHaveBeenCalledOnce();
    watch.asked();
    await vi.advanceTimersByTimeAsync(10 * ANSWER_MS);
    expect(lost).toHaveBeenCalledOnce();
  });

  it("is quiet about a page that answers, also in the last moment", async () => {
    const { watch, lost } = watched();
    watch.asked();
    watch.answered();
    watch.asked();
    await vi.advanceTimersByTimeAsync(ANSWER_MS + LAST_MS / 2);
    watch.answered();
    await vi.advanceTimersByTimeAsync(10 * ANSWER_MS);
    expect(lost).not.toHaveBeenCalled();
  });

  it("waits for an editor that does not answer itself", async () => {
    let answer = (): void => undefined;
    const { watch, lost } = watched(() => new Promise((resolve) => (answer = resolve)));
    watch.asked();
    await vi.advanceTimersByTimeAsync(100 * ANSWER_MS);
    expect(lost).not.toHaveBeenCalled();
    answer();
    await vi.advanceTimersByTimeAsync(LAST_MS / 2);
    watch.answered();
    await vi.advanceTimersByTimeAsync(10 * ANSWER_MS);
    expect(lost).not.toHaveBeenCalled();
  });

  it("expects nothing of a page that is loading, or out of sight", async () => {
    const lost = vi.fn();
    const ask = vi.fn();
    const watch = new PageWatch(() => Promise.resolve(), ask, lost);
    watch.asked();
    await vi.advanceTimersByTimeAsync(10 * ANSWER_MS);
    watch.answered();
    watch.asked();
    watch.stop();
    await vi.advanceTimersByTimeAsync(10 * ANSWER_MS);
    expect(lost).not.toHaveBeenCalled();
  });

  it("asks a page that has been quiet, so that one that dies meanwhile is found", async () => {
    const { watch, ask, lost } = watched();
    ask.mockImplementation(() => watch.asked());
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    expect(ask).toHaveBeenCalledOnce();
    watch.answered();
    await vi.advanceTimersByTimeAsync(IDLE_MS + ANSWER_MS + LAST_MS);
    expect(ask).toHaveBeenCalledTimes(2);
    expect(lost).toHaveBeenCalledOnce();
  });

  it("does not take a lost connection to the window for a lost page", async () => {
    const { watch, ask, lost } = watched(() => Promise.reject(new Error("closed")));
    watch.asked();
    await vi.advanceTimersByTimeAsync(ANSWER_MS + LAST_MS);
    expect(lost).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    expect(ask).toHaveBeenCalledOnce();
  });
});
