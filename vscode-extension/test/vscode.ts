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

/** Redraws that were requested of the window, in order. */
export const drawn: string[] = [];

export class EventEmitter {
  readonly event = (): { dispose(): void } => ({ dispose: () => {} });
  fire(): void {
    drawn.push("event");
  }
  dispose(): void {}
}

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

export const CodeActionKind = { QuickFix: "quickfix" };
export const CommentMode = { Preview: 1 };
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
  readonly document: { uri: Uri; version: number; lineCount: number; lineAt: (line: number) => { range: Range } };

  constructor(uri: string) {
    this.document = { uri: Uri.parse(uri), version: 1, lineCount: 100, lineAt: (line) => ({ range: new Range(line, 0, line, 9) }) };
  }

  setDecorations(type: { name: string }, options: (Range | { range: Range })[]): void {
    const lines = options.map((option) => ("range" in option ? option.range : option).start.line);
    this.resets.push(`${type.name} ${lines.join(" ")}`.trim());
  }
}

export interface FakeTab {
  readonly input: TabInputText;
  isActive: boolean;
  isDirty: boolean;
}

interface TabChange {
  readonly opened: FakeTab[];
  readonly changed: FakeTab[];
  readonly closed: FakeTab[];
}

/** Open tabs, set by a test, and closed ones. */
export const desk = {
  editors: [] as FakeEditor[],
  changed: () => {},
  tabs: undefined as ((change: TabChange) => void) | undefined,
  closed: [] as FakeTab[],
};

export class Disposable {
  static from(...parts: { dispose(): void }[]): Disposable {
    return new Disposable(parts);
  }

  private constructor(private readonly parts: { dispose(): void }[]) {}

  dispose(): void {
    for (const part of this.parts) {
      part.dispose();
    }
  }
}

export enum StatusBarAlignment {
  Left = 1,
}

export enum TreeItemCollapsibleState {
  None,
  Collapsed,
  Expanded,
}

export const commands = {
  executeCommand: (command: string, key: string) => void drawn.push(`${command} ${key}`),
  registerCommand: () => ({ dispose: () => {} }),
};

export const window = {
  activeTextEditor: undefined,
  onDidChangeActiveTextEditor: () => ({ dispose: () => {} }),
  registerFileDecorationProvider: () => ({ dispose: () => {} }),
  createTreeView: (id: string) => ({
    set badge(badge: { value: number } | undefined) {
      drawn.push(`badge ${id} ${badge?.value ?? "none"}`);
    },
    onDidCollapseElement: () => ({ dispose: () => {} }),
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
  createTextEditorDecorationType: ({ isWholeLine }: { isWholeLine?: boolean }) => ({
    name: isWholeLine === true ? "added" : "removed",
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
    onDidChangeTabs: (listener: (change: TabChange) => void) => {
      desk.tabs = listener;
      return { dispose: () => {} };
    },
    close: (tab: FakeTab) => Promise.resolve(desk.closed.push(tab) > 0),
  },
};
