import * as vscode from "vscode";

import { oneLine } from "../text/display";
import { isInside, readTarget } from "./links";

/** Opens what a link of the conversation names: a file of the workspace here, an https address in the browser. */
export async function openTarget(target: string): Promise<void> {
  const found = readTarget(target);
  if (found === undefined) {
    say(vscode.l10n.t("This link is not opened: {0}", oneLine(target, 100)));
    return;
  }
  if (found.kind === "web") {
    await openAddress(found.address);
    return;
  }
  const uri = await fileOf(found.path);
  if (uri === undefined) {
    say(vscode.l10n.t("Not found in the workspace: {0}", oneLine(found.path, 100)));
    return;
  }
  const line = Math.max(0, (found.line ?? 1) - 1);
  const at = new vscode.Position(line, Math.max(0, (found.column ?? 1) - 1));
  const end = found.lastLine === undefined ? at : new vscode.Position(Math.max(line, found.lastLine), 0);
  await vscode.window.showTextDocument(uri, { preview: true, ...(found.line === undefined ? {} : { selection: new vscode.Range(at, end) }) });
}

/** Always asks: the address is the agent's, and what it holds may be the user's. */
async function openAddress(address: string): Promise<void> {
  const open = vscode.l10n.t("Open");
  const chosen = await vscode.window.showWarningMessage(
    vscode.l10n.t("Open this address in the browser?"),
    { modal: true, detail: oneLine(address, 1_000) },
    open,
  );
  if (chosen === open) {
    await vscode.env.openExternal(vscode.Uri.parse(address, true));
  }
}

/** The file of the workspace that a path means: with the name of its folder in front, from the root of a folder, or as a whole path. */
async function fileOf(path: string): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const roots = folders.map(({ uri }) => uri.path);
  const named = folders.filter(({ name }) => folders.length > 1 && path.startsWith(`${name}/`));
  const below = [
    ...named.map(({ uri, name }) => vscode.Uri.joinPath(uri, path.slice(name.length))),
    ...folders.map(({ uri }) => vscode.Uri.joinPath(uri, path)),
  ];
  const candidates = path.startsWith("/") ? folders.map(({ uri }) => uri.with({ path })) : below;
  for (const uri of candidates.filter((candidate) => isInside(candidate.path, roots))) {
    try {
      if ((await vscode.workspace.fs.stat(uri)).type !== vscode.FileType.Directory) {
        return uri;
      }
    } catch {
      // Not here: it may be in another folder of the workspace.
    }
  }
  return undefined;
}

function say(words: string): void {
  void vscode.window.setStatusBarMessage(words, 5_000);
}
