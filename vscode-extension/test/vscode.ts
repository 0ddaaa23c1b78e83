// Fake of the part of VS Code that decorations, views and tabs use. It records what is set and drawn.

export class Uri {
  private constructor(private readonly text: string) {}

  static parse(text: string): Uri {
    return new Uri(text);
  }

  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri([base.text, ...parts].join("/"));
  }

  get scheme(): string {
    return this.text.split(":")[0] ?? "";
  }

  get fsPath(): string {
    return this.text.replace("file://", "");
  }

  toString(): string {
    return this.text;
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}

  isEqual(other: Position): boolean {
    return this.line === other.line && this.character === other.character;
  }
}

export class Range {
  readonly start: Position;
  readonly end: Position;

  constructor(...args: [Position, Position] | [number, number, number, number]) {
    [this.start, this.end] = args.length === 2 ? args : [new Position(args[0], args[1]), new Position(args[2], args[3])];
  }
}

export class ThemeColor {
  constructor(readonly id: string) {}
}

export class ThemeIcon {
  constructor(
    readonly id: string,
    readonly color?: ThemeColor,
  ) {}
}

export class TabInputText {
  constructor(readonly uri: Uri) {}
}

export const env = { language: "en" };

/** Translations of the language of a test, by their English text. */
export const translations = new Map<string, string>();

export const l10n = {
  t: (english: string, ...values: unknown[]): string => {
    const text = translations.get(english) ?? english;
    const [first] = values;
    const named = typeof first === "object" && first !== null ? (first as Record<string, unknown>) : Object.fromEntries(values.entries());
    return text.replace(/\{(\w+)\}/gu, (hole, name: string) => (name in named ? (named[name] as string) : hole));
  },
};

/** Redraws that were requested of the window, in order. */
export const drawn: string[] = [];

export class EventEmitter<T = unknown> {
  readonly #listeners = new Set<(value: T) => void>();

  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.#listeners.add(listener);
    return { dispose: () => this.#listeners.delete(listener) };
  };

  fire(value: T): void {
    drawn.push("event");
    this.#listeners.forEach((listener) => listener(value));
  }

  dispose(): void {
    this.#listeners.clear();
  }
}

/** The tree view that was made last, in the hands of a test. */
export const view = {
  visible: true,
  selection: [] as unknown[],
  select: (change: { selection: readonly unknown[] }): unknown => change,
  show: (change: { visible: boolean }): unknown => change,
};

/** Rows that were brought into view, in order. */
export const revealed: unknown[] = [];

interface Command {
  readonly title: string;
}

export class CodeLens {
  constructor(
    readonly range: Range,
    readonly command: Command,
  ) {}
}

export class CodeAction {
  constructor(readonly title: string) {}
}

export const CodeActionKind = { Refactor: { append: (kind: string) => `refactor.${kind}` } };
export const CommentMode = { Preview: 1 };
export const CommentThreadState = { Resolved: 1 };
export const CommentThreadCollapsibleState = { Expanded: 1 };

export class MarkdownString {
  constructor(readonly value: string) {}
}

export const languages = { registerCodeLensProvider: () => ({ dispose: () => {} }) };

/** The zones that are shown, by their labels. */
export const zones: string[] = [];

export const comments = {
  createCommentController: () => ({
    createCommentThread: () => ({
      set label(text: string) {
        zones.push(text);
      },
      dispose: () => {},
    }),
    dispose: () => {},
  }),
};

export const OverviewRulerLane = { Left: 1 };
export const DecorationRangeBehavior = { ClosedClosed: 1 };

export class FakeEditor {
  /** Calls that set decorations, as lines. */
  readonly resets: string[] = [];
  readonly viewColumn = 1;
  readonly document: { uri: Uri; languageId: string; version: number; lineCount: number; lineAt: (line: number) => { range: Range } };

  constructor(uri: string) {
    this.document = {
      uri: Uri.parse(uri),
      languageId: "python",
      version: 1,
      lineCount: 100,
      lineAt: (line) => ({ range: new Range(line, 0, line, 9) }),
    };
  }

  selection = { active: new Position(0, 0) };

  get selections(): { active: Position; intersection: () => undefined }[] {
    return [{ ...this.selection, intersection: () => undefined }];
  }

  /** Puts the cursor into a line. */
  cursor(line: number): void {
    this.selection = { active: new Position(line, 0) };
  }

  /** Decorations that were set last, by the name of their type. */
  readonly decorations = new Map<string, unknown[]>();

  setDecorations(type: { name: string }, options: (Range | { range: Range })[]): void {
    this.decorations.set(type.name, options);
    const lines = options.map((option) => ("range" in option ? option.range : option).start.line);
    this.resets.push(`${type.name} ${lines.join(" ")}`.trim());
  }
}

/** Open editors, set by a test. */
export const desk = {
  editors: [] as FakeEditor[],
  changed: () => {},
};

export class Disposable {
  static from(...parts: { dispose(): void }[]): Disposable {
    const all = new Disposable(() => {});
    all.parts = parts;
    return all;
  }

  private parts: { dispose(): void }[] = [];

  constructor(private readonly call: () => void) {}

  dispose(): void {
    this.call();
    for (const part of this.parts) {
      part.dispose();
    }
  }
}

