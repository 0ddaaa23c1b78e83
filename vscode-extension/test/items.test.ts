import { describe, expect, it, vi } from "vitest";

import { type ItemFacts, turnItems } from "../src/conversation/items";
import { restoredTurns } from "../src/conversation/restored";
import type { Item } from "../src/conversation/messages";
import { Sync } from "../src/conversation/sync";
import type { CallDecision, CompletedItem } from "../src/protocol";
import type { Entry } from "../src/stores/transcript";
import { timeOfDay } from "../src/text/ago";
import { call, end, message, said } from "./entries";

const facts: ItemFacts = {
  restored: () => undefined,
  pending: () => ({ rev: 0, hunks: [] }),
  footer: () => ({ facts: "34k tokens", actions: [] }),
};

const items = (entries: readonly Entry[], over: Partial<ItemFacts> = {}): Item[] => turnItems(entries, { ...facts, ...over });
const kinds = (entries: readonly Entry[]): string[] => items(entries).map(({ kind }) => kind);
const read = (id: string, path: string, over = {}): Entry => call(id, `Read ${path}`, { name: "read_file", uri: `file:///w/${path}`, ...over });
const edit = (id: string, path: string, added: number, removed: number, over: Partial<Extract<Entry, { kind: "tool" }>> = {}): Entry =>
  call(id, "", {
    name: "edit_file",
    title: said("Edit {file}", { file: path }, "edit_file"),
    uri: `file:///w/${path}`,
    ...over,
    facts: { stats: { added, removed }, ...over.facts },
  });

