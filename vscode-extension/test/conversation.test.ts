import { beforeEach, describe, expect, it, vi } from "vitest";

import type { TaskRequests } from "../src/commands/taskRequests";
import { ConversationController, REPAINT_MS } from "../src/conversation/controller";
import { LocalServers } from "../src/commands/localServers";
import type { ModelServer } from "../src/commands/modelServers";
import { ComposerMemory } from "../src/conversation/memory";
import type { Mention } from "../src/conversation/mentions";
import type { FromPage, ToPage } from "../src/conversation/messages";
import type { Port } from "../src/conversation/port";
import { firstOf } from "../src/review/checkpoints";
import type { Attachment, ServerModelsResult, StatusNotification, TurnNotification } from "../src/protocol";
import { type ReadPage, Reading } from "../src/stores/reading";
import type { Turn } from "../src/stores/session";
import { type Approval } from "../src/text/approval";
import { Asking } from "../src/stores/approval";
import { said } from "./entries";
import { TestStore } from "./testStore";

vi.mock("../src/daemon/agent", () => ({ reasonOf: (error: unknown) => (error instanceof Error ? error.message : "") }));

type Sent<T extends ToPage["type"]> = Extract<ToPage, { type: T }>;

const approval: Approval = {
  approvalId: "a",
  sessionId: "s",
  turnId: "t",
  callId: "c",
  title: "Run a command",
  question: said("Run a command"),
  command: "rm -rf build\u202e",
  cwd: "/w",
  reason: "",
  risk: "",
  rules: [],
  forSession: "",
};

function turn(rev: number, over: Partial<TurnNotification> = {}): TurnNotification {
  return { sessionId: "s", turnId: "t", rev, phase: { kind: "started", text: "Fix it" }, ...over };
}

/** A conversation with a page in sight, and a clock that the test moves. */
function open() {
  const memory = new Map<string, unknown>();
  const store = new TestStore();
  const serverModels = vi.fn<(server: ModelServer) => Promise<ServerModelsResult>>(() => Promise.reject(new Error("no server")));
  const read = vi.fn<ReadPage>(() => Promise.reject(new Error("no page")));
  const memento = { get: (key: string) => memory.get(key), update: (key: string, value: unknown) => memory.set(key, value) };
  const parts = {
    store,
    asking: new Asking(store),
    reading: new Reading(store, read, (error) => (error as Error).message),
    memory: new ComposerMemory(memento),
    servers: new LocalServers(serverModels),
  };
  const tasks = {
    say: vi.fn(() => Promise.resolve()),
    cancel: vi.fn(() => Promise.resolve()),
    again: vi.fn<(turn: Turn) => Promise<void>>(() => Promise.resolve()),
    contentOf: vi.fn<TaskRequests["contentOf"]>(() => Promise.resolve({ attachments: [], lost: [] })),
  };
  let now = 10_000;
  const port = {
    context: () => ({ activeFile: "file:///w/a.ts" }),
    mentions: vi.fn((query: string): Promise<readonly Mention[]> =>
      Promise.resolve([
        { icon: "file", label: `${query}.ts`, detail: "", attachment: () => Promise.resolve({ kind: "file", uri: `file:///w/${query}.ts` }) },
      ]),
    ),
    dropped: () => Promise.resolve({ attachments: [], others: 1 }),
    run: vi.fn(),
    open: vi.fn(),
    copy: vi.fn(),
    focused: vi.fn(),
    log: vi.fn(),
    refused: vi.fn(),
    now: () => now,
    changed: () => undefined,
  } satisfies Port;
  const controller = new ConversationController({ ...parts, tasks: tasks as unknown as TaskRequests }, port);
  const posted: ToPage[] = [];
  const show = (): void => controller.show({ post: (message) => void posted.push(message) });
  const say = async (message: FromPage): Promise<void> => {
    controller.receive({ v: 1, ...message });
    await vi.advanceTimersByTimeAsync(REPAINT_MS);
  };
  return {
    ...parts,
    read,
    serverModels,
    tasks,
    port,
    controller,
    show,
    say,
    /** Messages of one type since the last look. */
    sent: <T extends ToPage["type"]>(type: T) => {
      const found = posted.filter((message): message is Sent<T> => message.type === type);
      posted.length = 0;
      return found;
    },
    pass: async (ms: number) => {
      now += ms;
      await vi.advanceTimersByTimeAsync(Math.max(ms, REPAINT_MS));
    },
    begin: (rev = 1) => {
      store.turn(turn(rev));
    },
    delta: (rev: number, delta: string, over = {}) =>
      store.message({ sessionId: "s", turnId: "t", rev, itemId: "m", role: "assistant", delta, incomplete: false, ...over }),
  };
}

