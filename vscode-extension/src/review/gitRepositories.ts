import * as vscode from "vscode";

/** The part of the API of VS Code's git extension that is used. */
interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): { readonly onDidOpenRepository: vscode.Event<unknown> };
}

/** Calls a listener for each Git repository that VS Code opens from now on; never where Git is switched off. */
export function onDidOpenRepository(listener: () => void): vscode.Disposable {
  const subscriptions: vscode.Disposable[] = [];
  let disposed = false;
  const subscribe = async (): Promise<void> => {
    const git = await vscode.extensions.getExtension<GitExtension>("vscode.git")?.activate();
    if (git?.enabled === true && !disposed) {
      subscriptions.push(git.getAPI(1).onDidOpenRepository(listener));
    }
  };
  // An extension that fails has no repositories to tell about.
  subscribe().catch(() => undefined);
  return new vscode.Disposable(() => {
    disposed = true;
    vscode.Disposable.from(...subscriptions).dispose();
  });
}
