import * as vscode from "vscode";

import type { KeyedQueue } from "./queue";
import { openDocument } from "./wholeFile";

/** VS Code looks for unsaved documents without a tab 0.8 s after one changed, and later when it is busy. */
const GRACE_MS = 5_000;

/** VS Code reports a tab that the user opens first as a background tab, then as the active one. */
const SETTLED_MS = 100;

/**
 * Closes tabs that the user did not open. A hidden document is unsaved for the moment between an edit
 * and its save, and if VS Code looks just then it gives the document a tab. Only such a tab is
 * closed: opened in the background right after our edit, clean, and never the active one. It is
 * closed in the queue of the edits: an edit that came in between would make VS Code ask about saving.
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

  constructor(private readonly edits: KeyedQueue) {}

  /** Expects a stray tab of a document that is about to be edited and saved, and has no tab. */
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
      void this.edits.run(uri, () => this.#sweep(tab, uri));
    }, SETTLED_MS);
    this.#timers.add(timer);
  }

  async #sweep(tab: vscode.Tab, uri: string): Promise<void> {
    // The tab reports that its document is unsaved later than the document itself.
    const unsaved = tab.isDirty || openDocument(vscode.Uri.parse(uri, true))?.isDirty === true;
    if (this.#stray.has(uri) && !tab.isActive && !unsaved) {
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
