import { expect, it, vi } from "vitest";

import type { EndReason } from "../src/protocol";
import { Notices } from "../src/status/notices";
import { ModeStore } from "../src/stores/mode";
import { ReviewStore } from "../src/stores/review";
import { SessionStore } from "../src/stores/session";
import { StatusStore } from "../src/stores/status";
import { statusMessages } from "./vscode";

// Notifications with buttons need the client of the daemon, which runs in VS Code only.
vi.mock("../src/status/offer", () => ({ offerActions: () => Promise.resolve() }));

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
