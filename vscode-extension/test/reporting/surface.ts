import * as vscode from "vscode";

import { Emitter } from "../../src/stores/emitter";
import type { StatePart } from "./state";

type Call = (...args: readonly unknown[]) => unknown;

/**
 * Watches what the extension gives VS Code to show: messages, the list or box that is open, items of the status bar,
 * removed text, and lenses. Takes the place of VS Code's functions for that, so it comes before every view.
 */
export function watchSurface(): Record<string, StatePart> {
  const surface = new Surface();
  const { window, comments, languages } = vscode;
  for (const kind of ["Information", "Warning", "Error"]) {
    wrap(
      window,
      `show${kind}Message`,
      (show) =>
        (text, ...rest) =>
          surface.ask(surface.messages, message(text, rest), show(text, ...rest)),
    );
  }
  wrap(window, "setStatusBarMessage", (show) => (text, ...rest) => {
    surface.said.push(text);
    return surface.tell(show(text, ...rest));
  });
  wrap(window, "showQuickPick", (show) => (items, ...rest) => {
    const [options] = rest as [vscode.QuickPickOptions | undefined];
    return surface.ask(surface.inputs, { title: options?.title, placeholder: options?.placeHolder, items, isArmed: true }, show(items, ...rest));
  });
  wrap(window, "showInputBox", (show) => (options, ...rest) => {
    const { title, prompt, placeHolder: placeholder } = (options ?? {}) as vscode.InputBoxOptions;
    return surface.ask(surface.inputs, { title, prompt, placeholder }, show(options, ...rest));
  });
  for (const create of ["createQuickPick", "createInputBox"]) {
    wrap(window, create, (make) => () => surface.input(make() as vscode.QuickPick<vscode.QuickPickItem>));
  }
  wrap(
    window,
    "createStatusBarItem",
    (create) =>
      (id, ...rest) =>
        surface.statusItem(id as string, create(id, ...rest) as vscode.StatusBarItem),
  );
  wrap(comments, "createCommentController", (create) => (...args) => {
    // VS Code freezes it.
    const controller = create(...args) as vscode.CommentController;
    const add = controller.createCommentThread.bind(controller) as Call;
    return Object.create(controller, {
      createCommentThread: { value: (...of: unknown[]) => surface.zone(add(...of) as vscode.CommentThread) },
    }) as unknown;
  });
  wrap(
    languages,
    "registerCodeLensProvider",
    (register) => (selector, provider) => register(selector, surface.lensesOf(provider as vscode.CodeLensProvider)),
  );
  return surface.parts();
}

/** Replaces a function of an object by another one that may call it. */
function wrap(owner: object, name: string, replace: (call: Call) => Call): void {
  const call = Reflect.get(owner, name) as Call;
  Reflect.set(owner, name, replace(call.bind(owner)));
}

function message(text: unknown, rest: readonly unknown[]): unknown {
  const [options] = rest as [vscode.MessageOptions | string | undefined];
  const buttons = rest.filter((button) => typeof button === "string");
  return { text, buttons, ...(typeof options === "object" ? options : {}) };
}

class Surface {
  readonly #changed = new Emitter<void>();
  readonly messages = new Map<unknown, unknown>();
  readonly inputs = new Map<unknown, unknown>();
  readonly items = new Map<string, vscode.StatusBarItem>();
  readonly zones = new Set<vscode.CommentThread>();
  readonly lenses = new Map<string, unknown>();
  /** Texts that the status bar showed for a moment. */
  readonly said: unknown[] = [];

  /** Says that something differs, and passes a value on. */
  tell<T>(value: T): T {
    this.#changed.fire();
    return value;
  }

  /** Holds a question until it is answered. */
  ask<T>(into: Map<unknown, unknown>, question: unknown, answered: T): T {
    into.set(answered, question);
    void Promise.resolve(answered).finally(() => this.tell(into.delete(answered)));
    return this.tell(answered);
  }

