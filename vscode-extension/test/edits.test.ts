import { beforeEach, describe, expect, it, vi } from "vitest";

import { textHash } from "../src/text/hash";

interface FakeDocument {
  uri: { toString(): string };
  isClosed: boolean;
  isDirty: boolean;
  getText(): string;
}

/** A disk and an editor that does what its workspace edits say. */
const fake = vi.hoisted(() => ({
  files: new Map<string, { text: string; readOnly?: boolean }>(),
  folders: new Set<string>(),
  documents: [] as FakeDocument[],
  edits: [] as string[],
}));

vi.mock("vscode", () => {
  const uri = (text: string) => ({ toString: () => text });
  type Uri = ReturnType<typeof uri>;
  const entry = (at: Uri) => {
    const found = fake.files.get(at.toString());
    if (found === undefined) {
      throw new Error("not found");
    }
    return found;
  };
  class WorkspaceEdit {
    readonly steps: (() => void)[] = [];
    createFile(at: Uri, { contents }: { contents: Uint8Array }): void {
      this.steps.push(() => fake.files.set(at.toString(), { text: new TextDecoder().decode(contents) }));
    }
    deleteFile(at: Uri): void {
      this.steps.push(() => fake.files.delete(at.toString()));
    }
    renameFile(from: Uri, to: Uri): void {
      this.steps.push(() => {
        fake.files.set(to.toString(), entry(from));
        fake.files.delete(from.toString());
      });
    }
  }
  return {
    FilePermission: { Readonly: 1 },
    TabInputText: class {
      readonly uri = undefined;
    },
    Uri: { parse: uri },
    WorkspaceEdit,
    window: { tabGroups: { all: [], onDidChangeTabs: () => ({ dispose: () => undefined }) }, visibleTextEditors: [] },
    workspace: {
      textDocuments: fake.documents,
      applyEdit: (edit: WorkspaceEdit) => {
        fake.edits.push(String(edit.steps.length));
        for (const step of edit.steps) {
          step();
        }
        return Promise.resolve(true);
      },
      fs: {
        stat: (at: Uri) => Promise.resolve().then(() => ({ permissions: entry(at).readOnly === true ? 1 : undefined })),
        readFile: (at: Uri) => Promise.resolve(new TextEncoder().encode(entry(at).text)),
        readDirectory: (at: Uri) => Promise.resolve([...fake.files.keys(), ...fake.folders].filter((name) => name.startsWith(`${at.toString()}/`))),
        delete: (at: Uri) => Promise.resolve(fake.folders.delete(at.toString())),
      },
    },
  };
});

const { EditPort } = await import("../src/edits/applyEdit");

const port = new EditPort();
const A = "file:///ws/new/deep/a";
const B = "file:///ws/b";
const FOLDERS = ["file:///ws/new/deep", "file:///ws/new"];

beforeEach(() => {
  fake.files.clear();
  fake.folders.clear();
  fake.documents.length = 0;
  fake.edits.length = 0;
  fake.files.set(A, { text: "one\n" });
  for (const folder of FOLDERS) {
    fake.folders.add(folder);
  }
});

const remove = (expectedHash: string) => port.apply({ uri: A, label: "", change: { kind: "delete", expectedHash, emptyFolders: FOLDERS } });
const move = (expectedHash: string, to = B) => port.apply({ uri: A, label: "", change: { kind: "rename", to, expectedHash, emptyFolders: FOLDERS } });
const hash = textHash("one\n");

describe("creation, deletion and moves of whole files", () => {
  it("deletes a file and the folders that become empty", async () => {
    expect(await remove(hash)).toEqual({ applied: true, wasDirty: false });
    expect(fake.files.size + fake.folders.size).toBe(0);
  });

  it("keeps folders that are not empty", async () => {
    fake.files.set("file:///ws/new/theirs", { text: "" });
    await remove(hash);
    expect([...fake.folders]).toEqual(["file:///ws/new"]);
  });

  it("moves a file to a free path", async () => {
    expect(await move(hash)).toEqual({ applied: true, wasDirty: false });
    expect([...fake.files.keys()]).toEqual([B]);
    expect(fake.folders.size).toBe(0);
  });

  it("compares with the open document, not with the disk", async () => {
    fake.documents.push({ uri: { toString: () => A }, isClosed: false, isDirty: true, getText: () => "mine\n" });
    expect(await move(hash)).toMatchObject({ applied: false, reason: "stale", wasDirty: true });
    expect(await move(textHash("mine\n"))).toEqual({ applied: true, wasDirty: true });
  });

  it.each([
    ["readOnly", () => fake.files.set(A, { text: "one\n", readOnly: true })],
    ["stale", () => fake.files.set(A, { text: "two\n" })],
    ["closed", () => fake.files.delete(A)],
  ])("refuses what is %s and changes nothing", async (reason, happens) => {
    happens();
    const before = [...fake.files];
    expect(await remove(hash)).toMatchObject({ applied: false, reason });
    expect(await move(hash)).toMatchObject({ applied: false, reason });
    expect([...fake.files]).toEqual(before);
    expect(fake.edits).toEqual([]);
  });

  it("overwrites no existing file", async () => {
    fake.files.set(B, { text: "theirs\n" });
    expect(await move(hash)).toMatchObject({ applied: false, reason: "stale" });
    const create = await port.apply({ uri: B, label: "", change: { kind: "create", text: "new\n" } });
    expect(create).toMatchObject({ applied: false, reason: "stale" });
    expect(fake.files.get(B)?.text).toBe("theirs\n");
  });
});
