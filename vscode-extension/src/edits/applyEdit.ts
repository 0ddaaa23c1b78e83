import * as vscode from "vscode";

import type { ApplyEditParams, ApplyEditResult, FileChange, SaveParams, SaveResult, TextEncoding } from "../protocol";
import { textHash } from "../text/hash";
import { canHold, decode } from "./encoding";
import { changedEndings } from "./endings";
import { KeyedQueue } from "./queue";
import { exists, isReadOnly, move, openDocument, refused, remove } from "./wholeFile";

type TextChange = Extract<FileChange, { kind: "edit" }>;

/**
 * Applies the daemon's edits to open documents: all of one or nothing, as one undo step, without moving the focus. A
 * file that is not open is refused as `closed`, for the daemon to change on disk: saved by VS Code, it could be
 * formatted and trimmed, with one kind of line ending. So is an open one that a save would change; VS Code loads it
 * again. Only the active document can be saved as it is. Edits of one document wait for each other.
 */
export class EditPort {
  readonly #queue = new KeyedQueue();

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
            return await edit(target, change, encoding);
          case "create":
            return refused("closed");
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

async function edit(uri: vscode.Uri, change: TextChange, encoding: TextEncoding | undefined): Promise<ApplyEditResult> {
  const document = openDocument(uri);
  if (document === undefined) {
    return refused(hasUnsavedCells(uri) ? "notebook" : "closed");
  }
  const isSavedElsewhere = !isActive(document) && changesOnSave(document);
  if (!document.isDirty && (isSavedElsewhere || !(await exists(uri)) || !(await showsFile(document, encoding)))) {
    return refused("closed");
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
  if (change.expectedVersion !== undefined && document.version !== change.expectedVersion) {
    return refused("stale", wasDirty);
  }
  if (textHash(document.getText()) !== change.expectedHash) {
    return refused("stale", wasDirty);
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
  if (wasDirty) {
    await warnOfEndings(document, encoding);
  } else if (savesEdits(document)) {
    const failure = await save(document);
    if (failure !== undefined) {
      return { applied: true, message: `Not saved: ${failure}`, wasDirty };
    }
  }
  return { applied: true, wasDirty };
}

/** True for the document of the active tab. The view of all edits is a tab of several documents, which are saved together. */
function isActive(document: vscode.TextDocument): boolean {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const uri = input instanceof vscode.TabInputTextDiff ? input.modified : input instanceof vscode.TabInputText ? input.uri : undefined;
  return uri?.toString() === document.uri.toString() && vscode.window.activeTextEditor?.document === document;
}

/** True if the settings have a save change other text than that of an edit. */
function changesOnSave(document: vscode.TextDocument): boolean {
  const editor = vscode.workspace.getConfiguration("editor", document);
  const files = vscode.workspace.getConfiguration("files", document);
  const actions = Object.values(editor.get<Record<string, unknown>>("codeActionsOnSave") ?? {});
  return (
    editor.get("formatOnSave") === true ||
    actions.some((when) => when !== "never" && when !== false) ||
    ["trimTrailingWhitespace", "insertFinalNewline", "trimFinalNewlines"].some((name) => files.get(name) === true)
  );
}

/** True if the text is that of the file. VS Code shows one kind of line ending where a file has two, and would save that. */
async function showsFile(document: vscode.TextDocument, encoding: TextEncoding | undefined): Promise<boolean> {
  return decode(await vscode.workspace.fs.readFile(document.uri), encoding) === document.getText();
}

const warned = new WeakSet<vscode.TextDocument>();

/** Says, once for each document, that its next save changes lines that the review does not show. */
async function warnOfEndings(document: vscode.TextDocument, encoding: TextEncoding | undefined): Promise<void> {
  if (warned.has(document) || !(await exists(document.uri))) {
    return;
  }
  const file = decode(await vscode.workspace.fs.readFile(document.uri), encoding);
  const count = changedEndings(file, document.eol === vscode.EndOfLine.CRLF ? "\r\n" : "\n");
  if (count > 0) {
    warned.add(document);
    const path = vscode.workspace.asRelativePath(document.uri);
    const words = vscode.l10n.t(
      "{0} has several kinds of line endings, and VS Code writes one. Your next save changes endings beside the agent's edits: {1}.",
      path,
      count,
    );
    void vscode.window.showWarningMessage(words);
  }
}

/** True if the agent's edits of a document without unsaved text are saved at once, before VS Code saves them. */
function savesEdits(document: vscode.TextDocument): boolean {
  return vscode.workspace.getConfiguration("cairn.review", document).get("saveAtTurnEnd") === true;
}

/** True for a notebook whose next save would write over a change of its file. */
function hasUnsavedCells(uri: vscode.Uri): boolean {
  return vscode.workspace.notebookDocuments.some((notebook) => notebook.isDirty && notebook.uri.toString() === uri.toString());
}

/** The reason it could not be saved, for the log of the daemon; `undefined` when it is on disk. */
async function save(document: vscode.TextDocument | undefined): Promise<string | undefined> {
  if (document?.isDirty !== true) {
    return undefined;
  }
  try {
    if (isActive(document)) {
      await vscode.commands.executeCommand("workbench.action.files.saveWithoutFormatting");
      return undefined;
    }
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
