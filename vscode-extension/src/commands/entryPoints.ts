import * as vscode from "vscode";

import { chipLabel } from "../conversation/attachments";
import { dropped, gitChanges, pathOf, selectionOf, terminalSelection } from "../conversation/mentions";
import type { Attachment } from "../protocol";
import { oneLine } from "../text/display";

/** The conversation view, which lets the user look at a message before it is sent. */
interface Composer {
  begin(text: string, attachments: readonly Attachment[]): Promise<void>;
}

/** Longest message of a problem that is quoted, in characters. */
const PROBLEM_CHARS = 300;

/** Commands of menus that open the composer with a text and attachments. They send nothing. */
export class EntryPoints implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly composer: Composer) {
    const on = (command: string, run: (...args: unknown[]) => unknown): vscode.Disposable => vscode.commands.registerCommand(command, run);
    this.#subscriptions = vscode.Disposable.from(
      on("cairn.explain", () => this.#withCode((name) => vscode.l10n.t("Explain {0}.", name))),
      on("cairn.fix", () => this.#withCode((name) => vscode.l10n.t("Find and fix what is wrong in {0}.", name))),
      on("cairn.writeTests", () => this.#withCode((name) => vscode.l10n.t("Write tests for {0}.", name))),
      on("cairn.taskWithSelection", () => this.#withCode(() => "")),
      on("cairn.taskWithFile", (uri, uris) => this.#withFiles(uri, uris)),
      on("cairn.taskWithFolder", (uri, uris) => this.#withFiles(uri, uris)),
      on("cairn.taskWithTerminal", () => this.#withTerminal()),
      on("cairn.taskWithChanges", () => this.#withChanges()),
      on("cairn.fixProblems", (uri, problems) => this.#withProblems(uri as vscode.Uri, problems as readonly vscode.Diagnostic[])),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** The selection, or the whole file without one. */
  async #withCode(text: (name: string) => string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme !== "file") {
      say(vscode.l10n.t("Cairn: there is no file in the active editor."));
      return;
    }
    const { document, selection } = editor;
    const attachment: Attachment = selection.isEmpty
      ? { kind: "file", uri: document.uri.toString(), name: pathOf(document.uri) }
      : selectionOf(document, selection);
    await this.composer.begin(text(chipLabel(attachment)), [attachment]);
  }

  /** Rows of the Explorer: the one of the menu, or all that are selected with it. */
  async #withFiles(uri: unknown, uris: unknown): Promise<void> {
    const chosen = (Array.isArray(uris) && uris.length > 0 ? uris : [uri]).filter((one) => one instanceof vscode.Uri);
    const { attachments } = await dropped(chosen.map(String));
    if (attachments.length === 0) {
      say(vscode.l10n.t("Cairn: only files and folders of the workspace can be attached."));
      return;
    }
    await this.composer.begin("", attachments);
  }

  async #withTerminal(): Promise<void> {
    const selection = await terminalSelection();
    if (selection === undefined) {
      say(vscode.l10n.t("Cairn: there is no selected text in the terminal."));
      return;
    }
    await this.composer.begin("", [selection]);
  }

  async #withChanges(): Promise<void> {
    const changes = await gitChanges();
    if (changes === undefined) {
      say(vscode.l10n.t("Cairn: there are no changes since the last commit."));
      return;
    }
    await this.composer.begin("", [changes]);
  }

  async #withProblems(uri: vscode.Uri, problems: readonly vscode.Diagnostic[]): Promise<void> {
    const document = await vscode.workspace.openTextDocument(uri);
    const attachment = selectionOf(document, linesOf(document, problems));
    await this.composer.begin(problemText(chipLabel(attachment), problems), [attachment]);
  }
}

/** The code action *Fix with Cairn* on problems of a file. */
export class ProblemActions implements vscode.CodeActionProvider {
  static readonly kinds = [vscode.CodeActionKind.QuickFix];

  provideCodeActions({ uri }: vscode.TextDocument, _range: vscode.Range, { diagnostics }: vscode.CodeActionContext): vscode.CodeAction[] {
    if (diagnostics.length === 0 || vscode.workspace.getWorkspaceFolder(uri) === undefined) {
      return [];
    }
    const title = vscode.l10n.t("Fix with Cairn");
    const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
    action.diagnostics = [...diagnostics];
    action.command = { command: "cairn.fixProblems", title, arguments: [uri, diagnostics] };
    return [action];
  }
}

/** Draft about problems at a place of the code. */
export function problemText(name: string, problems: readonly { readonly message: string }[]): string {
  const messages = problems.map(({ message }) => oneLine(message, PROBLEM_CHARS));
  const [only] = messages;
  return only !== undefined && messages.length === 1
    ? vscode.l10n.t("Fix this problem in {0}: {1}", name, only)
    : [vscode.l10n.t("Fix these problems in {0}:", name), ...messages.map((message) => `- ${message}`)].join("\n");
}

/** The whole lines of the problems. */
function linesOf(document: vscode.TextDocument, problems: readonly vscode.Diagnostic[]): vscode.Range {
  const lines = problems.flatMap(({ range }) => [range.start.line, range.end.line]);
  const last = Math.min(Math.max(...lines), document.lineCount - 1);
  return new vscode.Range(Math.min(...lines, last), 0, last, document.lineAt(last).text.length);
}

function say(text: string): void {
  vscode.window.setStatusBarMessage(text, 6_000);
}
