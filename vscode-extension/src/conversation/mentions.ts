import * as vscode from "vscode";

import type { Attachment, PlanItem } from "../protocol";
import type { Found } from "./attachments";
import { best } from "../text/fuzzy";

/** A thing that can be named in a message, with its attachment. */
export interface Mention {
  readonly icon: string;
  /** Word that stays in the text after the `@`. */
  readonly label: string;
  readonly detail: string;
  readonly attachment: () => Promise<Attachment | undefined>;
}

const ROWS = 12;
const FILES = 5_000;
/** Time for which the list of files is used again, in milliseconds. */
const FRESH_MS = 10_000;
/** Longest text of problems or changes, in characters. */
const TEXT_CHARS = 100_000;
const PROBLEMS = 200;
/** Longest selection of a terminal that is attached, in characters; its end counts. */
const TERMINAL_CHARS = 100_000;

/** The part of the API of VS Code's git extension that is used. */
interface GitExtension {
  getAPI(version: 1): {
    readonly repositories: readonly {
      diffWithHEAD(): Promise<readonly { readonly uri: vscode.Uri }[]>;
      diffWithHEAD(path: string): Promise<string>;
    }[];
  };
}

/** Finds what a message can name: open editors, files, folders, symbols, and the state of the workspace. */
export class MentionFinder {
  #files: readonly vscode.Uri[] = [];
  #read = Number.NEGATIVE_INFINITY;

  /** `steps`: those of the plan in view. */
  constructor(private readonly steps: () => readonly PlanItem[]) {}

  async find(query: string): Promise<readonly Mention[]> {
    const open = best(query, openFiles(), pathOf, ROWS).map(fileMention);
    const special = best(query, specials(), ({ label }) => label, ROWS);
    // A long plan would hide the rest of the list.
    const steps = query === "" ? [] : best(query, stepMentions(this.steps()), ({ label, detail }) => `${label} ${detail}`, 5);
    const known = new Set(openFiles().map(String));
    const files = await this.#allFiles();
    const others = files.filter((uri) => !known.has(uri.toString()));
    const symbols = await symbolMentions(query);
    return [
      ...open.slice(0, 4),
      ...special,
      ...steps,
      ...best(query, others, pathOf, ROWS).map(fileMention),
      ...best(query, foldersOf(files), pathOf, 3).map(folderMention),
      ...symbols,
    ].slice(0, ROWS * 2);
  }

  async #allFiles(): Promise<readonly vscode.Uri[]> {
    if (performance.now() - this.#read > FRESH_MS) {
      this.#files = await vscode.workspace.findFiles("**/*", undefined, FILES);
      this.#read = performance.now();
    }
    return this.#files;
  }
}

export function pathOf(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, (vscode.workspace.workspaceFolders?.length ?? 0) > 1);
}

function openFiles(): vscode.Uri[] {
  const inputs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ input }) => input));
  const uris = inputs.flatMap((input) => (input instanceof vscode.TabInputText && input.uri.scheme === "file" ? [input.uri] : []));
  return [...new Map(uris.filter((uri) => vscode.workspace.getWorkspaceFolder(uri) !== undefined).map((uri) => [uri.toString(), uri])).values()];
}

function foldersOf(files: readonly vscode.Uri[]): vscode.Uri[] {
  const folders = new Map<string, vscode.Uri>();
  for (const file of files) {
    const folder = vscode.Uri.joinPath(file, "..");
    const root = vscode.workspace.getWorkspaceFolder(file)?.uri.path;
    if (folder.path !== root) {
      folders.set(folder.path, folder);
    }
  }
  return [...folders.values()];
}

function fileMention(uri: vscode.Uri): Mention {
  const path = pathOf(uri);
  const name = path.slice(path.lastIndexOf("/") + 1);
  return {
    icon: "file",
    label: name,
    detail: path === name ? "" : path,
    attachment: () => Promise.resolve({ kind: "file", uri: uri.toString(), name: path }),
  };
}

function folderMention(uri: vscode.Uri): Mention {
  const path = pathOf(uri);
  return { icon: "folder", label: `${path}/`, detail: "", attachment: () => Promise.resolve({ kind: "folder", uri: uri.toString(), name: path }) };
}

async function symbolMentions(query: string): Promise<readonly Mention[]> {
  if (query.length < 2) {
    return [];
  }
  const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query);
  const inside = (found ?? []).filter(
    ({ location }) => location.uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(location.uri) !== undefined,
  );
  return best(query, inside, ({ name }) => name, 5).map(({ name, location }) => ({
    icon: "symbol-method",
    label: name,
    detail: `${pathOf(location.uri)}:${location.range.start.line + 1}`,
    attachment: async () => selectionOf(await vscode.workspace.openTextDocument(location.uri), location.range),
  }));
}

