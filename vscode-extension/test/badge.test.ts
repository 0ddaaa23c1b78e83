import { expect, it } from "vitest";

import { PlanTree } from "../src/plan/tree";
import { FileBadges } from "../src/review/badges";
import type { Hunk } from "../src/protocol";
import { ApprovalStore } from "../src/stores/approval";
import { ModeStore } from "../src/stores/mode";
import { PlanStore } from "../src/stores/plan";
import { QuestionStore } from "../src/stores/questions";
import { QueueStore } from "../src/stores/queue";
import { ReviewStore } from "../src/stores/review";
import { SessionStore } from "../src/stores/session";
import { ProcessStore } from "../src/stores/processes";
import { SubagentStore } from "../src/stores/subagents";
import { drawn, git } from "./vscode";
import { type Approval } from "../src/text/approval";

it("the badge of the plan counts open questions and edits, not open steps", () => {
  const approvals = new ApprovalStore();
  const plans = new PlanStore();
  const sessions = new SessionStore();
  const modes = new ModeStore({ get: () => undefined, update: () => undefined }, () => "review");
  new PlanTree({
    plans,
    sessions,
    approvals,
    reviews: new ReviewStore(),
    modes,
    queue: new QueueStore(),
    questions: new QuestionStore(),
    subagents: new SubagentStore(),
    processes: new ProcessStore(),
  });
  const badge = (): string | undefined => drawn.findLast((line) => line.startsWith("badge cairn.plan"));

  const open = { files: [], commands: [], blockedBy: [], blocked: false, calls: 0, elapsedMs: 0, activeForm: "", status: "pending" } as const;
  const items = ["1", "2"].map((id) => ({ ...open, id, content: id, files: [], commands: [], blockedBy: [] }));
  plans.update({ sessionId: "s", turnId: "t", rev: 1, panel: "expanded", items, completed: 0, total: 2, dropped: [] });
  expect(badge()).toBe("badge cairn.plan none");

  const params = { approvalId: "a", sessionId: "s", turnId: "t", callId: "c", title: "Run", command: "ls", cwd: "/", reason: "", rules: [] };
  void approvals.ask(params as unknown as Approval);
  expect(badge()).toBe("badge cairn.plan 1");
  approvals.withdraw("a");
  expect(badge()).toBe("badge cairn.plan none");

  const reviews = new ReviewStore();
  const decide = new PlanTree({
    plans,
    sessions,
    approvals,
    reviews,
    modes,
    queue: new QueueStore(),
    questions: new QuestionStore(),
    subagents: new SubagentStore(),
    processes: new ProcessStore(),
  });
  const file = { uri: "file:///w/a.md", path: "a.md", rev: 1, kind: "edited", hunks: [{ id: "1" } as Hunk] } as const;
  reviews.update({ ...file, hunks: [...file.hunks], waiting: true });
  expect([badge(), decide.getChildren()[0]?.kind]).toEqual(["badge cairn.plan 1", "decide"]);
  reviews.update({ ...file, rev: 2, hunks: [] });
  expect([badge(), decide.getChildren()[0]?.kind]).toEqual(["badge cairn.plan none", "root"]);

  const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
  sessions.update({ sessionId: "s", turnId: "t", rev: 2, phase: { kind: "ended", reason: "needsInput", summary: "Which?", openItems: 2, usage } });
  expect(badge()).toBe("badge cairn.plan 1");
});

it("the colour of files with edits is registered after Git's, which VS Code would prefer otherwise", async () => {
  const reviews = new ReviewStore();
  const badges = new FileBadges(reviews);
  await Promise.resolve();
  await Promise.resolve();
  const news = (): string[] => drawn.splice(0).filter((line) => line.startsWith("decorations"));
  git.opened();
  expect(news()).toEqual([]);
  const file = { uri: "file:///w/a.md", path: "a.md", rev: 1, kind: "edited", hunks: [{ id: "1" } as Hunk] } as const;
  reviews.update({ ...file, hunks: [...file.hunks] });
  expect(news()).toEqual(["decorations on"]);
  git.opened();
  expect(news()).toEqual(["decorations off", "decorations on"]);
  reviews.update({ ...file, rev: 2, hunks: [] });
  expect(news()).toEqual(["decorations off"]);
  badges.dispose();
});
