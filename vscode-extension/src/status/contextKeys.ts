import * as vscode from "vscode";

/**
 * Sets a context key when it is another value than before: each one has the window ask every menu
 * and every key binding again.
 */
export function contextKeys(): (key: string, value: unknown) => void {
  const last = new Map<string, string>();
  return (key, value) => {
    const text = JSON.stringify(value);
    if (last.get(key) !== text) {
      last.set(key, text);
      void vscode.commands.executeCommand("setContext", key, value);
    }
  };
}
