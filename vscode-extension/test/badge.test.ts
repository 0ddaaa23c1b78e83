import { expect, it } from "vitest";

import { PlanTree } from "../src/plan/tree";
import { FileBadges } from "../src/review/badges";
import type { Hunk } from "../src/protocol";
import { drawn, git } from "./vscode";
import { type Approval } from "../src/text/approval";
import { Asking } from "../src/stores/approval";
import { TestStore } from "./testStore";

it("the badge of the plan counts open questions and edits, not open steps", () => {
  const store = new TestStore();
  const asking = new Asking(store);
  const tree = new PlanTree(store);
  store.turn({ sessionId: "s", turnId: "t", rev: 1, phase: { kind: "started", text: "Fix it" } });
  const badge = (): string | undefined => drawn.findLast((line) => line.startsWith("badge cairn.plan"));

  const open = { files: [], commands: [], blockedBy: [], blocked: false, calls: 0, elapsedMs: 0, activeForm: "", status: "pending" } as const;
  const items = ["1", "2"].map((id) => ({ ...open, id, content: id, files: [], commands: [], blockedBy: [] }));
  store.plan({ sessionId: "s", turnId: "t", rev: 1, panel: "expanded", items, completed: 0, total: 2, dropped: [] });
  expect(badge()).toBe("badge cairn.plan none");

  const params = { approvalId: "a", sessionId: "s", turnId: "t", callId: "c", title: "Run", command: "ls", cwd: "/", reason: "", rules: [] };
  void asking.approve(params as unknown as Approval);
  expect(badge()).toBe("badge cairn.plan 1");
  asking.withdraw("a");
  expect(badge()).toBe("badge cairn.plan none");

  const file = { uri: "file:///w/a.md", path: "a.md", rev: 1, kind: "edited", hunks: [{ id: "1" } as Hunk] } as const;
  store.review({ ...file, hunks: [...file.hunks], waiting: true });
  expect([badge(), tree.getChildren()[0]?.kind]).toEqual(["badge cairn.plan 1", "root"]);
  store.review({ ...file, rev: 2, hunks: [] });
  expect([badge(), tree.getChildren()[0]?.kind]).toEqual(["badge cairn.plan none", "root"]);

  const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
  store.turn({ sessionId: "s", turnId: "t", rev: 2, phase: { kind: "ended", reason: "needsInput", summary: "Which?", openItems: 2, usage } });
  expect(badge()).toBe("badge cairn.plan 1");
});

it("the colour of files with edits is registered after Git's, which VS Code would prefer otherwise", async () => {
  const store = new TestStore();
  const badges = new FileBadges(store);
  await Promise.resolve();
  await Promise.resolve();
  const news = (): string[] => drawn.splice(0).filter((line) => line.startsWith("decorations"));
  git.opened();
  expect(news()).toEqual([]);
  const file = { uri: "file:///w/a.md", path: "a.md", rev: 1, kind: "edited", hunks: [{ id: "1" } as Hunk] } as const;
  store.review({ ...file, hunks: [...file.hunks] });
  expect(news()).toEqual(["decorations on"]);
  git.opened();
  expect(news()).toEqual(["decorations off", "decorations on"]);
  store.review({ ...file, rev: 2, hunks: [] });
  expect(news()).toEqual(["decorations off"]);
  badges.dispose();
});
