import * as vscode from "vscode";

/** Attempts to insert a letter while the text changes: each key of a quick typist can end one. */
const MOST_TRIES = 50;

interface LateLetter {
  readonly letter: string;
  readonly editor: vscode.TextEditor;
  /** Offsets at which the cursors stood when the key was pressed; each attempt brings them up to date. */
  places: readonly number[];
  /** Changes of the text since the places were right. */
  readonly missed: Missed[];
}

interface Missed {
  readonly changes: readonly Change[];
  /** The first change since the attempt to insert a letter: the letter itself, if the attempt succeeds. */
  readonly isFirst: boolean;
}

type Change = Pick<vscode.TextDocumentContentChangeEvent, "rangeOffset" | "rangeLength" | "text">;

/**
 * Letters that VS Code gave to Cairn as keys although they belong in the text. Each is inserted at the place
 * of its key press, so that it does not matter which letters VS Code has typed since.
 */
export class TypedAfterReview {
  readonly #waiting: LateLetter[] = [];
  #inserting: Promise<void> | undefined;
  /** The text has not changed since the last attempt began. */
  #isUnchanged = false;

  /**
   * Inserts a letter at the cursors. The calls of VS Code arrive in the order of the keys, so that text and
   * cursors are now those of the key press.
   */
  insert(letter: string): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      return Promise.resolve();
    }
    const places = editor.selections.map(({ active }) => editor.document.offsetAt(active));
    this.#waiting.push({ letter, editor, places, missed: [] });
    this.#inserting ??= this.#insertAll().finally(() => (this.#inserting = undefined));
    return this.#inserting;
  }

  /** Keeps a change of the text until the places move along with it. */
  follow(document: vscode.TextDocument, changes: readonly Change[]): void {
    const isFirst = this.#isUnchanged && document === this.#waiting[0]?.editor.document;
    this.#isUnchanged &&= !isFirst;
    this.#waiting.filter(({ editor }) => editor.document === document).forEach(({ missed }) => missed.push({ changes, isFirst }));
  }

  async #insertAll(): Promise<void> {
    for (let late = this.#waiting[0]; late !== undefined; late = this.#waiting[0]) {
      try {
        await this.#insertOne(late);
      } finally {
        this.#waiting.shift();
      }
    }
  }

  async #insertOne(late: LateLetter): Promise<void> {
    const { editor, letter } = late;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      this.#isUnchanged = true;
      const done = await editor.edit((edit) => late.places.forEach((place) => edit.insert(editor.document.positionAt(place), letter)), {
        undoStopBefore: false,
        undoStopAfter: false,
      });
      this.#moveAll(done);
      if (done) {
        return;
      }
    }
    await vscode.commands.executeCommand("type", { text: letter });
  }

  /**
   * Moves the places along with what changed since. VS Code refuses an edit of a text that has changed, so that
   * the first change of an attempt that succeeded (`done`) is the letter; the places after it move behind it.
   * The change alone does not tell: VS Code can have typed the same letter at the same place.
   */
  #moveAll(done: boolean): void {
    for (const late of this.#waiting) {
      for (const { changes, isFirst } of late.missed.splice(0)) {
        for (const change of changes) {
          late.places = late.places.map((place) => moved(place, change, done && isFirst));
        }
      }
    }
  }
}

function moved(place: number, { rangeOffset, rangeLength, text }: Change, before: boolean): number {
  const end = rangeOffset + rangeLength;
  if (end <= place && (rangeOffset < place || before)) {
    return place + text.length - rangeLength;
  }
  return rangeOffset < place && place < end ? rangeOffset : place;
}
