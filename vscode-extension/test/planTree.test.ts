import { beforeEach, describe, expect, it } from "vitest";

import type { Row } from "../src/plan/rows";
import { PlanTree } from "../src/plan/tree";
import type { ItemStatus, PlanItem, PlanNotification } from "../src/protocol";
import { drawn, revealed, view } from "./vscode";
import { TestStore } from "./testStore";

function setUp() {
  const store = new TestStore();
  const tree = new PlanTree(store);
  store.turn({ sessionId: "s", turnId: "t", rev: 1, phase: { kind: "started", text: "Fix the cart" } });
  return { store, tree };
}

function plan(rev: number, ...statuses: ItemStatus[]): PlanNotification {
  const items = statuses.map((status, index): PlanItem => {
    const work = { files: [], commands: [], blockedBy: [], blocked: false, calls: 0, elapsedMs: 0 };
    return { ...work, id: `${index}`, content: `Step ${index}`, activeForm: "", status };
  });
  const completed = statuses.filter((status) => status === "completed").length;
  return { sessionId: "s", turnId: "t", rev, panel: "expanded", items, completed, total: items.length, dropped: [] };
}

/** VS Code asks for the rows, and for those in a root that is open. */
function draw(tree: PlanTree, isOpen = true): void {
  const roots = tree.getChildren().filter((row) => row.kind === "root");
  roots.filter(() => isOpen).forEach((root) => tree.getChildren(root));
}

const shown = (): string[] => (revealed as Row[]).map((row) => (row.kind === "item" ? row.item.content : row.kind));

describe("the plan view", () => {
  beforeEach(() => {
    revealed.length = 0;
    view.visible = true;
  });

  it("has VS Code lay it out when it appears", () => {
    setUp();
    drawn.length = 0;
    view.show({ visible: false });
    expect(drawn).toEqual([]);
    view.show({ visible: true });
    expect(drawn).toEqual(["message cairn.plan "]);
  });

  it("brings the running step into view, once", async () => {
    const { store, tree } = setUp();
    store.plan(plan(1, "inProgress", "pending"));
    await Promise.resolve();
    store.plan(plan(2, "completed", "inProgress"));
    draw(tree);
    store.plan(plan(3, "completed", "inProgress"));
    draw(tree);
    await Promise.resolve();
    expect(shown()).toEqual(["root", "Step 1"]);
  });

  it("leaves a folded plan folded, even if VS Code does not report it", () => {
    const { store, tree } = setUp();
    store.plan(plan(1, "inProgress", "pending"));
    draw(tree, false);
    store.plan(plan(2, "completed", "inProgress"));
    draw(tree, false);
    expect(shown()).toEqual(["root"]);
  });

  it("shows a process under its step, and below a plan that is folded", () => {
    const { store, tree } = setUp();
    const phase = { kind: "running", stopping: false } as const;
    const process = { id: 1, command: "npm start", planItem: "0", input: true, terminal: false, startedAt: 0, phase, written: 0, tail: "" };
    store.processes({ sessionId: "s", rev: 1, processes: [process] });
    const rows = (): string[] => {
      const of = (row: Row): string[] => [
        row.kind,
        ...tree
          .getChildren(row)
          .flatMap(of)
          .map((kind) => `  ${kind}`),
      ];
      return tree.getChildren().flatMap(of);
    };
    expect(rows()).toEqual(["turn", "process"]);
    store.plan(plan(2, "inProgress", "pending"));
    expect(rows()).toEqual(["root", "  item", "    process", "  item"]);
    // The plan of an earlier turn is folded while the next one runs.
    store.plan({ ...plan(3, "inProgress", "pending"), panel: "collapsed" });
    expect(rows()).toEqual(["root", "  item", "  item", "process"]);
  });

  it("takes no other view's place", () => {
    view.visible = false;
    const { store, tree } = setUp();
    store.plan(plan(1, "inProgress", "pending"));
    store.plan(plan(2, "completed", "inProgress"));
    draw(tree);
    expect(shown()).toEqual([]);
  });

  it("stays where it is while the user is in it", () => {
    const { store, tree } = setUp();
    store.plan(plan(1, "inProgress", "pending"));
    view.select({ selection: [] });
    store.plan(plan(2, "completed", "inProgress"));
    draw(tree);
    expect(shown()).toEqual(["root"]);
  });

  it("names the root after the task", () => {
    const { store, tree } = setUp();
    store.plan(plan(1, "inProgress", "pending"));
    const [root] = tree.getChildren();
    expect(root?.kind === "root" && tree.getTreeItem(root).label).toBe("Fix the cart");
  });
});
