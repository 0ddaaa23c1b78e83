import * as vscode from "vscode";

import type { ContentFiles } from "./memory";

/** Large content of drafts as files of this workspace's storage. */
export class ContentFolder implements ContentFiles {
  constructor(private readonly folder: vscode.Uri) {}

  async write(name: string, content: string): Promise<void> {
    await vscode.workspace.fs.createDirectory(this.folder);
    await vscode.workspace.fs.writeFile(this.#uri(name), new TextEncoder().encode(content));
  }

  async read(name: string): Promise<string> {
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(this.#uri(name)));
  }

  async keep(names: ReadonlySet<string>): Promise<void> {
    const files = await vscode.workspace.fs.readDirectory(this.folder);
    await Promise.all(files.filter(([name]) => !names.has(name)).map(([name]) => vscode.workspace.fs.delete(this.#uri(name))));
  }

  #uri(name: string): vscode.Uri {
    return vscode.Uri.joinPath(this.folder, name);
  }
}
