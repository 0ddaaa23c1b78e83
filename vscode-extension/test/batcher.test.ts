import { describe, expect, it } from "vitest";
import type { Uri } from "vscode";

import { PlanTree } from "../src/plan/tree";
import type { Hunk, ReviewNotification } from "../src/protocol";
import { FileBadges } from "../src/review/badges";
import { reviewContext } from "../src/review/context";
import { HunkLenses } from "../src/review/lenses";
import { HunkDecorations } from "../src/review/hunkDecorations";
import { EditsTree } from "../src/review/tree";
import { RemovedZones } from "../src/review/zones";
import { EditsItem } from "../src/status/editsItem";
import { Batcher } from "../src/stores/batcher";
import { FakeEditor, desk, drawn } from "./vscode";
import type { Memory } from "../src/stores/mode";
import { TestStore } from "./testStore";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await turn();
  }
}

describe("a batch", () => {
  const delivered: number[][] = [];
  const batcher = new Batcher<number>((news) => delivered.push([...news]));
  const taken = (): number[][] => delivered.splice(0);

  it("is delivered once, although each message arrives in its own turn of the event loop", async () => {
    for (let message = 0; message < 100; message++) {
      batcher.add(message);
      await turn();
    }
    expect(taken()).toEqual([]);
    await turns(10);
    expect(taken()).toEqual([Array.from({ length: 100 }, (_, message) => message)]);
  });

  it("of one message is delivered within a few turns of the event loop", async () => {
    batcher.add(1);
    await turns(10);
    batcher.add(2);
    await turns(10);
    expect(taken()).toEqual([[1], [2]]);
  });

  it("that does not end is delivered in parts", async () => {
    for (let message = 0; taken().length === 0; message++) {
      expect(message).toBeLessThan(10_000_000);
      batcher.add(message);
      await turn();
    }
  });

  it("can be flushed, and then delivers nothing twice", async () => {
    batcher.flush();
    taken();
    batcher.add(1);
    batcher.flush();
    expect(taken()).toEqual([[1]]);
    await turns(10);
    expect(taken()).toEqual([]);
  });
});

describe("reports about a hundred files at once", () => {
  const hunk = (line: number): Hunk => ({
    id: String(line),
    sessionId: "s",
    turnId: "t",
    range: { start: { line, character: 0 }, end: { line: line + 1, character: 0 } },
    oldText: "old",
    newText: "new",
    removedLines: 1,
    addedLines: 1,
    mixed: false,
    outdated: false,
  });
  const memory: Memory = { get: () => undefined, update: () => undefined };

  /** Drawn items for proposals in so many files, and after all of them are accepted. */
  async function drawnFor(files: number): Promise<{ proposed: string[]; accepted: string[]; painted: number }> {
    const store = new TestStore();
    const editor = new FakeEditor("file:///w/0");
    desk.editors = [editor];
    new EditsTree(store, memory);
    new PlanTree(store);
    new FileBadges(store);
    new HunkLenses(store);
    new HunkDecorations(store, "ext" as unknown as Uri);
    new RemovedZones(store);
    new EditsItem(store);
    reviewContext(store);
    const batcher = new Batcher<ReviewNotification>((news) => store.review(...news));
    let rev = 0;
    const tell = async (hunks: Hunk[]): Promise<string[]> => {
      drawn.length = 0;
      for (let file = 0; file < files; file++) {
        rev += 1;
        batcher.add({ uri: `file:///w/${file}`, path: String(file), rev, version: 1, kind: "edited", hunks });
        await turn();
      }
      await turns(10);
      return [...drawn];
    };
    const proposed = await tell([hunk(1), hunk(5)]);
    const accepted = await tell([]);
    return { proposed, accepted, painted: editor.resets.length };
  }

  it("render as often as a report about one file", async () => {
    const counted = ({ proposed, accepted, painted }: Awaited<ReturnType<typeof drawnFor>>): string[][] =>
      [proposed, accepted, [`painted ${painted}`]].map((lines) => lines.map((line) => line.replaceAll(/\d+/g, "N").replaceAll("edits", "edit")));
    const one = await drawnFor(1);
    const hundred = await drawnFor(100);
    expect(counted(hundred)).toEqual(counted(one));
    expect(one.accepted.filter((line) => line === "event").length).toBe(2);
    expect(one.accepted.filter((line) => line === "decorations off").length).toBe(1);
    expect(hundred.proposed.filter((line) => line.startsWith("cairn.status.edits"))).toEqual(["cairn.status.edits $(diff) 200 edits to review"]);
  });

  it("collapse a long list of files", () => {
    const opened = (files: number): unknown[] => {
      const store = new TestStore();
      const tree = new EditsTree(store, memory);
      store.review(
        ...Array.from({ length: files }, (_, file): ReviewNotification => ({
          uri: `file:///w/${file}`,
          path: String(file),
          rev: file + 1,
          version: 1,
          kind: "edited",
          hunks: [hunk(1)],
        })),
      );
      return [...new Set(tree.getChildren().map((row) => row.kind === "file" && row.opened))];
    };
    expect([opened(1), opened(20), opened(21)]).toEqual([[true], [true], [false]]);
  });
});
