import * as vscode from "vscode";

import { type Agent, reasonOf } from "../daemon/agent";
import { requests } from "../protocol";

const NOTE = `# ${vscode.l10n.t("A place to try Cairn")}\n\n${vscode.l10n.t("This folder is only for the demonstration. Nothing of yours is in it.")}\n`;
const PENDING = "cairn.demo.pending";

/**
 * `Cairn: Try the Demo`: plays a recorded script in a folder of the extension, in a window of its
 * own, so that it writes nothing into the user's files.
 */
export class Demo implements vscode.Disposable {
  readonly #folder: vscode.Uri;
  readonly #subscriptions: vscode.Disposable[];

  constructor(
    private readonly agent: Agent,
    private readonly context: vscode.ExtensionContext,
  ) {
    this.#folder = vscode.Uri.joinPath(context.globalStorageUri, "demo");
    this.#subscriptions = [
      vscode.commands.registerCommand("cairn.tryDemo", () => this.#open()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.resume()),
    ];
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  /** Plays the script if this window was opened for it, and the folder is trusted. */
  async resume(): Promise<void> {
    if (this.context.globalState.get(PENDING) !== true || !this.#isHere() || !vscode.workspace.isTrusted) {
      return;
    }
    await this.context.globalState.update(PENDING, undefined);
    await this.#play();
  }

  async #open(): Promise<void> {
    await vscode.workspace.fs.delete(this.#folder, { recursive: true }).then(undefined, () => undefined);
    await vscode.workspace.fs.createDirectory(this.#folder);
    await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(this.#folder, "README.md"), new TextEncoder().encode(NOTE));
    if (this.#isHere()) {
      await this.#play();
      return;
    }
    await this.context.globalState.update(PENDING, true);
    await vscode.commands.executeCommand("vscode.openFolder", this.#folder, { forceNewWindow: true });
  }

  #isHere(): boolean {
    return vscode.workspace.workspaceFolders?.[0]?.uri.path === this.#folder.path;
  }

  async #play(): Promise<void> {
    try {
      await vscode.commands.executeCommand("cairn.plan.focus");
      await this.agent.request(requests.runTask, { text: vscode.l10n.t("Show me how you work"), demo: true });
    } catch (error) {
      void vscode.window.showErrorMessage(reasonOf(error));
    }
  }
}