describe("the conversation view", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  it("reads earlier pages where the page asks for them, and leaves them for the newest when a message is sent", async () => {
    const it = open();
    const task = (n: number) => ({
      kind: "turn" as const,
      sessionId: "s",
      turnId: `t${n}`,
      rev: n,
      phase: { kind: "started" as const, text: `Task ${n}` },
    });
    it.store.opened({ sessionId: "s", tools: [], subagents: [], transcript: [task(5)], earlier: "0" });
    it.store.turn(task(5));
    it.show();
    await it.say({ type: "ready" });
    expect(it.sent("state")[0]?.state.beyond.earlier).toBe("more");
    for (const n of [4, 3, 2]) {
      it.read.mockResolvedValueOnce({ transcript: [task(n)], earlier: String(n) });
      await it.say({ type: "page", direction: "earlier" });
    }
    expect(it.read.mock.calls.map(([, end]) => end)).toEqual([{ beforeTurn: "t5" }, { before: "4" }, { before: "3" }]);
    expect(it.sent("turns").map(({ order, items }) => [order, items.length])).toEqual([
      [["t4", "t5"], 1],
      [["t3", "t4", "t5"], 1],
      [["t2", "t3"], 1],
    ]);
    await it.say({ type: "send", text: "Go on", context: false, queue: false });
    expect(it.sent("turns")).toMatchObject([{ fresh: true, order: ["t5"] }]);
  });

  it("gets everything when it says that it is ready, and again when it is shown anew", async () => {
    const it = open();
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    expect(it.sent("turns")).toMatchObject([{ fresh: true, order: ["t"], items: [{ kind: "user", text: "Fix it" }] }]);
    it.controller.show(undefined);
    it.delta(2, "Hel");
    await it.pass(0);
    expect(it.sent("turns")).toEqual([]);
    it.show();
    await it.say({ type: "ready" });
    expect(it.sent("turns")[0]?.items).toMatchObject([{ kind: "user" }, { kind: "text", text: "Hel", streaming: true }]);
  });

  it("offers a fork of a session that can only be read, and of no other one", async () => {
    const it = open();
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    expect(it.sent("state")[0]?.state).toMatchObject({ readOnly: "", banners: [] });
    const readOnly = { reason: "openElsewhere", ...said("Open in another window") } as const;
    it.store.opened({ sessionId: "s", tools: [], subagents: [], transcript: [], readOnly, turn: turn(2) });
    await it.pass(0);
    const [sent] = it.sent("state");
    expect(sent?.state.readOnly).toContain("another window");
    expect(sent?.state.banners).toMatchObject([{ severity: "info", actions: [{ label: "Fork Session", command: "cairn.forkSession" }] }]);
    await it.say({ type: "command", name: "cairn.forkSession" });
    expect(it.port.run).toHaveBeenCalledWith("cairn.forkSession");
  });

  it("copies a message of the user, and all text of a turn from its end", async () => {
    const it = open();
    it.begin();
    it.delta(2, "", { text: "In **two** places.\n" });
    it.delta(3, "", { itemId: "n", text: "Both are fixed." });
    const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0 };
    it.store.turn(turn(4, { phase: { kind: "ended", reason: "completed", summary: "", openItems: 0, usage } }));
    it.show();
    await it.say({ type: "ready" });
    const items = it.sent("turns")[0]?.items ?? [];
    const idOf = (kind: string): string => items.find((item) => item.kind === kind)?.id ?? "";
    expect(items.at(-1)).toMatchObject({ kind: "end", copies: true });
    await it.say({ type: "copy", id: idOf("end") });
    await it.say({ type: "copy", id: idOf("user") });
    await it.say({ type: "copy", id: "nothing" });
    expect(it.port.copy.mock.calls).toEqual([["In **two** places.\n\nBoth are fixed."], ["Fix it"]]);
  });

  it("gets pieces of a stream as pieces, a few times a second", async () => {
    const it = open();
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    it.delta(2, "Hel");
    await it.pass(0);
    it.sent("turns");
    for (let n = 0; n < 100; n += 1) {
      it.delta(3 + n, "x");
    }
    await it.pass(0);
    expect(it.sent("turns")).toMatchObject([{ items: [], grown: [{ delta: "x".repeat(100) }] }]);
    it.delta(200, "", { text: `Hel${"x".repeat(100)}` });
    await it.pass(0);
    expect(it.sent("turns")).toMatchObject([{ grown: [], items: [{ streaming: false }] }]);
  });

  it("shows only the session in view", async () => {
    const it = open();
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    it.sent("turns");
    it.store.message({ sessionId: "other", turnId: "o", rev: 1, itemId: "m", role: "assistant", delta: "x", incomplete: false });
    await it.pass(0);
    expect(it.sent("turns")).toEqual([]);
    const other = turn(1, { sessionId: "other", turnId: "o" });
    it.store.turn(other);
    await it.pass(0);
    expect(it.sent("turns")).toMatchObject([{ fresh: true, order: ["o"] }]);
  });

  it("asks for a new session after New Task, and goes on in the session in view else", async () => {
    const it = open();
    it.begin();
    it.store.turn(
      turn(2, {
        phase: { kind: "ended", reason: "completed", summary: "", openItems: 0, usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0 } },
      }),
    );
    it.show();
    await it.say({ type: "ready" });
    await it.say({ type: "send", text: "And then?", context: true, queue: false });
    expect(it.tasks.say).toHaveBeenLastCalledWith("And then?", "s", { activeFile: "file:///w/a.ts" }, false, []);
    it.controller.begin();
    expect(it.sent("focus")).toHaveLength(1);
    await it.say({ type: "send", text: "Something else", context: false, queue: true });
    expect(it.tasks.say).toHaveBeenLastCalledWith("Something else", undefined, {}, true, []);
    expect(it.memory.history).toEqual(["And then?", "Something else"]);
  });

  it("gets the words back that did not arrive", async () => {
    const it = open();
    it.show();
    await it.say({ type: "ready" });
    it.tasks.say.mockRejectedValueOnce(new Error("The daemon is not running."));
    await it.say({ type: "send", text: "Fix it", context: false, queue: false });
    expect(it.sent("failed")).toMatchObject([{ text: "Fix it", reason: "The daemon is not running." }]);
    expect([it.memory.draft(""), it.memory.history]).toEqual(["Fix it", []]);
    expect(it.port.refused).toHaveBeenCalledWith(expect.any(Error));
  });

  it("sends attachments with the words or alone, and has them again if they did not arrive", async () => {
    const it = open();
    it.show();
    await it.say({ type: "ready" });
    await it.say({ type: "send", text: " \n", context: false, queue: false });
    expect(it.tasks.say).not.toHaveBeenCalled();
    await it.say({ type: "attachText", text: "a\nb" });
    expect(it.sent("state").at(-1)?.state.chips).toMatchObject([{ label: "Pasted text (2 lines)", expands: true }]);
    it.tasks.say.mockRejectedValueOnce(new Error("No."));
    await it.say({ type: "send", text: "", context: false, queue: false });
    const pasted = { kind: "text", name: "Pasted text (2 lines)", text: "a\nb" };
    expect(it.tasks.say).toHaveBeenLastCalledWith("", undefined, {}, false, [pasted]);
    await it.say({ type: "send", text: "Look", context: false, queue: false });
    expect(it.tasks.say).toHaveBeenLastCalledWith("Look", undefined, {}, false, [pasted]);
    expect(it.sent("state").at(-1)?.state.chips).toEqual([]);
  });

  it("attaches again what was sent with a message, and names what is not there any more", async () => {
    const it = open();
    it.show();
    await it.say({ type: "ready" });
    const attachments: Attachment[] = [
      { kind: "image", name: "shot.png" },
      { kind: "text", name: "Pasted" },
    ];
    const began = turn(1, { phase: { kind: "started", text: "Look", attachments } });
    it.store.turn(began);
    const shot: Attachment = { kind: "image", name: "shot.png", data: "iVBORw0KGgo=" };
    it.tasks.contentOf.mockResolvedValueOnce({ attachments: [shot], lost: [{ kind: "text", name: "Pasted" }] });
    await it.say({ type: "resend", id: "user:t" });
    expect(it.tasks.contentOf).toHaveBeenCalledWith("s", "t", attachments);
    expect(it.sent("refused")).toMatchObject([{ reason: "Pasted is no longer there, so it was not attached again." }]);
    it.tasks.contentOf.mockRejectedValueOnce(new Error("The disk is full."));
    await it.say({ type: "resend", id: "user:t" });
    expect(it.sent("refused")).toMatchObject([{ reason: "The attachments of the message could not be read: The disk is full." }]);
    await it.say({ type: "send", text: "Look closer", context: false, queue: false });
    expect(it.tasks.say).toHaveBeenLastCalledWith("Look closer", "s", {}, false, [shot]);
  });

  it("tries a task again with what was attached to it, and gives its words back if that fails", async () => {
    const it = open();
    it.show();
    await it.say({ type: "ready" });
    it.begin();
    const end = { kind: "ended", reason: "failed", summary: "", openItems: 0, usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0 } } as const;
    it.store.turn(turn(2, { phase: end }));
    await it.say({ type: "again", turn: "t" });
    expect(it.tasks.again).toHaveBeenLastCalledWith(expect.objectContaining({ sessionId: "s", turnId: "t", text: "Fix it" }));
    expect(it.sent("failed")).toEqual([]);
    it.tasks.again.mockRejectedValueOnce(new Error("shot.png is no longer there."));
    await it.say({ type: "again", turn: "t" });
    expect(it.sent("failed")).toMatchObject([{ text: "Fix it", reason: "shot.png is no longer there." }]);
  });

  it("puts a pasted text into the box again", async () => {
    const it = open();
    it.show();
    await it.say({ type: "ready" });
    await it.say({ type: "attachText", text: "a\nb" });
    const [chip] = it.sent("state").at(-1)?.state.chips ?? [];
    await it.say({ type: "expand", id: chip?.id ?? "" });
    expect(it.sent("insert")).toMatchObject([{ text: "a\nb" }]);
    expect(it.memory.attachments("")).toEqual([]);
  });

  it("answers the newest mention only, and attaches what is chosen from it", async () => {
    const it = open();
    it.show();
    await it.say({ type: "ready" });
    let late: (rows: readonly Mention[]) => void = () => undefined;
    it.port.mentions.mockReturnValueOnce(new Promise((resolve) => (late = resolve)));
    await it.say({ type: "mention", id: 1, query: "c" });
    await it.say({ type: "mention", id: 2, query: "cart" });
    late([]);
    await it.pass(0);
    expect(it.sent("mentions")).toMatchObject([{ id: 2, rows: [{ label: "cart.ts" }] }]);
    await it.say({ type: "choose", id: 1, row: 0 });
    expect(it.sent("state")).toEqual([]);
    await it.say({ type: "choose", id: 2, row: 0 });
    expect(it.sent("state").at(-1)?.state.chips).toMatchObject([{ icon: "file", label: "cart.ts" }]);
  });

  it("says plainly what cannot be attached", async () => {
    const it = open();
    it.show();
    await it.say({ type: "ready" });
    const failing = { icon: "git-commit", label: "Git Changes", detail: "", attachment: () => Promise.reject(new Error("Git is off")) };
    const empty = { ...failing, label: "Problems", attachment: () => Promise.resolve(undefined) };
    it.port.mentions.mockResolvedValueOnce([failing, empty]);
    await it.say({ type: "mention", id: 1, query: "" });
    await it.say({ type: "choose", id: 1, row: 0 });
    await it.say({ type: "choose", id: 1, row: 1 });
    await it.say({ type: "choose", id: 1, row: 2 });
    expect(it.sent("refused").map(({ reason }) => reason)).toEqual([
      "Git Changes cannot be attached: Git is off",
      "Problems: there is nothing to attach.",
    ]);
    it.port.mentions.mockRejectedValueOnce(new Error("no search"));
    await it.say({ type: "mention", id: 2, query: "x" });
    expect(it.sent("mentions")).toMatchObject([{ id: 2, rows: [] }]);
    await it.say({ type: "attachFiles", addresses: ["file:///elsewhere"] });
    expect(it.sent("refused")).toMatchObject([{ reason: "Only files and folders of the workspace can be attached." }]);
  });

  it("opens with a text and attachments from a menu, and sends nothing", async () => {
    const it = open();
    const file = { kind: "file", uri: "file:///w/a.ts", name: "a.ts" } as const;
    it.controller.begin("Explain a.ts.", [file]);
    it.show();
    await it.say({ type: "ready" });
    expect(it.sent("draft")).toMatchObject([{ session: "", text: "Explain a.ts." }]);
    it.controller.begin("Fix b.ts.", [{ ...file, uri: "file:///w/b.ts", name: "b.ts" }]);
    await it.pass(0);
    // What the user has written stays above it.
    expect(it.sent("insert")).toMatchObject([{ text: "\nFix b.ts." }]);
    it.controller.begin("", [{ ...file, uri: "file:///w/c.ts", name: "c.ts" }]);
    const state = it.sent("state").at(-1)?.state;
    expect(state?.chips.map(({ label }) => label)).toEqual(["a.ts", "b.ts", "c.ts"]);
    // The active file is among them, and so not offered a second time.
    expect(state?.chip).toBeUndefined();
    expect(it.tasks.say).not.toHaveBeenCalled();
  });

  it("shows what the agent was told when asked to, also after it is shown anew", async () => {
    const it = open();
    it.show();
    await it.say({ type: "ready" });
    it.controller.showReminders(true);
    await it.say({ type: "ready" });
    expect(it.sent("reminders").map(({ shown }) => shown)).toEqual([false, true, true]);
  });

  it("keeps the focus for a page that is not there yet", async () => {
    const it = open();
    it.controller.focus();
    it.show();
    await it.say({ type: "ready" });
    expect(it.sent("focus")).toHaveLength(1);
  });

  it("leads to a call of the plan, in an earlier part of the conversation as well", async () => {
    const it = open();
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    const call = { sessionId: "s", callId: "c" };
    const tool = { ...call, turnId: "t", rev: 9, name: "bash", title: said("Run npm test"), state: "done" } as const;
    it.controller.focus(call);
    expect(it.sent("show")).toEqual([]);
    it.store.tool(tool);
    it.controller.focus(call);
    await vi.waitFor(() => expect(it.sent("show")).toMatchObject([{ id: "tool:s/c" }]));
  });

  it("restores the files from before a message, or before the next task that changed some", async () => {
    const it = open();
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    const [message] = it.sent("turns").at(-1)?.items ?? [];
    expect(message?.kind).toBe("user");
    it.store.turn({ ...turn(2), turnId: "t2", phase: { kind: "started", text: "More" } });
    await it.say({ type: "restore", id: message?.id ?? "" });
    expect(it.port.run).toHaveBeenCalledExactlyOnceWith("cairn.restoreCheckpoint", ["t", "t2"]);
    const checkpoint = (turnId: string) => ({ sessionId: "s", turnId, task: "", files: ["a"] });
    expect(firstOf([checkpoint("t3"), checkpoint("t2"), checkpoint("t0")], ["t", "t2", "t3"])).toEqual([checkpoint("t2")]);
    expect(firstOf([checkpoint("t0")], ["t"])).toBeUndefined();
    expect(firstOf([checkpoint("t0")], undefined)).toBeUndefined();
  });

  it("stays with a new conversation while a session that was left goes on", async () => {
    const it = open();
    it.begin();
    const ended = {
      kind: "ended" as const,
      reason: "completed" as const,
      summary: "",
      openItems: 0,
      usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0 },
    };
    it.store.opened({ sessionId: "o", tools: [], subagents: [], transcript: [], turn: { sessionId: "o", turnId: "to", rev: 2, phase: ended } });
    it.show();
    await it.say({ type: "ready" });
    it.controller.begin();
    it.store.tool({ sessionId: "s", turnId: "t", rev: 9, callId: "c", name: "bash", title: said("Run"), state: "running" });
    await it.pass(0);
    expect(it.sent("state").at(-1)?.state).toMatchObject({ session: "", back: true });
    it.store.opened({ sessionId: "o", tools: [], subagents: [], transcript: [], turn: { sessionId: "o", turnId: "to", rev: 2, phase: ended } });
    await it.pass(0);
    expect(it.sent("state").at(-1)?.state.session).toBe("o");
  });

  it("offers what can be done in the folder, in the mode and with the open file before it begins", async () => {
    const it = open();
    const state = async () => {
      it.controller.contextChanged();
      await it.pass(REPAINT_MS);
      return it.sent("state").at(-1)?.state;
    };
    const start = async () => (await state())?.start;
    it.show();
    await it.say({ type: "ready" });
    expect(it.sent("state").at(-1)?.state.start).toEqual({
      text: "The agent shows its plan as it works. Edits land as proposals; you decide at any time.",
      examples: ["Explain this project", "Find out why the tests fail, and fix it", "Write tests for the open file"],
      setup: undefined,
    });
    Object.assign(it.port, { context: () => ({}) });
    expect((await start())?.examples).toEqual(["Explain this project", "Find out why the tests fail, and fix it"]);
    it.store.link({ kind: "running", version: "1" });
    it.store.status({
      rev: 1,
      banners: [{ kind: "untrusted", ...said("") }],
      model: { provider: "none", name: "" },
    } as unknown as StatusNotification);
    const untrusted = await state();
    expect(untrusted?.start).toEqual({
      text: "Cairn reads this folder and answers questions. Trust the folder to let it work.",
      examples: ["Explain this project"],
      setup: { text: expect.any(String) as string, actions: expect.any(Array) as unknown[] },
    });
    expect(untrusted?.mode.name).toBe("Read-only");
  });

  it("says that there is no model, and offers the servers of this machine that have some", async () => {
    const it = open();
    const setup = async () => {
      it.controller.contextChanged();
      await it.pass(REPAINT_MS);
      return it.sent("state").at(-1)?.state.start.setup;
    };
    it.show();
    await it.say({ type: "ready" });
    expect(await setup()).toBeUndefined();
    it.store.link({ kind: "running", version: "1" });
    it.store.status({ rev: 1, banners: [], model: { provider: "none", name: "" } } as unknown as StatusNotification);
    expect((await setup())?.actions.map(({ label }) => label)).toEqual(["Choose Model…", "Try the Demo"]);
    it.serverModels.mockImplementation(({ name }) =>
      Promise.resolve({ origin: "", models: [{ name: "a" }, { name: "b" }], ...(name !== "Ollama" && { problem: said("refused") }) }),
    );
    await it.servers.look();
    const [use, choose] = (await setup())?.actions ?? [];
    expect([use?.label, choose?.label]).toEqual(["Use Ollama (2 models)", "Choose Model…"]);
    await it.say({ type: "server", address: use?.server ?? "" });
    expect(it.port.run).toHaveBeenCalledExactlyOnceWith("cairn.chooseModel", "http://127.0.0.1:11434/v1");
    it.store.status({ rev: 2, banners: [], model: { provider: "openai", name: "a" } } as unknown as StatusNotification);
    expect(await setup()).toBeUndefined();
  });

  it("names other sessions that run, wait or have follow-ups, with the way to them", async () => {
    const it = open();
    const other = { ...turn(1), sessionId: "o", turnId: "to", phase: { kind: "started" as const, text: "Say hello" } };
    it.store.turn(other);
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    const banners = () =>
      it
        .sent("state")
        .at(-1)
        ?.state.banners.map(({ text, actions }) => [text, actions[0]?.session]);
    expect(banners()).toEqual([["“Say hello” is running.", "o"]]);
    it.store.queue({ sessionId: "o", rev: 1, held: true, items: [{ id: "f", text: "And then" }] });
    it.store.queue({ sessionId: "s", rev: 1, held: true, items: [{ id: "g", text: "Mine" }] });
    await it.pass(0);
    expect(banners()).toEqual([["“Say hello” has a follow-up in its queue.", "o"]]);
    void it.asking.approve({ ...approval, sessionId: "o", turnId: "to" });
    await it.pass(0);
    const states = it.sent("state");
    expect(states.at(-1)?.state.banners.map(({ text }) => text)).toEqual(["“Say hello” waits for you."]);
    expect(states.at(-1)?.state.cards).toEqual([]);
    await it.say({ type: "openSession", id: "o" });
    expect(it.port.run).toHaveBeenCalledExactlyOnceWith("cairn.openSession", "o");
  });

  it("shows the edits that a call waits for, at most forty lines of each file", async () => {
    const it = open();
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    const start = { line: 2, character: 0 };
    const hunk = { id: "1", sessionId: "s", turnId: "t", range: { start, end: start }, mixed: false, outdated: false };
    const text = Array.from({ length: 50 }, (_, index) => `line ${index}\u202e`).join("\n");
    it.store.review({
      uri: "file:///w/a",
      path: "a",
      rev: 3,
      kind: "edited",
      waiting: true,
      hunks: [
        { ...hunk, oldText: "", newText: "", removedLines: 1, addedLines: 0 },
        { ...hunk, id: "2", oldText: "", newText: text, removedLines: 0, addedLines: 50 },
      ],
    });
    await it.pass(0);
    const [card] = it.sent("state").at(-1)?.state.decisions ?? [];
    expect(card).toMatchObject({ id: "file:///w/a", question: "Change a?", added: 50, removed: 1, more: 11, rev: 3 });
    expect(card?.lines.slice(0, 2)).toEqual([
      { sign: "−", text: "" },
      { sign: "+", text: "line 0\\u{202e}" },
    ]);
    expect(card?.lines).toHaveLength(40);
  });

  it("takes an answer only for a question that was in sight for a moment", async () => {
    const it = open();
    it.begin();
    it.show();
    await it.say({ type: "ready" });
    const first = it.asking.approve(approval);
    const second = it.asking.approve({ ...approval, approvalId: "b", callId: "d" });
    await it.pass(0);
    expect(it.sent("state").at(-1)?.state.cards).toMatchObject([{ id: "a", command: "rm -rf build\\u{202e}" }, { id: "b" }]);
    await it.pass(300);
    await it.say({ type: "approve", id: "a", decision: "allowOnce", words: "", shownForMs: 300 });
    // Neither a page that says so nor our own clock alone is enough.
    await it.say({ type: "approve", id: "a", decision: "allowOnce", words: "", shownForMs: 5_000 });
    await it.pass(500);
    await it.say({ type: "approve", id: "a", decision: "allowOnce", words: "", shownForMs: 100 });
    expect(it.store.approvals.waiting).toHaveLength(2);
    await it.say({ type: "approve", id: "a", decision: "allowOnce", words: "Go.", shownForMs: 800 });
    expect(await first).toEqual({ decision: "allowOnce", feedback: "Go." });
    // The second card moved up when the first one went.
    await it.pass(400);
    await it.say({ type: "approve", id: "b", decision: "allowOnce", words: "", shownForMs: 1_200 });
    expect(it.store.approvals.waiting).toHaveLength(1);
    await it.pass(400);
    await it.say({ type: "approve", id: "b", decision: "deny", words: "", shownForMs: 800 });
    expect(await second).toEqual({ decision: "deny" });
  });

  it("does nothing for a message that it does not know", () => {
    const it = open();
    it.show();
    it.controller.receive({ v: 1, type: "command", name: "workbench.action.quit" });
    it.controller.receive("ready");
    expect(it.port.run).not.toHaveBeenCalled();
    expect(it.port.log).toHaveBeenCalledTimes(2);
  });
});
