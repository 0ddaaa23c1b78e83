import { describe, expect, it, vi } from "vitest";

import type { EndReason, SessionSnapshot, TurnNotification } from "../src/protocol";
import { Notices } from "../src/status/notices";
import { settings, statusMessages, window } from "./vscode";
import { said } from "./entries";
import { TestStore } from "./testStore";

// Notifications with buttons need the client of the daemon, which runs in VS Code only.
const offered = vi.hoisted(() => [] as string[]);
vi.mock("../src/status/offer", () => ({
  offerActions: (_: unknown, message: string) => {
    offered.push(message);
    return Promise.resolve();
  },
}));

it("a notification says that a long task is done, while the user looks at another window", () => {
  const store = new TestStore();
  const view = { visible: true, onDidHide: () => ({ dispose: () => undefined }) };
  new Notices(store, view);
  let rev = 0;
  const end = (elapsedMs: number, reason: EndReason = "completed"): string[] => {
    const turnId = `t${rev}`;
    const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
    const spent = { elapsedMs, usage };
    store.turn({ sessionId: "s", turnId, rev: ++rev, phase: { kind: "started", text: "Fix the cart" } });
    store.turn({ sessionId: "s", turnId, rev: ++rev, phase: { kind: "ended", reason, summary: "It is right.", openItems: 0, usage, spent } });
    return offered.splice(0);
  };
  expect(end(61_000)).toEqual([]);
  window.state.focused = false;
  expect(end(61_000)).toEqual(["Cairn: It is right."]);
  expect([end(59_000), end(61_000, "cancelled"), statusMessages.splice(0)]).toEqual([[], [], []]);
  settings.set("cairn.notify.done", false);
  view.visible = false;
  expect([end(61_000), statusMessages.splice(0)]).toEqual([[], ["Cairn: It is right."]]);
  settings.clear();
  window.state.focused = true;
});

it("the status bar says that a task is done, while the conversation is out of sight", () => {
  const store = new TestStore();
  const view = { visible: false, onDidHide: () => ({ dispose: () => undefined }) };
  new Notices(store, view);
  let rev = 0;
  const end = (summary: string, reason: EndReason = "completed"): string[] => {
    const turnId = `t${rev}`;
    const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
    store.turn({ sessionId: "s", turnId, rev: ++rev, phase: { kind: "started", text: "Fix the cart" } });
    store.turn({ sessionId: "s", turnId, rev: ++rev, phase: { kind: "ended", reason, summary, openItems: 0, usage } });
    return statusMessages.splice(0);
  };
  expect(end("The **total** is right.\n\nMore.")).toEqual(["Cairn: The total is right."]);
  expect(end("")).toEqual(["Cairn: the task is done."]);
  expect(end("Stopped.", "cancelled")).toEqual([]);
  view.visible = true;
  expect(end("Seen.")).toEqual([]);
});

const nobody = { visible: false, onDidHide: () => ({ dispose: () => undefined }) };

it("a banner has one notification for its text", () => {
  const store = new TestStore();
  new Notices(store, nobody);
  const model = { provider: "replay", name: "sample", replay: true };
  const tell = (rev: number, setting: string): void => {
    const banner = { kind: "setting", ...said("There is no setting {setting}.", { setting }, "setting_unknown") } as const;
    store.status({ rev, model, connection: { kind: "idle" }, banners: [banner] });
  };
  store.link({ kind: "running", version: "1" });
  tell(1, "one");
  tell(2, "one");
  tell(3, "two");
  expect(offered.splice(0)).toEqual(["There is no setting one.", "There is no setting two."]);
});

describe("a task that ran when its daemon ended", () => {
  const ids = { sessionId: "s", turnId: "t1" };
  const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
  const after = (...sessions: SessionSnapshot[]): string[] => {
    const store = new TestStore();
    new Notices(store, nobody);
    store.turn({ ...ids, rev: 1, phase: { kind: "started", text: "Fix the cart" } });
    store.link({ kind: "failed", message: "gone" });
    store.connected(...sessions);
    return offered.splice(0);
  };
  const session = (reason: EndReason): SessionSnapshot => {
    const turn: TurnNotification = { ...ids, rev: 2, phase: { kind: "ended", reason, summary: "", openItems: 1, usage } };
    return { sessionId: "s", task: "Fix the cart", turn, tools: [], subagents: [], transcript: [] };
  };

  it("has a notification if its session is lost, and if the next daemon can continue it", () => {
    expect(after()).toEqual(["“Fix the cart” was interrupted: the daemon ended. What it had changed is still there."]);
    expect(after(session("interrupted"))).toEqual([
      "“Fix the cart” was interrupted: the daemon ended. Its plan, its conversation and what it had changed are still there.",
    ]);
  });

  it("has none if it came to its end in the last moment", () => {
    expect(after(session("completed"))).toEqual([]);
  });
});
