import * as vscode from "vscode";

import type { ApplyEditResult, FileChange, RefusedEdit, TextEncoding } from "../protocol";
import { textHash } from "../text/hash";
import { decode, encode } from "./encoding";

type Deletion = Extract<FileChange, { kind: "delete" }>;
type Move = Extract<FileChange, { kind: "rename" }>;

export async function create(uri: vscode.Uri, text: string, encoding?: TextEncoding): Promise<ApplyEditResult> {
  if (await exists(uri)) {
    return refused("stale");
  }
  const workspaceEdit = new vscode.WorkspaceEdit();
  workspaceEdit.createFile(uri, { contents: await encode(text, encoding), overwrite: false });
  return (await vscode.workspace.applyEdit(workspaceEdit)) ? { applied: true, wasDirty: false } : refused("failed");
}

export async function remove(uri: vscode.Uri, change: Deletion, encoding?: TextEncoding): Promise<ApplyEditResult> {
  const { refusal, wasDirty } = await check(uri, change.expectedHash, encoding);
  if (refusal !== undefined) {
    return refusal;
  }
  const workspaceEdit = new vscode.WorkspaceEdit();
  workspaceEdit.deleteFile(uri);
  if (!(await vscode.workspace.applyEdit(workspaceEdit))) {
    return refused("failed", wasDirty);
  }
  await removeEmpty(change.emptyFolders);
  return { applied: true, wasDirty };
}

/** By the editor's own rename: tabs, unsaved text and permissions go along. */
export async function move(uri: vscode.Uri, change: Move, encoding?: TextEncoding): Promise<ApplyEditResult> {
  const { refusal, wasDirty } = await check(uri, change.expectedHash, encoding);
  if (refusal !== undefined) {
    return refusal;
  }
  const target = vscode.Uri.parse(change.to, true);
  if (await exists(target)) {
    return refused("stale", wasDirty);
  }
  const workspaceEdit = new vscode.WorkspaceEdit();
  workspaceEdit.renameFile(uri, target, { overwrite: false });
  if (!(await vscode.workspace.applyEdit(workspaceEdit))) {
    return refused("failed", wasDirty);
  }
  await removeEmpty(change.emptyFolders);
  return { applied: true, wasDirty };
}

export function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  const key = uri.toString();
  return vscode.workspace.textDocuments.find((document) => !document.isClosed && document.uri.toString() === key);
}

export async function isReadOnly(uri: vscode.Uri): Promise<boolean> {
  const stat = await vscode.workspace.fs.stat(uri);
  return ((stat.permissions ?? 0) & vscode.FilePermission.Readonly) !== 0;
}

/** A refusal. The daemon has words for each reason; `message` are the editor's own words about a failure. */
export function refused(reason: RefusedEdit, wasDirty = false, message?: string): ApplyEditResult {
  return { applied: false, reason, wasDirty, ...(message === undefined ? {} : { message }) };
}

/** Checks that a file may be changed; the refusal says why not. */
async function check(
  uri: vscode.Uri,
  expectedHash: string,
  encoding: TextEncoding | undefined,
): Promise<{ refusal?: ApplyEditResult; wasDirty: boolean }> {
  const document = openDocument(uri);
  const wasDirty = document?.isDirty ?? false;
  if (!(await exists(uri))) {
    return { refusal: refused("closed", wasDirty), wasDirty };
  }
  const text = document?.getText() ?? decode(await vscode.workspace.fs.readFile(uri), encoding);
  if (textHash(text) !== expectedHash) {
    return { refusal: refused("stale", wasDirty), wasDirty };
  }
  if (await isReadOnly(uri)) {
    return { refusal: refused("readOnly", wasDirty), wasDirty };
  }
  return { wasDirty };
}

/** Innermost first; the first that still holds something ends it. */
async function removeEmpty(folders: readonly string[] = []): Promise<void> {
  for (const folder of folders) {
    const uri = vscode.Uri.parse(folder, true);
    try {
      if ((await vscode.workspace.fs.readDirectory(uri)).length > 0) {
        return;
      }
      await vscode.workspace.fs.delete(uri, { recursive: false });
    } catch {
      // Removed already, or not removable: the change of the file itself is complete.
      return;
    }
  }
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
