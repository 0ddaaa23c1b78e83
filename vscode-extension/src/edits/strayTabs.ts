import * as vscode from "vscode";

/** VS Code looks for unsaved documents without a tab 0.8 s after one changed, and later when it is busy. */
const GRACE_MS = 5_000;

/** A tab that the user opens is told as one in the background first, and as the active one after that. */
const SETTLED_MS = 100;

/**
 * Closes tabs that nobody asked for. A hidden document is unsaved for the moment between an edit
 * and its save, and if VS Code looks just then it gives the document a tab. Only such a tab is
 * closed: opened in the background right after our edit, clean, and never the active one.
 */
export class StrayTabs implements vscode.Disposable {
  readonly #edited = new Map<string, number>();
  readonly #stray = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #subscription = vscode.window.tabGroups.onDidChangeTabs(({ opened, changed, closed }) => {
    for (const tab of opened) {
      const uri = uriOf(tab);
      if (uri !== undefined && Date.now() - (this.#edited.get(uri) ?? 0) < GRACE_MS) {
        this.#stray.add(uri);
      }
    }
    for (const tab of closed) {
      this.#stray.delete(uriOf(tab) ?? "");
    }
    // A dirty one is closed when its save shows, which is a change of the tab.
    for (const tab of [...opened, ...changed]) {
      this.#look(tab);
    }
  });

  /** A document without a tab is about to be edited and saved. */
  expect(uri: vscode.Uri): void {
    const now = Date.now();
    for (const [edited, when] of this.#edited) {
      if (now - when >= GRACE_MS) {
        this.#edited.delete(edited);
      }
    }
    this.#edited.set(uri.toString(), now);
  }

  dispose(): void {
    this.#subscription.dispose();
    for (const timer of this.#timers) {
      clearTimeout(timer);
    }
  }

  #look(tab: vscode.Tab): void {
    const uri = uriOf(tab);
    if (uri === undefined || !this.#stray.has(uri)) {
      return;
    }
    if (tab.isActive) {
      // The user went there: it is theirs now.
      this.#stray.delete(uri);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#sweep(tab, uri);
    }, SETTLED_MS);
    this.#timers.add(timer);
  }

  async #sweep(tab: vscode.Tab, uri: string): Promise<void> {
    if (this.#stray.has(uri) && !tab.isActive && !tab.isDirty) {
      this.#stray.delete(uri);
      // It may have gone by itself meanwhile, which is as good.
      await Promise.resolve(vscode.window.tabGroups.close(tab, true)).catch(() => undefined);
    }
  }
}

export function hasTab(uri: vscode.Uri): boolean {
  const key = uri.toString();
  return vscode.window.tabGroups.all.some(({ tabs }) => tabs.some((tab) => uriOf(tab) === key));
}

function uriOf(tab: vscode.Tab): string | undefined {
  return tab.input instanceof vscode.TabInputText ? tab.input.uri.toString() : undefined;
}