/** Attachment for a range of a document. */
export function selectionOf(document: vscode.TextDocument, range: vscode.Range): Attachment {
  const { start, end } = range;
  return {
    kind: "selection",
    uri: document.uri.toString(),
    name: pathOf(document.uri),
    range: { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } },
    text: document.getText(range),
  };
}

function specials(): Mention[] {
  const editor = vscode.window.activeTextEditor;
  const selected = editor?.document.uri.scheme === "file" && !editor.selection.isEmpty ? editor : undefined;
  const selection: Mention | undefined = selected && {
    icon: "selection",
    label: vscode.l10n.t("Selection"),
    detail: pathOf(selected.document.uri),
    attachment: () => Promise.resolve(selectionOf(selected.document, selected.selection)),
  };
  return [
    ...(selection === undefined ? [] : [selection]),
    {
      icon: "warning",
      label: vscode.l10n.t("Problems"),
      detail: vscode.l10n.t("errors and warnings of the workspace"),
      attachment: () => Promise.resolve(problems()),
    },
    {
      icon: "terminal",
      label: vscode.l10n.t("Terminal"),
      detail: vscode.l10n.t("selected text of the terminal"),
      attachment: terminalSelection,
    },
    { icon: "git-commit", label: vscode.l10n.t("Git Changes"), detail: vscode.l10n.t("changes since the last commit"), attachment: gitChanges },
  ];
}

/** Steps of the plan by their numbers. */
export function stepMentions(items: readonly PlanItem[]): Mention[] {
  return items.map(({ content }, index) => {
    const label = vscode.l10n.t("Step {0}", index + 1);
    return { icon: "checklist", label, detail: content, attachment: () => Promise.resolve({ kind: "text", name: label, text: content }) };
  });
}

/** Text that is selected in the terminal. VS Code gives it out over the clipboard only, whose text is put back. */
export async function terminalSelection(): Promise<Attachment | undefined> {
  const { clipboard } = vscode.env;
  const before = await clipboard.readText();
  await clipboard.writeText("");
  let text: string;
  try {
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    text = await clipboard.readText();
  } finally {
    await clipboard.writeText(before);
  }
  return text.trim() === "" ? undefined : { kind: "text", name: vscode.l10n.t("Terminal selection"), text: text.slice(-TERMINAL_CHARS) };
}

function problems(): Attachment | undefined {
  const rows = vscode.languages.getDiagnostics().flatMap(([uri, list]) =>
    vscode.workspace.getWorkspaceFolder(uri) === undefined
      ? []
      : list
          .filter(({ severity }) => severity <= vscode.DiagnosticSeverity.Warning)
          .map(({ severity, range, message }) => {
            const kind = severity === vscode.DiagnosticSeverity.Error ? "error" : "warning";
            return `${pathOf(uri)}:${range.start.line + 1}: ${kind}: ${message}`;
          }),
  );
  const text = rows.slice(0, PROBLEMS).join("\n");
  return text === "" ? undefined : { kind: "text", name: vscode.l10n.t("Problems"), text: text.slice(0, TEXT_CHARS) };
}

/** Changes of the repository since its last commit; `undefined` without any. */
export async function gitChanges(): Promise<Attachment | undefined> {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  const [repository] = (await extension?.activate())?.getAPI(1).repositories ?? [];
  const changes = (await repository?.diffWithHEAD()) ?? [];
  let text = "";
  for (const { uri } of changes) {
    text += `${(await repository?.diffWithHEAD(uri.fsPath)) ?? ""}\n`;
    if (text.length > TEXT_CHARS) {
      break;
    }
  }
  return text.trim() === "" ? undefined : { kind: "text", name: vscode.l10n.t("Git Changes"), text: text.slice(0, TEXT_CHARS) };
}

/** Attachments for files that were dropped: files and folders of the workspace, and the number of others. */
export async function dropped(addresses: readonly string[]): Promise<Found> {
  const attachments: Attachment[] = [];
  for (const address of addresses) {
    try {
      const uri = vscode.Uri.parse(address, true);
      if (uri.scheme === "file" && vscode.workspace.getWorkspaceFolder(uri) !== undefined) {
        const { type } = await vscode.workspace.fs.stat(uri);
        attachments.push({ kind: type === vscode.FileType.Directory ? "folder" : "file", uri: uri.toString(), name: pathOf(uri) });
      }
    } catch {
      // No address, or no such file: it is counted as one that cannot be attached.
    }
  }
  return { attachments, others: addresses.length - attachments.length };
}
