import * as vscode from "vscode";

/** Attempts to insert a letter while the text changes: each key of a quick typist can end one. */
const MOST_TRIES = 50;

interface LateLetter {
  readonly letter: string;
  readonly editor: vscode.TextEditor;
  /** Offsets at which the cursors stood when the key was pressed, in the text as it is now. */
  places: readonly number[];
}

type Change = Pick<vscode.TextDocumentContentChangeEvent, "rangeOffset" | "rangeLength" | "text">;

/**
 * Letters that VS Code gave to Cairn as keys although they belong in the text. Each is inserted at the place
 * of its key press, so that it does not matter which letters VS Code has typed meanwhile.
 */
export class LateLetters {
  readonly #waiting: LateLetter[] = [];
  #inserting: Promise<void> | undefined;

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
    this.#waiting.push({ letter, editor, places });
    this.#inserting ??= this.#insertAll().finally(() => (this.#inserting = undefined));
    return this.#inserting;
  }

  /** Moves the places along with a change of the text. */
  follow(document: vscode.TextDocument, changes: readonly Change[]): void {
    const [current] = this.#waiting;
    for (const late of this.#waiting) {
      if (late.editor.document === document) {
        for (const change of changes) {
          // The letters come one after the other; what VS Code typed meanwhile comes after them.
          const before = late !== current && current !== undefined && isOf(current, change);
          late.places = late.places.map((place) => moved(place, change, before));
        }
      }
    }
  }

  async #insertAll(): Promise<void> {
    for (let late = this.#waiting[0]; late !== undefined; late = this.#waiting[0]) {
      try {
        await insertOne(late);
      } finally {
        this.#waiting.shift();
      }
    }
  }
}

/** VS Code refuses an edit of a text that has changed since: then the places have moved. */
async function insertOne(late: LateLetter): Promise<void> {
  const { editor, letter } = late;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const done = await editor.edit((edit) => late.places.forEach((place) => edit.insert(editor.document.positionAt(place), letter)), {
      undoStopBefore: false,
      undoStopAfter: false,
    });
    if (done) {
      return;
    }
  }
  await vscode.commands.executeCommand("type", { text: letter });
}

function isOf({ letter, places }: LateLetter, { rangeOffset, rangeLength, text }: Change): boolean {
  return rangeLength === 0 && text === letter && places.includes(rangeOffset);
}

function moved(place: number, { rangeOffset, rangeLength, text }: Change, before: boolean): number {
  const end = rangeOffset + rangeLength;
  if (end <= place && (rangeOffset < place || before)) {
    return place + text.length - rangeLength;
  }
  return rangeOffset < place && place < end ? rangeOffset : place;
}
