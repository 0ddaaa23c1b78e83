import * as vscode from "vscode";

import type { ApplyEditResult, FileChange, RefusedEdit, TextEncoding } from "../protocol";
import { textHash } from "../text/hash";
import { decode } from "./encoding";

type Deletion = Extract<FileChange, { kind: "delete" }>;
type Move = Extract<FileChange, { kind: "rename" }>;

/** Outside of the editor's undo history: Ctrl+Z brings back no file that the agent deleted, which is for *Undo* to do. */
export async function remove(uri: vscode.Uri, change: Deletion, encoding?: TextEncoding): Promise<ApplyEditResult> {
  const { refusal, wasDirty } = await check(uri, change.expectedHash, encoding);
  if (refusal !== undefined) {
    return refusal;
  }
  await vscode.workspace.fs.delete(uri);
  // A tab with unsaved text stays, so that the text does.
  await vscode.window.tabGroups.close(
    tabsOf(uri).filter((tab) => !tab.isDirty),
    true,
  );
  await removeEmpty(change.emptyFolders);
  return { applied: true, wasDirty };
}

/** Moves a file. Tabs and permissions go along. */
export async function move(uri: vscode.Uri, change: Move, encoding?: TextEncoding): Promise<ApplyEditResult> {
  const { refusal, wasDirty } = await check(uri, change.expectedHash, encoding);
  if (refusal !== undefined) {
    return refusal;
  }
  const target = vscode.Uri.parse(change.to, true);
  if (await exists(target)) {
    return refused("stale", wasDirty);
  }
  if (wasDirty) {
    // Only the editor's own rename takes unsaved text along. It is a step of the undo history.
    const workspaceEdit = new vscode.WorkspaceEdit();
    workspaceEdit.renameFile(uri, target, { overwrite: false });
    if (!(await vscode.workspace.applyEdit(workspaceEdit))) {
      return refused("failed", wasDirty);
    }
  } else {
    await vscode.workspace.fs.rename(uri, target, { overwrite: false });
  }
  await removeEmpty(change.emptyFolders);
  return { applied: true, wasDirty };
}

export function openDocument(uri: vscode.Uri): vscode.TextDocument | undefined {
  const key = uri.toString();
  return vscode.workspace.textDocuments.find((document) => !document.isClosed && document.uri.toString() === key);
}

function tabsOf(uri: vscode.Uri): vscode.Tab[] {
  const key = uri.toString();
  const isOf = ({ input }: vscode.Tab): boolean => input instanceof vscode.TabInputText && input.uri.toString() === key;
  return vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.filter(isOf));
}

export async function isReadOnly(uri: vscode.Uri): Promise<boolean> {
  if (!(await exists(uri))) {
    return false;
  }
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

export async function exists(uri: vscode.Uri): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(uri);
    return true;
  } catch {
    return false;
  }
}