  /** An item of the status bar, from `show` until it is hidden. */
  statusItem(id: string, item: vscode.StatusBarItem): object {
    return this.#observed(item, (name) => {
      if (name === "show") {
        this.items.set(id, item);
      } else if (name === "hide" || name === "dispose") {
        this.items.delete(id);
      }
    });
  }

  zone(thread: vscode.CommentThread): object {
    this.zones.add(thread);
    return this.tell(this.#observed(thread, (name) => name === "dispose" && this.zones.delete(thread)));
  }

  /** A list or a box, from `show` until it is hidden. */
  input(shown: vscode.QuickPick<vscode.QuickPickItem>): object {
    shown.onDidHide(() => this.tell(this.inputs.delete(shown)));
    shown.onDidChangeValue(() => this.tell(undefined));
    return this.#observed(shown, (name) => {
      if (name === "show") {
        this.inputs.set(shown, shown);
      }
    });
  }

  #observed<T extends object>(shown: T, called: (name: string | symbol) => unknown): T {
    const tell = <U>(value: U): U => this.tell(value);
    return new Proxy(shown, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") {
          return value;
        }
        return (...args: unknown[]) => {
          const result: unknown = (value as Call).apply(target, args);
          called(name);
          return tell(result);
        };
      },
      set: (target, name, value) => tell(Reflect.set(target, name, value, target)),
    });
  }

  lensesOf(provider: vscode.CodeLensProvider): vscode.CodeLensProvider {
    return {
      ...(provider.onDidChangeCodeLenses === undefined ? {} : { onDidChangeCodeLenses: provider.onDidChangeCodeLenses }),
      provideCodeLenses: async (document, token) => {
        const lenses = (await provider.provideCodeLenses(document, token)) ?? [];
        const shown = lenses.map(({ range, command }) => ({ line: range.start.line + 1, title: command?.title }));
        this.tell(this.lenses.set(document.uri.toString(), shown));
        return lenses;
      },
    };
  }

  parts(): Record<string, StatePart> {
    const changes = [this.#changed.event];
    const { window } = vscode;
    return {
      // The test writes a number with the settings, to see when VS Code has read them. A name that begins like Cairn's
      // hides a change of those from `affectsConfiguration`.
      settings: { changes: [vscode.workspace.onDidChangeConfiguration], read: () => vscode.workspace.getConfiguration().get("e2e.settings") },
      messages: { changes, read: () => [...this.messages.values()] as unknown },
      said: { changes, read: () => this.said.slice(-10) },
      input: { changes, read: () => inputState([...this.inputs.values()].at(-1)) },
      status: { changes, read: () => Object.fromEntries([...this.items].map(([id, item]) => [id, itemState(item)])) },
      zones: { changes, read: () => [...this.zones].map(zoneState) },
      lenses: { changes, read: () => Object.fromEntries(this.lenses) },
      editor: {
        changes: [
          window.onDidChangeActiveTextEditor,
          window.onDidChangeTextEditorSelection,
          window.onDidChangeTextEditorVisibleRanges,
          vscode.workspace.onDidChangeTextDocument,
          vscode.workspace.onDidSaveTextDocument,
        ],
        read: () => (window.activeTextEditor === undefined ? undefined : editorState(window.activeTextEditor)),
      },
      tabs: {
        changes: [window.tabGroups.onDidChangeTabs, window.tabGroups.onDidChangeTabGroups],
        read: () => window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ label, isActive, isDirty }) => ({ label, isActive, isDirty }))),
      },
    };
  }
}

type Input = Partial<vscode.InputBox & vscode.QuickPick<vscode.QuickPickItem>>;

function inputState(shown: unknown): unknown {
  if (shown === undefined) {
    return undefined;
  }
  const { title, placeholder, prompt, value, busy, items } = shown as Input;
  const rows = items?.map(({ label, description, detail }) => ({ label, description, detail }));
  return { title, placeholder, prompt, value, busy, rows };
}

function itemState({ text, tooltip, accessibilityInformation, backgroundColor }: vscode.StatusBarItem): unknown {
  return { text, tooltip, spoken: accessibilityInformation?.label, color: (backgroundColor as { id?: string } | undefined)?.id };
}

function zoneState({ uri, range, label, comments }: vscode.CommentThread): unknown {
  const texts = comments.map(({ body }) => (typeof body === "string" ? body : body.value));
  return { uri: uri.toString(), line: range === undefined ? 0 : range.start.line + 1, label, texts };
}

/** Longest text that is reported. */
const LONGEST_TEXT = 20_000;

function editorState({ document, selection, visibleRanges }: vscode.TextEditor): unknown {
  return {
    path: vscode.workspace.asRelativePath(document.uri),
    line: selection.active.line + 1,
    column: selection.active.character + 1,
    selected: document.getText(selection).length,
    firstLine: (visibleRanges[0]?.start.line ?? 0) + 1,
    isDirty: document.isDirty,
    text: document.getText().slice(0, LONGEST_TEXT),
  };
}