describe("the items of a turn", () => {
  it("show a message that a command sent as a line, not as words of the user", () => {
    const sent = message("1", "user", "Continue the plan: do its open steps.");
    expect(items([sent])).toEqual([{ id: "1", kind: "notice", text: "Continue the plan", reminder: false }]);
    expect(kinds([message("1", "user", "Continue the plan.")])).toEqual(["user"]);
  });

  it("say whether the agent has read words for a running task", () => {
    const words = (unread: boolean | undefined): Entry => message("2", "user", "Quick", unread === undefined ? {} : { unread, endedAt: 60_000 });
    const state = (...turn: Entry[]): unknown => items(turn).map((item) => (item.kind === "user" ? item.state : item.kind));
    expect(state(words(undefined))).toEqual([""]);
    expect(state(words(true))).toEqual(["not read yet"]);
    expect(state(words(true), end("3", "cancelled"))).toEqual(["not read; goes with the next message", "end"]);
    expect(state(words(false))).toEqual([`read ${timeOfDay(60_000)}`]);
  });

  it("fold thinking and calls that only look into one row", () => {
    const turn = [
      message("1", "user", "Rename it"),
      message("2", "thinking", "Where is it?"),
      read("3", "a.ts"),
      call("4", "Search it", { name: "grep", state: "running" }),
      message("5", "assistant", "In two places."),
      read("6", "b.ts"),
    ];
    expect(kinds(turn)).toEqual(["user", "work", "text", "work"]);
    expect(items(turn)[1]).toEqual({
      id: "work:2",
      kind: "work",
      thoughts: "Where is it?",
      thoughtMs: 0,
      running: true,
      calls: [
        { title: "Read a.ts", state: "done", kind: "read", path: "file:///w/a.ts" },
        { title: "Search it", state: "running", kind: "search" },
      ],
    });
  });

  it("begin with a checkpoint if the turn changed files", () => {
    const turn = [
      message("1", "user", "Rename it"),
      edit("2", "a.ts", 1, 1, { facts: { startedAt: 1_000 } }),
      edit("3", "a.ts", 2, 1),
      edit("4", "b.ts", 1, 0, { state: "failed" }),
      edit("5", "c.ts", 0, 0, { state: "running" }),
    ];
    expect(items(turn)[0]).toMatchObject({ kind: "checkpoint", message: "1", files: [{ path: "a.ts", uri: "file:///w/a.ts" }] });
    expect(items(turn)[0]).toHaveProperty("time", expect.stringMatching(/^\d+:\d\d/u));
    expect(kinds(turn.slice(0, 1))).toEqual(["user"]);
    expect(kinds([message("1", "user", "Try"), edit("4", "b.ts", 1, 0, { state: "failed" })])).not.toContain("checkpoint");
  });

  it("tell the lines that were read, the number of matches and the time of the thoughts", () => {
    const range = { start: { line: 11, character: 0 }, end: { line: 40, character: 0 } };
    const turn = [
      message("2", "thinking", "Where?", { at: 1_000, endedAt: 5_000 }),
      read("3", "a.ts", { facts: { toolKind: "read", target: { uri: "file:///w/a.ts", range }, stats: { lines: 29 } } }),
      call("4", "Search it", { name: "later_search", facts: { toolKind: "search", stats: { matches: 11 } } }),
    ];
    expect(items(turn)).toMatchObject([
      {
        thoughtMs: 4_000,
        calls: [
          { path: "file:///w/a.ts#L12-L40", lines: "12–40" },
          { kind: "search", matches: 11 },
        ],
      },
    ]);
  });

  it("have one row for a file, however often it was edited", () => {
    const turn = [edit("1", "a.ts", 3, 2), edit("2", "b.ts", 1, 0), edit("3", "a.ts", 10, 0)];
    expect(items(turn)).toMatchObject([
      { id: "1", kind: "edit", path: "a.ts", added: 13, removed: 2, pending: 0, running: false },
      { id: "2", kind: "edit", path: "b.ts", added: 1, removed: 0 },
    ]);
    const waiting = [{ addedLines: 4, removedLines: 1 }];
    const pending: ItemFacts["pending"] = (uri, turnId) => ({ rev: 7, hunks: uri === "file:///w/a.ts" && turnId === "t" ? waiting : [] });
    expect(items(turn, { pending })[0]).toMatchObject({ added: 4, removed: 1, pending: 1, turn: "t", rev: 7 });
  });

  it("show an edit that was refused by itself", () => {
    expect(items([edit("1", "a.ts", 0, 0, { state: "failed", detail: "No such passage." })])).toEqual([
      { id: "1", kind: "call", call: { title: "Edit a.ts", state: "failed", kind: "edit", path: "file:///w/a.ts" }, detail: "No such passage." },
    ]);
  });

  it("show a command with its output, cut in the middle", () => {
    const output = Array.from({ length: 500 }, (_, n) => `line ${n}`).join("\n");
    const [item] = items([call("1", "Run npm test", { name: "bash", command: "npm test\n", detail: output })]);
    expect(item).toMatchObject({ kind: "command", command: "npm test\n", lines: 500, note: "" });
    expect(item?.kind === "command" && item.output.split("\n").length).toBe(201);
    expect(item?.kind === "command" && item.output).toContain("… 300 lines …");
    const facts = { stats: { exitCode: 1 }, startedAt: 5_000, endedAt: 5_400 };
    expect(items([call("1", "Run npm test", { name: "bash", state: "failed", facts })])).toMatchObject([{ exitCode: 1, elapsedMs: 400 }]);
  });

  it("show what a restored checkpoint took back, and count it again after an undo", () => {
    const at = new Date(2026, 10, 27, 9, 41).getTime();
    const notice = (id: string, code: "turns_restored" | "turns_redone", turn: string): Entry => {
      const args = code === "turns_restored" ? { turn, files: 1 } : { turn };
      return message(id, "notice", "", { turn, at, notice: said("", args, code) });
    };
    const of = (turn: string): Entry[] => [message(`u${turn}`, "user", "Do it", { turn }), { ...end(`e${turn}`, "completed"), turn }];
    const turns = new Map([
      ["1", of("1")],
      ["2", of("2")],
      ["3", [...of("3"), notice("n1", "turns_restored", "2")]],
      ["4", of("4")],
    ]);
    expect([...restoredTurns(turns)]).toEqual([
      ["2", at],
      ["3", at],
    ]);
    const [told, done, kept] = turnItems(turns.get("3") ?? [], { ...facts, restored: (turn) => restoredTurns(turns).get(turn) });
    expect(told).toMatchObject({ kind: "user", undone: true });
    expect(done).toMatchObject({ kind: "end", reason: "restored", facts: `restored ${timeOfDay(at)}`, actions: [], undone: true });
    expect(kept?.undone).toBeUndefined();
    turns.set("4", [...of("4"), notice("n2", "turns_redone", "2")]);
    expect([...restoredTurns(turns)]).toEqual([]);
    // The first of them is not read any more.
    turns.delete("1");
    turns.set("3", [...of("3"), notice("n1", "turns_restored", "1")]);
    turns.set("4", of("4"));
    expect([...restoredTurns(turns).keys()]).toEqual(["2", "3"]);
  });

  it("show the decision about a call with its time", () => {
    const at = new Date(2026, 10, 27, 9, 41).getTime();
    const time = timeOfDay(at);
    const note = (over: Partial<CallDecision>): unknown => {
      const facts = { decision: { decision: "allowOnce", by: "answer", at, ...over } } as const;
      const [item] = items([call("1", "Run npm test", { name: "bash", command: "npm test", facts })]);
      return item?.kind === "command" && item.note;
    };
    expect(note({})).toBe(`allowed once ${time}`);
    expect(note({ decision: "deny" })).toBe(`denied ${time}`);
    expect(note({ decision: "allowSession", by: "session" })).toBe(`allowed earlier for this session ${time}`);
    const facts = { decision: { decision: "allowOnce", by: "answer", at } } as const;
    expect(items([edit("1", "Makefile", 1, 1, { facts })])).toMatchObject([{ kind: "edit", note: `allowed once ${time}` }]);
    expect(note({ decision: "allowAlways", by: "rule" })).toBe(`allowed by a rule ${time}`);
  });

  it("show the last lines of a command that runs, and draw it again when more comes", () => {
    const live = Array.from({ length: 30 }, (_, n) => `line ${n}`).join("\n");
    const running = (liveSeq: number): Entry => call("1", "Run npm test", { name: "bash", state: "running", live: `${live}\n`, liveSeq });
    const [item] = items([running(3)]);
    expect(item?.kind === "command" && item.live.split("\n")).toEqual(Array.from({ length: 10 }, (_, n) => `line ${n + 20}`));
    const sync = new Sync();
    const sent = (entry: Entry): unknown => sync.message(new Map([["t", turnItems([entry], facts)]]), false)?.items[0];
    expect(sent(running(3))).toMatchObject({ live: item?.kind === "command" && item.live });
    expect(sent(call("1", "Run npm test", { name: "bash", state: "running", live: `${live}\nmore`, liveSeq: 4 }))).toMatchObject({
      live: expect.stringMatching(/line 29\nmore$/u) as string,
    });
  });

  it("show the calls of a subagent inside its row", () => {
    const turn = [
      call("1", "Task: Look", { name: "task", state: "running" }),
      call("2", "Read a.ts", { name: "read_file", parent: "1" }),
      message("3", "assistant", "Meanwhile."),
    ];
    expect(items(turn)).toMatchObject([{ kind: "subagent", calls: [{ title: "Read a.ts" }], earlier: 0 }, { kind: "text" }]);
  });

  it("name each step once, when it is completed", () => {
    const plan = (id: string, ...completed: CompletedItem[]): Entry =>
      call(id, "", { name: "TodoWrite", title: said("Update the plan", {}, "update_plan"), detail: "[x] Not read", facts: { completed } });
    const turn = [plan("1"), plan("2", { id: "7", content: "Look", place: 1, total: 2 }), plan("3", { id: "8", content: "Fix", place: 2, total: 2 })];
    expect(items(turn)).toEqual([
      { id: "2:7", kind: "step", text: "Look", place: "1/2" },
      { id: "3:8", kind: "step", text: "Fix", place: "2/2" },
    ]);
  });

  it("end with what the turn cost", () => {
    expect(items([end("9", "completed", "All done.")])).toEqual([
      { id: "9", kind: "end", reason: "completed", summary: "All done.", facts: "34k tokens", actions: [], copies: false },
    ]);
  });

  it.each([
    [{ uncheckedEdits: true }, "unfinished"],
    [{ openItems: 2 }, "unfinished"],
    [{}, "completed"],
  ])("say that work is left: %j", (left, reason) => {
    expect(items([{ ...end("9", "completed"), ...left }])).toMatchObject([{ kind: "end", reason }]);
    // Another end says so by its own reason.
    expect(items([{ ...end("9", "cancelled"), ...left }])).toMatchObject([{ kind: "end", reason: "cancelled" }]);
  });

  it("count each changed file once", () => {
    const files = vi.fn(() => ({ facts: "", actions: [] }));
    items([edit("1", "a.ts", 1, 1), edit("2", "a.ts", 1, 1), edit("3", "b.ts", 0, 0, { state: "failed" }), end("9", "completed")], {
      footer: files,
    });
    expect(files).toHaveBeenCalledWith(expect.objectContaining({ id: "9" }), 1);
  });

  it("leave out messages without words", () => {
    expect(kinds([message("1", "assistant", " \n")])).toEqual([]);
  });
});

