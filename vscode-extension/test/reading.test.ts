import { describe, expect, it, vi } from "vitest";

import type { TranscriptEntry } from "../src/protocol";
import { type PageEnd, type ReadPage, Reading } from "../src/stores/reading";
import { said } from "./entries";
import { TestStore } from "./testStore";

/** Records of a session with turns of five entries. */
const RECORDS = 10_000;

function started(turn: number): TranscriptEntry {
  return { kind: "turn", sessionId: "s", turnId: `t${turn}`, rev: turn * 5 + 1, phase: { kind: "started", text: `Task ${turn}` } };
}

function record(number: number): TranscriptEntry {
  const [turn, part] = [Math.floor(number / 5), number % 5];
  const place = { sessionId: "s", turnId: `t${turn}`, rev: number + 1 };
  return part === 0
    ? started(turn)
    : part < 4
      ? { kind: "tool", ...place, callId: `c${number}`, name: "bash", title: said("Run"), state: "done" }
      : { kind: "message", ...place, itemId: `m${turn}`, role: "assistant", delta: "", text: `Answer ${turn}`, incomplete: false };
}

/** A daemon with a journal of these records, that answers pages of 1,000. */
function daemon() {
  const records = Array.from({ length: RECORDS }, (_, number) => record(number));
  const numberOf = ({ before, beforeTurn, beforeCall }: PageEnd): number =>
    before !== undefined
      ? Number(before)
      : records.findIndex((it) =>
          beforeTurn !== undefined ? it.kind === "turn" && it.turnId === beforeTurn : it.kind === "tool" && it.callId === beforeCall,
        );
  const page = (end: number) => {
    const first = Math.max(0, end - 1_000);
    return { transcript: records.slice(first, end), ...(first > 0 && { earlier: String(first) }) };
  };
  const read = vi.fn<ReadPage>((_, end) => Promise.resolve(page(numberOf(end))));
  const store = new TestStore();
  store.opened({ sessionId: "s", tools: [], subagents: [], ...page(RECORDS) });
  return { store, read, reading: new Reading(store, read, (error) => (error as Error).message) };
}

const entries = (reading: Reading) => [...reading.turnsOf("s").values()].flat();

describe("a session of 10,000 records", () => {
  it("is read to its first message and back, with a bounded part of it in memory", async () => {
    const { reading, read } = daemon();
    expect(reading.beyond("s")).toEqual({ earlier: "more", later: "none", fault: "" });
    const seen = new Set(entries(reading).map(({ id }) => id));
    for (let pages = 0; reading.beyond("s").earlier === "more"; pages += 1) {
      await reading.load("s", "earlier");
      const now = entries(reading);
      expect(now.length).toBeLessThanOrEqual(3_000);
      expect(pages).toBeLessThan(9);
      now.forEach(({ id }) => seen.add(id));
    }
    expect(seen.size).toBe(RECORDS);
    expect(entries(reading)[0]).toMatchObject({ id: "user:t0", text: "Task 0" });
    expect([reading.hasNewest, reading.beyond("s")]).toEqual([false, { earlier: "none", later: "more", fault: "" }]);
    expect(reading.get("user:t0")).toBeDefined();
    for (let pages = 0; reading.beyond("s").later === "more"; pages += 1) {
      const last = entries(reading).at(-1)?.id;
      await reading.load("s", "later");
      const now = entries(reading).map(({ id }) => id);
      expect(now.indexOf(last ?? "")).toBeGreaterThan(0);
      expect(now.length).toBeLessThanOrEqual(3_000);
      expect(pages).toBeLessThan(9);
    }
    expect(entries(reading).at(-1)?.id).toBe("message:s/m1999");
    expect(read.mock.calls.length).toBeLessThanOrEqual(18);
  });

  it("goes back to the newest entries also while a page is read", async () => {
    const { reading } = daemon();
    for (let pages = 0; pages < 3; pages += 1) {
      await reading.load("s", "earlier");
    }
    expect(reading.hasNewest).toBe(false);
    const late = reading.load("s", "earlier");
    await reading.load("s", "newest");
    await late;
    expect(reading.hasNewest).toBe(true);
    expect(entries(reading)).toHaveLength(1_000);
    expect(reading.beyond("s")).toEqual({ earlier: "more", later: "none", fault: "" });
  });

  it("begins where the store dropped entries, also in the middle of a turn, without a gap or a repetition", async () => {
    const { store, reading, read } = daemon();
    for (let n = 0; n < 1_502; n += 1) {
      store.tool({ sessionId: "s", turnId: "live", rev: 20_000 + n, callId: `l${n}`, name: "bash", title: said("Run"), state: "done" });
    }
    expect(store.transcript.entries).toHaveLength(2_000);
    await reading.load("s", "earlier");
    expect(read.mock.calls[0]?.[1]).toEqual({ beforeCall: "c9502" });
    const ids = entries(reading).map(({ id }) => id);
    expect(ids.slice(0, 1_498)).toEqual(Array.from({ length: 1_498 }, (_, n) => record(8_502 + n)).map(idOf));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(3_000);
  });

  it("leaves the newest entries out when so many came that they no longer follow the pages", async () => {
    const { store, reading } = daemon();
    await reading.load("s", "earlier");
    expect(reading.hasNewest).toBe(true);
    for (let n = 0; n < 1_200; n += 1) {
      store.tool({ sessionId: "s", turnId: "live", rev: 20_000 + n, callId: `l${n}`, name: "bash", title: said("Run"), state: "running" });
    }
    expect([reading.hasNewest, entries(reading).length]).toEqual([false, 1_000]);
    await reading.load("s", "later");
    expect([reading.hasNewest, entries(reading).length, reading.beyond("s").earlier]).toEqual([true, 2_000, "more"]);
  });

  it("says why a page could not be read, and reads it when asked again", async () => {
    const { reading, read } = daemon();
    read.mockRejectedValueOnce(new Error("no disk"));
    await reading.load("s", "earlier");
    expect(reading.beyond("s")).toEqual({ earlier: "failed", later: "none", fault: "no disk" });
    await reading.load("s", "earlier");
    expect([reading.beyond("s").earlier, entries(reading).length]).toEqual(["more", 2_000]);
  });

  it("drops an answer that comes when another session is in view", async () => {
    const { store, reading } = daemon();
    const late = reading.load("s", "earlier");
    expect(reading.beyond("s").earlier).toBe("loading");
    store.opened({
      sessionId: "other",
      tools: [],
      subagents: [],
      transcript: [{ kind: "turn", sessionId: "other", turnId: "t", rev: 1, phase: { kind: "started", text: "Other" } }],
    });
    await late;
    expect(reading.turnsOf("s").size).toBe(0);
    expect(reading.beyond("other")).toEqual({ earlier: "none", later: "none", fault: "" });
  });
});

function idOf(entry: TranscriptEntry): string {
  switch (entry.kind) {
    case "turn":
      return `user:${entry.turnId}`;
    case "tool":
      return `tool:s/${entry.callId}`;
    case "message":
      return `message:s/${entry.itemId}`;
  }
}