export enum StatusBarAlignment {
  Left = 1,
}

export class TreeItem {
  constructor(
    readonly label: string,
    readonly collapsibleState: TreeItemCollapsibleState,
  ) {}
}

export enum QuickPickItemKind {
  Separator = -1,
}

export enum TreeItemCollapsibleState {
  None,
  Collapsed,
  Expanded,
}

/** Commands by their names. */
export const registered = new Map<string, (...args: unknown[]) => unknown>();

export const commands = {
  executeCommand: (command: string, ...args: unknown[]) => {
    drawn.push(`${command} ${String(args[0])}`);
    return Promise.resolve(registered.get(command)?.(...args));
  },
  registerCommand: (command: string, run: (...args: unknown[]) => unknown) => {
    registered.set(command, run);
    return { dispose: () => {} };
  },
};

/** Listeners to changes of texts. */
export const documentChanges: ((change: unknown) => void)[] = [];

/** Listeners to changes of the selection. */
export const selectionChanges: ((change: unknown) => void)[] = [];

export enum TextEditorSelectionChangeKind {
  Keyboard = 1,
  Mouse = 2,
  Command = 3,
}

/** Values of settings, set by a test. */
export const settings = new Map<string, unknown>();

export const workspace = {
  textDocuments: [],
  getConfiguration: (section: string) => ({
    get: <T>(key: string, otherwise: T): T => (settings.get(`${section}.${key}`) as T | undefined) ?? otherwise,
  }),
  onDidChangeConfiguration: () => ({ dispose: () => {} }),
  onDidChangeTextDocument: (listener: (change: unknown) => void) => {
    documentChanges.push(listener);
    return { dispose: () => {} };
  },
};

/** VS Code's git extension; a test opens a repository by it. */
export const git = { opened: () => {} };

export const extensions = {
  getExtension: () => ({
    activate: () =>
      Promise.resolve({
        enabled: true,
        getAPI: () => ({
          onDidOpenRepository: (listener: () => void) => {
            git.opened = listener;
            return { dispose: () => {} };
          },
        }),
      }),
  }),
};

/** Messages in the status bar, in order. */
export const statusMessages: string[] = [];

/** Questions of modal dialogs, and the button that answers the next ones. */
export const dialog = { asked: [] as string[], answer: undefined as string | undefined };

export const window = {
  state: { focused: true },
  activeTextEditor: undefined as FakeEditor | undefined,
  setStatusBarMessage: (text: string) => {
    statusMessages.push(text);
    return { dispose: () => {} };
  },
  onDidChangeTextEditorSelection: (listener: (change: unknown) => void) => {
    selectionChanges.push(listener);
    return { dispose: () => {} };
  },
  showWarningMessage: (message: string, { detail }: { detail: string } = { detail: "" }, ...buttons: string[]) => {
    dialog.asked.push(`${message} ${detail.split("\n")[0] ?? ""} ${buttons.join(" | ")}`);
    return Promise.resolve(dialog.answer);
  },
  onDidChangeActiveColorTheme: () => ({ dispose: () => {} }),
  onDidChangeActiveTextEditor: () => ({ dispose: () => {} }),
  registerFileDecorationProvider: () => {
    drawn.push("decorations on");
    return { dispose: () => drawn.push("decorations off") };
  },
  createTreeView: (id: string) => ({
    set badge(badge: { value: number } | undefined) {
      drawn.push(`badge ${id} ${badge?.value ?? "none"}`);
    },
    get visible() {
      return view.visible;
    },
    reveal: (row: unknown) => Promise.resolve(revealed.push(row)),
    get selection() {
      return view.selection;
    },
    onDidChangeSelection: (listener: typeof view.select) => {
      view.select = listener;
      return { dispose: () => {} };
    },
    set message(text: string) {
      drawn.push(`message ${id} ${text}`);
    },
    onDidChangeVisibility: (listener: typeof view.show) => {
      view.show = listener;
      return { dispose: () => {} };
    },
    onDidCollapseElement: () => ({ dispose: () => {} }),
    onDidExpandElement: () => ({ dispose: () => {} }),
    dispose: () => {},
  }),
  createStatusBarItem: (id: string) => ({
    set text(text: string) {
      drawn.push(`${id} ${text}`);
    },
    show: () => {},
    hide: () => {},
    dispose: () => {},
  }),
  get visibleTextEditors() {
    return desk.editors;
  },
  createTextEditorDecorationType: (options: { isWholeLine?: boolean; backgroundColor?: unknown; gutterIconSize?: string }) => ({
    name:
      options.isWholeLine === true
        ? "added"
        : options.gutterIconSize !== undefined
          ? "made"
          : options.backgroundColor === undefined
            ? "removed"
            : "words",
    dispose: () => {},
  }),
  onDidChangeVisibleTextEditors: (listener: () => void) => {
    desk.changed = listener;
    return { dispose: () => {} };
  },
  tabGroups: {
    get all() {
      return desk.editors.map(({ document, viewColumn }) => ({ viewColumn, activeTab: { input: new TabInputText(document.uri) } }));
    },
    onDidChangeTabs: () => ({ dispose: () => {} }),
  },
};

export class CancellationTokenSource {
  readonly token = { isCancellationRequested: false };

  cancel(): void {
    this.token.isCancellationRequested = true;
  }
}
