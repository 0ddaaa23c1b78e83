import * as vscode from "vscode";

import type { DraftStore } from "../stores/drafts";
import { label } from "../text/display";
import { withLineBreaks } from "../text/paste";

/** Language of documents in which a task or a reply is written. */
export const PROMPT_LANGUAGE = "cairn-prompt";

export interface Question {
  /** Purpose of the text: a new task, or a session. The draft is stored under it. */
  readonly purpose: string;
  readonly title: string;
  readonly placeHolder: string;
  /** Offered instead of the draft. */
  readonly value?: string;
}

/** Text to send, or text that the user continues in an editor, where it can have several lines. */
export type Written = { readonly kind: "text"; readonly text: string } | { readonly kind: "document"; readonly text: string };

/**
 * Asks for a text in a box of one line. The text is stored as a draft until it is sent. Text of
 * several lines that is pasted opens in an editor, because the box would join its lines.
 */
export async function write(drafts: DraftStore, { purpose, title, placeHolder, value }: Question): Promise<Written | undefined> {
  const box = vscode.window.createInputBox();
  const edit: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("edit"), tooltip: vscode.l10n.t("Write in an Editor") };
  const recent: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("history"), tooltip: vscode.l10n.t("Use an Earlier Text") };
  box.title = title;
  box.placeholder = placeHolder;
  box.value = value ?? drafts.of(purpose);
  box.valueSelection = [0, box.value.length];
  box.buttons = drafts.history.length === 0 ? [edit] : [recent, edit];
  box.ignoreFocusOut = true;
  const written = await new Promise<Written | "recent" | undefined>((resolve) => {
    let before = box.value;
    box.onDidChangeValue(async (next) => {
      const grown = next.length - before.length;
      before = next;
      drafts.keep(purpose, next);
      const pasted = grown > 1 ? withLineBreaks(next, await vscode.env.clipboard.readText()) : undefined;
      if (pasted !== undefined) {
        resolve({ kind: "document", text: pasted });
      }
    });
    box.onDidTriggerButton((button) => resolve(button === edit ? { kind: "document", text: box.value } : "recent"));
    box.onDidAccept(() => {
      if (box.value.trim() !== "") {
        resolve({ kind: "text", text: box.value.trim() });
      }
    });
    box.onDidHide(() => resolve(undefined));
    box.show();
  });
  box.dispose();
  if (written !== "recent") {
    return written;
  }
  const earlier = await pickEarlier(drafts.history);
  return await write(drafts, { purpose, title, placeHolder, ...(earlier === undefined ? {} : { value: earlier }) });
}

/** Opens a document in which the text can have several lines. */
export async function openPrompt(text: string): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument({ language: PROMPT_LANGUAGE, content: text });
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  const end = document.lineAt(document.lineCount - 1).range.end;
  editor.selection = new vscode.Selection(end, end);
  return document;
}

async function pickEarlier(history: readonly string[]): Promise<string | undefined> {
  const rows = history.map((text) => ({ label: label(text, 120), text }));
  const picked = await vscode.window.showQuickPick(rows, { title: vscode.l10n.t("Earlier Texts"), ignoreFocusOut: true });
  return picked?.text;
}
