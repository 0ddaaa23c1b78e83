import { describe, expect, it, vi } from "vitest";

import { decideFile } from "../src/conversation/edits";
import type { Hunk, ReviewNotification } from "../src/protocol";
import { TestStore } from "./testStore";

const uri = "file:///w/a";

function hunk(id: string, turnId: string): Hunk {
  const at = { line: 0, character: 0 };
  const none = { oldText: "", newText: "", removedLines: 0, addedLines: 1, mixed: false, outdated: false };
  return { ...none, id, sessionId: "s", turnId, range: { start: at, end: at } };
}

function open(file: Partial<ReviewNotification>): { act: (action: "open" | "accept" | "reject", rev?: number) => void; run: unknown; open: unknown } {
  const store = new TestStore();
  store.review({ uri, path: "a", rev: 4, kind: "edited", hunks: [], ...file });
  const port = { run: vi.fn(), open: vi.fn() };
  return { ...port, act: (action, rev = 4) => decideFile(store.reviews, port, { type: "edit", action, uri, turn: "t", rev, words: "" }) };
}

/** Rejects all edits of the file with a reason. */
function decide(hunks: Hunk[]) {
  const store = new TestStore();
  store.review({ uri, path: "a", rev: 4, kind: "edited", hunks });
  const port = { run: vi.fn(), open: vi.fn() };
  decideFile(store.reviews, port, { type: "edit", action: "reject", uri, turn: "", rev: 4, words: "Too long." });
  return port;
}

describe("the row of an edited file", () => {
  it("opens the first edit of its turn, the text of a deleted file, or else the file", () => {
    const edited = open({ hunks: [hunk("1", "earlier"), hunk("2", "t"), hunk("3", "t")] });
    edited.act("open");
    expect(edited.run).toHaveBeenCalledExactlyOnceWith("cairn.revealHunk", { uri, hunkId: "2", focus: true });
    const deleted = open({ kind: "deleted", hunks: [hunk("1", "t")] });
    deleted.act("open");
    expect(deleted.run).toHaveBeenCalledExactlyOnceWith("cairn.openDeleted", { uri });
    const decided = open({});
    decided.act("open");
    expect(decided.open).toHaveBeenCalledExactlyOnceWith(uri);
  });

  it("decides only edits of its turn, as they were seen", () => {
    const others = open({ hunks: [hunk("1", "earlier"), hunk("2", "t")] });
    others.act("reject");
    const seen = { placed: [{ hunk: hunk("2", "t"), ordinal: 2, file: expect.objectContaining({ rev: 4 }) as unknown }] };
    expect(others.run).toHaveBeenCalledExactlyOnceWith("cairn.rejectPlanItem", seen);
    const changed = open({ hunks: [hunk("2", "t")] });
    changed.act("accept", 3);
    const older = { placed: [expect.objectContaining({ file: expect.objectContaining({ rev: 3 }) as unknown }) as unknown] };
    expect(changed.run).toHaveBeenCalledExactlyOnceWith("cairn.acceptPlanItem", older);
  });

  it("decides the edits of all turns for a card, and takes the reason along", () => {
    const { run } = decide([hunk("1", "earlier"), hunk("2", "t")]);
    const ids = expect.objectContaining({ hunk: hunk("1", "earlier") }) as unknown;
    const both = [ids, expect.objectContaining({ hunk: hunk("2", "t") })];
    expect(run).toHaveBeenCalledExactlyOnceWith("cairn.rejectPlanItem", { placed: both, feedback: "Too long." });
  });

  it("decides nothing where nothing waits", () => {
    const it = open({});
    it.act("accept");
    expect(it.run).not.toHaveBeenCalled();
  });
});
