import type { Hunk, ReviewNotification } from "../protocol";
import { isNews } from "./status";

/** A hunk and the file it is in. */
export interface PlacedHunk {
  readonly file: ReviewNotification;
  readonly hunk: Hunk;
  /** 1-based place among the hunks of its file, for display only. */
  readonly ordinal: number;
}

/**
 * The proposed edits of every file, exactly as the daemon reports them. Hunks are known by id;
 * places are computed when asked for and never kept.
 */
export class Reviews {
  readonly #canonical: (uri: string) => string;
  /** Newest report of each file. One without hunks stays, so that an older report that comes later changes nothing. */
  readonly #all: ReadonlyMap<string, ReviewNotification>;
  /** Files with something pending, by path. */
  readonly files: readonly ReviewNotification[];

  /** `canonical` gives one spelling to URIs that mean the same file. */
  constructor(canonical: (uri: string) => string = (uri) => uri, all: ReadonlyMap<string, ReviewNotification> = new Map()) {
    this.#canonical = canonical;
    this.#all = all;
    this.files = [...all.values()].filter(({ hunks }) => hunks.length > 0).sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  }

  get isEmpty(): boolean {
    return this.files.length === 0;
  }

  /** Files with edits that a tool call waits for: the turn continues when the user decides. */
  get waiting(): ReviewNotification[] {
    return this.files.filter(({ waiting }) => waiting === true);
  }

  get pending(): number {
    return this.files.reduce((count, { hunks }) => count + hunks.length, 0);
  }

  get(uri: string): ReviewNotification | undefined {
    const file = this.#all.get(this.#canonical(uri));
    return file?.hunks.length === 0 ? undefined : file;
  }

  /** With newer reports of files. */
  with(...news: readonly ReviewNotification[]): Reviews {
    const all = new Map(this.#all);
    for (const next of news) {
      const key = this.#canonical(next.uri);
      if (isNews(all.get(key), next)) {
        all.set(key, next);
      }
    }
    return new Reviews(this.#canonical, all);
  }

  /** The reports of another daemon in place of these. */
  restored(files: readonly ReviewNotification[]): Reviews {
    return new Reviews(this.#canonical).with(...files);
  }

  /** Files whose report is another one than before. */
  changedSince(before: Reviews): string[] {
    return [...new Set([...before.#all.keys(), ...this.#all.keys()])].filter((uri) => before.#all.get(uri) !== this.#all.get(uri));
  }

  /** The hunk whose lines (or the place where lines were removed) hold this line. */
  at(uri: string, line: number): PlacedHunk | undefined {
    return this.touching(uri, line).at(0);
  }

  /** Every hunk that can be decided at this line, those about lines first. */
  touching(uri: string, line: number): PlacedHunk[] {
    const here = this.placed(uri).filter(({ hunk }) => touchesLine(hunk, line));
    return [...here.filter(({ hunk }) => isOfLines(hunk)), ...here.filter(({ hunk }) => !isOfLines(hunk))];
  }

  placed(uri: string): PlacedHunk[] {
    const file = this.get(uri);
    return file === undefined ? [] : file.hunks.map((hunk, index) => ({ file, hunk, ordinal: index + 1 }));
  }

  /** Edits to review that the agent or a subagent made under a plan item, in one file or in all. */
  ofItem(sessionId: string, planItem: string, uri?: string): PlacedHunk[] {
    const files = uri === undefined ? this.files.map((file) => file.uri) : [uri];
    return files
      .flatMap((file) => this.placed(file))
      .filter(({ hunk }) => [hunk, hunk.subagent].some((of) => of?.sessionId === sessionId && of.planItem === planItem));
  }

  /**
   * The next hunk after a place, then in the next file, and around at the end. From a file with
   * nothing pending (or from nowhere) it is the first one (the last one when going back).
   */
  neighbour(uri: string | undefined, line: number, direction: "next" | "previous"): PlacedHunk | undefined {
    const files = this.files.filter((file) => file.hunks.length > 0);
    const key = uri === undefined ? undefined : this.#canonical(uri);
    const here = files.findIndex((file) => this.#canonical(file.uri) === key);
    const forward = direction === "next";
    if (here >= 0) {
      const placed = this.placed(files[here]?.uri ?? "");
      const found = forward
        ? placed.find(({ hunk }) => hunk.range.start.line > line)
        : placed.findLast(({ hunk }) => hunk.range.start.line < line && !touchesLine(hunk, line));
      if (found !== undefined) {
        return found;
      }
    }
    const step = forward ? 1 : -1;
    const start = here >= 0 ? here + step : forward ? 0 : files.length - 1;
    const file = files[(start + files.length) % files.length];
    return file === undefined ? undefined : this.placed(file.uri).at(forward ? 0 : -1);
  }
}

/** `+2 −1`, with a real minus sign. */
export function counts(hunk: Hunk): string {
  return `+${hunk.addedLines} −${hunk.removedLines}`;
}

export function lineCounts(hunks: readonly Hunk[]): string {
  const added = hunks.reduce((sum, hunk) => sum + hunk.addedLines, 0);
  const removed = hunks.reduce((sum, hunk) => sum + hunk.removedLines, 0);
  return `+${added} −${removed}`;
}

/** True if lines of the text can show the hunk; false if it is about the file as a whole. */
export function isOfLines(hunk: Hunk): boolean {
  return hunk.wholeFile === undefined;
}

/** False for an outdated edit whose old lines are not in the text: it can only be forgotten. An older daemon omits it. */
export function canAccept(hunk: Hunk): boolean {
  return !hunk.outdated || hunk.canApply !== false;
}

/** True for a file that is new from its first line to its last. */
export function isNewFile({ kind, hunks }: ReviewNotification): boolean {
  return kind === "created" && hunks.length === 1 && hunks[0]?.removedLines === 0 && !hunks[0].outdated;
}

/** Only removed lines: nothing of it is in the live text. */
export function isRemoval(hunk: Hunk): boolean {
  return hunk.addedLines === 0;
}

function touchesLine(hunk: Hunk, line: number): boolean {
  const { start, end } = hunk.range;
  if (start.line === end.line && start.character === end.character) {
    return line === start.line || line === start.line - 1;
  }
  // A range of whole lines ends at column 0 of the line after, except at the end of the text.
  return line >= start.line && (line < end.line || (line === end.line && end.character > 0));
}
