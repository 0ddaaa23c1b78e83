import { expect, it, vi } from "vitest";

import type { EndReason } from "../src/protocol";
import { Notices } from "../src/status/notices";
import { ModeStore } from "../src/stores/mode";
import { ReviewStore } from "../src/stores/review";
import { SessionStore } from "../src/stores/session";
import { StatusStore } from "../src/stores/status";
import { settings, statusMessages, window } from "./vscode";

// Notifications with buttons need the client of the daemon, which runs in VS Code only.
const offered = vi.hoisted(() => [] as string[]);
vi.mock("../src/status/offer", () => ({
  offerActions: (_: unknown, message: string) => {
    offered.push(message);
    return Promise.resolve();
  },
}));

it("a notification says that a long task is done, while the user looks at another window", () => {
  const sessions = new SessionStore();
  const modes = new ModeStore({ get: () => undefined, update: () => undefined }, () => "review");
  const view = { visible: true, onDidHide: () => ({ dispose: () => undefined }) };
  new Notices(new StatusStore(), sessions, modes, new ReviewStore(), view);
  let rev = 0;
  const end = (elapsedMs: number, reason: EndReason = "completed"): string[] => {
    const turnId = `t${rev}`;
    const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
    const spent = { elapsedMs, usage };
    sessions.update({ sessionId: "s", turnId, rev: ++rev, phase: { kind: "started", text: "Fix the cart" } });
    sessions.update({ sessionId: "s", turnId, rev: ++rev, phase: { kind: "ended", reason, summary: "It is right.", openItems: 0, usage, spent } });
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
  const sessions = new SessionStore();
  const modes = new ModeStore({ get: () => undefined, update: () => undefined }, () => "review");
  const view = { visible: false, onDidHide: () => ({ dispose: () => undefined }) };
  new Notices(new StatusStore(), sessions, modes, new ReviewStore(), view);
  let rev = 0;
  const end = (summary: string, reason: EndReason = "completed"): string[] => {
    const turnId = `t${rev}`;
    const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
    sessions.update({ sessionId: "s", turnId, rev: ++rev, phase: { kind: "started", text: "Fix the cart" } });
    sessions.update({ sessionId: "s", turnId, rev: ++rev, phase: { kind: "ended", reason, summary, openItems: 0, usage } });
    return statusMessages.splice(0);
  };
  expect(end("The **total** is right.\n\nMore.")).toEqual(["Cairn: The total is right."]);
  expect(end("")).toEqual(["Cairn: the task is done."]);
  expect(end("Stopped.", "cancelled")).toEqual([]);
  view.visible = true;
  expect(end("Seen.")).toEqual([]);
});
