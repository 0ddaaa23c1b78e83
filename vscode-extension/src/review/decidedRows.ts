import type { Decision, ReviewNotification } from "../protocol";
import type { PlacedHunk } from "../stores/review";
import type { Store } from "../stores/store";

/** Time for which a decided row keeps its place, in milliseconds. */
export const KEPT_MS = 1_000;

/** Time after rows have moved in which a click is not meant for the row that it hits, in milliseconds. */
export const MOVED_MS = 400;

interface DecidedRow {
  readonly placed: PlacedHunk;
  readonly decision: Decision;
  /** Index among the rows of its file, and index of the file. */
  readonly index: number;
  readonly fileIndex: number;
}

/**
 * Rows of edits that a click has decided. Each keeps its place for a while, so that no other row moves under
 * the pointer of a slow double-click.
 */
export class DecidedRows {
  readonly #rows = new Map<string, DecidedRow>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #movedAt = Number.NEGATIVE_INFINITY;

  /** `released`: the rows below move up now. */
  constructor(
    private readonly store: Store,
    private readonly released: () => void,
  ) {}

  dispose(): void {
    this.#timers.forEach((timer) => clearTimeout(timer));
  }

  /** Keeps the row of an edit that is being decided. It is shown once the edit is no longer pending. */
  keep(placed: PlacedHunk, decision: Decision): void {
    const key = keyOf(placed);
    const index = this.placed(placed.file.uri).findIndex((other) => keyOf(other) === key);
    const fileIndex = this.files().findIndex(({ uri }) => uri === placed.file.uri);
    this.#rows.set(key, { placed, decision, index, fileIndex });
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#rows.delete(key) && !this.#isPending(placed)) {
        this.#movedAt = Date.now();
        this.released();
      }
    }, KEPT_MS);
    this.#timers.add(timer);
  }

  /** True if rows have just moved up: nobody has seen yet what is under the pointer. */
  hasMoved(): boolean {
    return Date.now() - this.#movedAt < MOVED_MS;
  }

  /** Decision about the edit of a row that is only kept. */
  decision(placed: PlacedHunk): Decision | undefined {
    const row = this.#rows.get(keyOf(placed));
    return row === undefined || this.#isPending(placed) ? undefined : row.decision;
  }

  /** Files with a row. */
  files(): readonly ReviewNotification[] {
    const files = [...this.store.state.reviews.files];
    for (const { placed, fileIndex } of this.#kept()) {
      if (!files.some(({ uri }) => uri === placed.file.uri)) {
        files.splice(fileIndex, 0, { ...placed.file, hunks: [] });
      }
    }
    return files;
  }

  /** The pending edits of a file, and the decided ones that keep their rows. */
  placed(uri: string): PlacedHunk[] {
    const rows = this.store.state.reviews.placed(uri);
    for (const { placed, index } of this.#kept()) {
      if (placed.file.uri === uri) {
        rows.splice(index, 0, placed);
      }
    }
    return rows;
  }

  #kept(): DecidedRow[] {
    return [...this.#rows.values()].filter(({ placed }) => !this.#isPending(placed)).sort((a, b) => a.index - b.index);
  }

  #isPending({ file, hunk }: PlacedHunk): boolean {
    return this.store.state.reviews.placed(file.uri).some((other) => other.hunk.id === hunk.id);
  }
}

function keyOf({ file, hunk }: PlacedHunk): string {
  return `${file.uri}#${hunk.id}`;
}
