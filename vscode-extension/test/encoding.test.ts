import { beforeEach, describe, expect, it, vi } from "vitest";

import { textHash } from "../src/text/hash";

const GBK = { name: "gbk", bom: false };
const URI = "file:///ws/a.txt";
/** `你好` in GBK. */
const BYTES = new Uint8Array([0xc4, 0xe3, 0xba, 0xc3]);
const TEXT = "你好";

/** A disk with one file, and what the editor was asked to do. */
const fake = vi.hoisted(() => ({
  documents: [] as unknown[],
  workspace: {},
  edits: 0,
  deleted: 0,
  saved: 0,
}));

vi.mock("vscode", () => {
  class WorkspaceEdit {
    replace(): void {
      fake.edits += 1;
    }
  }
  class Empty {
    readonly uri = undefined;
  }
  return {
    FilePermission: { Readonly: 1 },
    Range: Empty,
    TabInputText: Empty,
    TabInputTextDiff: Empty,
    TextEdit: Empty,
    Uri: { parse: (text: string) => ({ toString: () => text }) },
    WorkspaceEdit,
    window: { tabGroups: { all: [], close: () => Promise.resolve(true), activeTabGroup: {} } },
    workspace: fake.workspace,
  };
});

const { EditPort } = await import("../src/edits/applyEdit");
const port = new EditPort();

/** A document as VS Code would make it of the file, in an encoding. */
function document(encoding: string) {
  let dirty = false;
  const made = {
    uri: { toString: () => URI },
    encoding,
    isClosed: false,
    version: 1,
    get isDirty() {
      return dirty;
    },
    getText: () => new TextDecoder(encoding === "gbk" ? "gbk" : "utf-8").decode(BYTES),
    save: () => {
      fake.saved += 1;
      dirty = false;
      return Promise.resolve(true);
    },
  };
  return made;
}

function install(modern: boolean): void {
  for (const key of Object.keys(fake.workspace)) {
    Reflect.deleteProperty(fake.workspace, key);
  }
  Object.assign(fake.workspace, {
    textDocuments: fake.documents,
    applyEdit: () => Promise.resolve(true),
    getConfiguration: () => ({ get: () => undefined }),
    fs: {
      delete: () => Promise.resolve((fake.deleted += 1)),
      stat: () => Promise.resolve({}),
      readFile: () => Promise.resolve(BYTES),
    },
  });
  if (modern) {
    Object.assign(fake.workspace, {
      // Of the characters outside GBK, as iconv-lite has it: a question mark.
      encode: (text: string) => Promise.resolve(new TextEncoder().encode(text.replace("😀", "?"))),
      decode: (bytes: Uint8Array) => Promise.resolve(new TextDecoder().decode(bytes)),
    });
  }
}

beforeEach(() => {
  fake.documents.length = 0;
  fake.edits = 0;
  fake.deleted = 0;
  fake.saved = 0;
});

const edit = (newText: string, expectedHash = textHash(TEXT)) =>
  port.apply({
    uri: URI,
    label: "",
    encoding: GBK,
    change: {
      kind: "edit",
      expectedHash,
      edits: [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, newText }],
    },
  });

describe("files that are not UTF-8", () => {
  it("does not change a file that the user opened in another encoding", async () => {
    install(true);
    fake.documents.push(document("utf8"));
    expect(await edit("x")).toMatchObject({ applied: false, reason: "closed" });
    expect([fake.edits, fake.saved]).toEqual([0, 0]);
  });

  it("refuses a character that the encoding lacks", async () => {
    install(true);
    fake.documents.push(document("gbk"));
    expect(await edit("😀")).toMatchObject({ applied: false, reason: "encoding" });
    expect(fake.edits).toBe(0);
  });

  it("reads the text of a closed file before its deletion", async () => {
    install(false);
    const change = { kind: "delete", expectedHash: textHash(TEXT) } as const;
    expect(await port.apply({ uri: URI, label: "", encoding: GBK, change })).toMatchObject({ applied: true });
    expect(await port.apply({ uri: URI, label: "", change })).toMatchObject({ reason: "stale" });
    expect(fake.deleted).toBe(1);
  });
});
