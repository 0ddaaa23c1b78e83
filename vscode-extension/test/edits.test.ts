import { beforeEach, describe, expect, it, vi } from "vitest";

import { textHash } from "../src/text/hash";

interface FakeDocument {
  uri: { toString(): string };
  isClosed: boolean;
  isDirty: boolean;
  getText(): string;
}

/** A disk, and an editor with an undo history. */
const fake = vi.hoisted(() => ({
  files: new Map<string, { text: string; readOnly?: boolean }>(),
  folders: new Set<string>(),
  documents: [] as FakeDocument[],
  notebooks: [] as FakeDocument[],
  undoSteps: 0,
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
  const rename = (from: Uri, to: Uri) => {
    fake.files.set(to.toString(), entry(from));
    fake.files.delete(from.toString());
  };
  class WorkspaceEdit {
    readonly steps: (() => void)[] = [];
    renameFile(from: Uri, to: Uri): void {
      this.steps.push(() => rename(from, to));
    }
  }
  return {
    FilePermission: { Readonly: 1 },
    TabInputText: class {
      readonly uri = undefined;
    },
    Uri: { parse: uri },
    WorkspaceEdit,
    window: { tabGroups: { all: [], close: () => Promise.resolve(true) }, visibleTextEditors: [] },
    workspace: {
      textDocuments: fake.documents,
      notebookDocuments: fake.notebooks,
      applyEdit: (edit: WorkspaceEdit) => {
        fake.undoSteps += 1;
        for (const step of edit.steps) {
          step();
        }
        return Promise.resolve(true);
      },
      fs: {
        stat: (at: Uri) => Promise.resolve().then(() => ({ permissions: entry(at).readOnly === true ? 1 : undefined })),
        readFile: (at: Uri) => Promise.resolve(new TextEncoder().encode(entry(at).text)),
        readDirectory: (at: Uri) => Promise.resolve([...fake.files.keys(), ...fake.folders].filter((name) => name.startsWith(`${at.toString()}/`))),
        delete: (at: Uri) => Promise.resolve(fake.files.delete(at.toString()) || fake.folders.delete(at.toString())),
        rename: (from: Uri, to: Uri) => Promise.resolve(rename(from, to)),
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
  fake.notebooks.length = 0;
  fake.undoSteps = 0;
  fake.files.set(A, { text: "one\n" });
  for (const folder of FOLDERS) {
    fake.folders.add(folder);
  }
});

const remove = (expectedHash: string) => port.apply({ uri: A, label: "", change: { kind: "delete", expectedHash, emptyFolders: FOLDERS } });
const move = (expectedHash: string, to = B) => port.apply({ uri: A, label: "", change: { kind: "rename", to, expectedHash, emptyFolders: FOLDERS } });
const hash = textHash("one\n");

describe("changes of whole files and of files that are not open", () => {
  it("deletes a file and the folders that become empty", async () => {
    expect(await remove(hash)).toEqual({ applied: true, wasDirty: false });
    expect(fake.files.size + fake.folders.size).toBe(0);
    expect(fake.undoSteps).toBe(0);
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
    expect(fake.undoSteps).toBe(0);
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
  });

  it("overwrites no existing file", async () => {
    fake.files.set(B, { text: "theirs\n" });
    expect(await move(hash)).toMatchObject({ applied: false, reason: "stale" });
    expect(fake.files.get(B)?.text).toBe("theirs\n");
  });

  it("leaves a file that is not open to the daemon", async () => {
    const edit = { kind: "edit" as const, expectedHash: hash, edits: [] };
    expect(await port.apply({ uri: A, label: "", change: edit })).toMatchObject({ applied: false, reason: "closed" });
    expect(await port.apply({ uri: B, label: "", change: { kind: "create", text: "new\n" } })).toMatchObject({ applied: false, reason: "closed" });
    expect([fake.files.get(A)?.text, fake.files.has(B)]).toEqual(["one\n", false]);
  });

  it("refuses the file of a notebook with unsaved cells, which a save would write over the edit", async () => {
    const notebook = { uri: { toString: () => A }, isClosed: false, isDirty: true, getText: () => "" };
    fake.notebooks.push(notebook);
    const edit = () => port.apply({ uri: A, label: "", change: { kind: "edit", expectedHash: hash, edits: [] } });
    expect(await edit()).toMatchObject({ reason: "notebook" });
    notebook.isDirty = false;
    expect(await edit()).toMatchObject({ reason: "closed" });
  });
});
