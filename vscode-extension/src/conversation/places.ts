import * as vscode from "vscode";

/** Id of the view in the side bar. */
export const VIEW = "cairn.chat";
/** Type of the tab that shows the conversation among the editors. */
export const TAB = "cairn.conversation";

/** Part of the window that holds the page of the conversation: the view in the side bar, or a tab among the editors. */
export interface Place {
  readonly webview: vscode.Webview;
  readonly visible: boolean;
  readonly onDidChangeVisibility: vscode.Event<unknown>;
  readonly onDidDispose: vscode.Event<void>;
  /** Shows the title of the session, which is empty for a new one. */
  name(title: string): void;
  /** Brings the page into sight. */
  reveal(preserveFocus: boolean): PromiseLike<unknown>;
  /** Moves the focus from the page to the editor that had it before. */
  leave(): PromiseLike<unknown>;
  /** Replaces a page that is lost. */
  reload(): Promise<void>;
}

/** The view in the side bar, which may not be there yet. */
export async function revealView(preserveFocus: boolean): Promise<void> {
  await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus });
}

export function viewPlace(view: vscode.WebviewView): Place {
  return {
    webview: view.webview,
    get visible() {
      return view.visible;
    },
    onDidChangeVisibility: view.onDidChangeVisibility,
    onDidDispose: view.onDidDispose,
    name: (title) => {
      view.description = title;
    },
    reveal: revealView,
    leave: () => vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup"),
    // A view that is hidden and shown gets a new page.
    reload: async () => {
      await vscode.commands.executeCommand(`${VIEW}.toggleVisibility`);
      await vscode.commands.executeCommand(`${VIEW}.toggleVisibility`);
    },
  };
}

/**
 * @param anew opens another tab in the place of a lost one
 */
export function tabPlace(panel: vscode.WebviewPanel, anew: (column: vscode.ViewColumn | undefined) => void): Place {
  return {
    webview: panel.webview,
    get visible() {
      return panel.visible;
    },
    onDidChangeVisibility: panel.onDidChangeViewState,
    onDidDispose: panel.onDidDispose,
    name: (title) => {
      panel.title = title === "" ? vscode.l10n.t("Conversation") : title;
    },
    reveal: (preserveFocus) => Promise.resolve(panel.reveal(undefined, preserveFocus)),
    leave: () => vscode.commands.executeCommand("workbench.action.openPreviousRecentlyUsedEditor"),
    reload: () => {
      const column = panel.viewColumn;
      panel.dispose();
      anew(column);
      return Promise.resolve();
    },
  };
}

/** Opens a tab for the conversation. */
export function openTab(column: vscode.ViewColumn): vscode.WebviewPanel {
  return vscode.window.createWebviewPanel(TAB, vscode.l10n.t("Conversation"), column, { enableFindWidget: true });
}