describe("the difference to what the page has", () => {
  const turn = (...entries: Entry[]): ReturnType<typeof turnItems> => turnItems(entries, facts);
  const asked = message("1", "user", "Go");

  it("is nothing after everything was sent", () => {
    const sync = new Sync();
    expect(sync.message(new Map([["t", turn(asked)]]), true)).toMatchObject({ rev: 1, fresh: true, order: ["t"], items: [{ id: "1" }] });
    expect(sync.message(new Map([["t", turn(asked)]]), false)).toBeUndefined();
  });

  it("holds new, changed and removed items in order", () => {
    const sync = new Sync();
    sync.message(new Map([["t", turn(asked, read("2", "a.ts", { state: "running" }))]]), true);
    const next = turn(asked, edit("3", "b.ts", 1, 0), message("4", "assistant", "Done."));
    const change = sync.message(new Map([["t", next]]), false);
    expect(change).toMatchObject({ rev: 2, fresh: false, turns: [{ turn: "t", ids: ["checkpoint:t", "1", "3", "4"] }] });
    expect([change?.items.map(({ id }) => id), change?.order]).toEqual([["checkpoint:t", "3", "4"], undefined]);
    expect(sync.message(new Map(), false)).toMatchObject({ rev: 3, order: [], turns: [] });
  });

  it("is only the new text of a message that grows", () => {
    const sync = new Sync();
    const grown = (text: string, over = {}): ReadonlyMap<string, ReturnType<typeof turn>> =>
      new Map([["t", turn(asked, message("2", "assistant", text, { ended: false, ...over }))]]);
    sync.message(grown("Hel"), true);
    expect(sync.message(grown("Hello"), false)).toMatchObject({ turns: [], items: [], grown: [{ id: "2", delta: "lo" }] });
    const ended = sync.message(grown("Hello.", { ended: true }), false);
    expect(ended).toMatchObject({ turns: [{ turn: "t" }], items: [{ text: "Hello.", streaming: false }], grown: [] });
  });

  it("is one item of a thousand, and the others are not made again", () => {
    const sync = new Sync();
    const [asks, ...calls] = [asked, ...Array.from({ length: 1_000 }, (_, n) => call(`c${n}`, `Run ${n}`, { name: "bash" }))];
    const before = turn(asks, ...calls);
    sync.message(new Map([["t", before]]), true);
    const next = turn(asks, ...calls.with(500, call("c500", "Run 500", { name: "bash", state: "failed" })));
    expect(sync.message(new Map([["t", next]]), false)).toMatchObject({ turns: [{ turn: "t" }], items: [{ id: "c500", state: "failed" }] });
    expect(next.slice(1).filter((item, at) => item !== before[at + 1])).toHaveLength(1);
  });
});
