import * as vscode from "vscode";

import type { ApplyEditParams, ApplyEditResult, FileChange, SaveParams, SaveResult, TextEncoding } from "../protocol";
import { textHash } from "../text/hash";
import { canHold, open } from "./encoding";
import { KeyedQueue } from "./queue";
import { StrayTabs, hasTab } from "./strayTabs";
import { create, isReadOnly, move, openDocument, refused, remove } from "./wholeFile";

type TextChange = Extract<FileChange, { kind: "edit" }>;

/**
 * Applies the daemon's edits through the editor: all of one or nothing, as one undo step, without
 * opening a tab or moving the focus. Edits of one document wait for each other.
 */
export class EditPort implements vscode.Disposable {
  readonly #queue = new KeyedQueue();
  readonly #strayTabs = new StrayTabs(this.#queue);

  dispose(): void {
    this.#strayTabs.dispose();
  }

  /** True while the agent's edits of a document are on their way into its text. */
  isApplying(uri: vscode.Uri): boolean {
    return this.#queue.isBusy(uri.toString());
  }

  apply({ uri, change, encoding }: ApplyEditParams): Promise<ApplyEditResult> {
    const target = vscode.Uri.parse(uri, true);
    return this.#queue.run(target.toString(), async () => {
      try {
        switch (change.kind) {
          case "edit":
            return await edit(target, change, encoding, this.#strayTabs);
          case "create":
            return await create(target, change.text, encoding);
          case "delete":
            return await remove(target, change, encoding);
          case "rename":
            return await move(target, change, encoding);
        }
      } catch (error) {
        return refused("failed", false, wordsOf(error));
      }
    });
  }

  async save({ uris }: SaveParams): Promise<SaveResult> {
    const results = await Promise.all(
      uris.map((uri) => {
        const target = vscode.Uri.parse(uri, true);
        return this.#queue.run(target.toString(), async () => ({ uri, reason: await save(openDocument(target)) }));
      }),
    );
    return { failed: results.flatMap(({ uri, reason }) => (reason === undefined ? [] : [{ uri, reason }])) };
  }
}

async function edit(uri: vscode.Uri, change: TextChange, encoding: TextEncoding | undefined, strayTabs: StrayTabs): Promise<ApplyEditResult> {
  const wasOpen = openDocument(uri) !== undefined;
  let document: vscode.TextDocument;
  try {
    document = await open(uri, wasOpen ? undefined : encoding);
  } catch (error) {
    const reason = wasOpen || encoding === undefined ? "closed" : "failed";
    return refused(reason, false, wordsOf(error));
  }
  if (!(await canHold(document, change.edits.map(({ newText }) => newText).join("\n")))) {
    return refused("encoding", document.isDirty);
  }
  if (await isReadOnly(uri)) {
    return refused("readOnly", document.isDirty);
  }
  // From here to `applyEdit` nothing may wait: a key in between would have the edit applied to a text
  // that it was not made for.
  const wasDirty = document.isDirty;
  if (change.expectedVersion !== undefined && wasOpen && document.version !== change.expectedVersion) {
    return refused("stale", wasDirty);
  }
  if (textHash(document.getText()) !== change.expectedHash) {
    return refused("stale", wasDirty);
  }
  const wasVisible = vscode.window.visibleTextEditors.some((editor) => editor.document === document);
  if (!wasDirty && !wasVisible && !hasTab(uri)) {
    strayTabs.expect(uri);
  }
  const { version } = document;
  const workspaceEdit = new vscode.WorkspaceEdit();
  // The daemon sends fewer pieces than the thousand from which on VS Code replaces the whole text.
  for (const { range, newText } of change.edits) {
    workspaceEdit.replace(uri, toRange(range), newText);
  }
  if (!(await vscode.workspace.applyEdit(workspaceEdit))) {
    // The user typed at that moment, or the editor gave no reason.
    return refused(document.version === version ? "failed" : "stale", wasDirty);
  }
  if (!wasDirty && !wasVisible) {
    // Unsaved, it would get a tab of its own, and a command would read the old text.
    const failure = await save(document);
    if (failure !== undefined) {
      return { applied: true, message: `Not saved: ${failure}`, wasDirty };
    }
  }
  return { applied: true, wasDirty };
}

/** The reason it could not be saved, for the log of the daemon; `undefined` when it is on disk. */
async function save(document: vscode.TextDocument | undefined): Promise<string | undefined> {
  if (document?.isDirty !== true) {
    return undefined;
  }
  try {
    return (await document.save()) ? undefined : "The editor did not save it.";
  } catch (error) {
    return wordsOf(error);
  }
}

/** The editor's own words about a failure. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function toRange({ start, end }: TextChange["edits"][number]["range"]): vscode.Range {
  return new vscode.Range(start.line, start.character, end.line, end.character);
}
