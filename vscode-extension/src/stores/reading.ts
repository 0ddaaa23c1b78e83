import type { OpenSessionParams, TranscriptEntry } from "../protocol";
import { Emitter } from "./emitter";
import type { Store } from "./store";
import { type Entry, Transcript, type Turns } from "./transcript";

/** End of a page: the entry that follows it. */
export type PageEnd = Pick<OpenSessionParams, "before" | "beforeTurn" | "beforeCall">;

/** Reads the page with this end. */
export type ReadPage = (sessionId: string, end: PageEnd) => Promise<{ readonly transcript: TranscriptEntry[]; readonly earlier?: string }>;

export type Direction = "earlier" | "later" | "newest";

/** Parts of the conversation that are not in memory: before what is read, and after it. */
export interface Beyond {
  readonly earlier: "none" | "more" | "loading" | "failed";
  readonly later: "none" | "more" | "loading";
  /** Reason why a page could not be read. */
  readonly fault: string;
}

interface Page {
  readonly end: PageEnd;
  readonly entries: Transcript;
  readonly earlier: string | undefined;
}

/** Pages that are kept besides the newest entries. Reading on in a direction drops a page at the other end. */
const PAGES = 2;

/**
 * Part of a session's conversation that the user reads: the newest entries, and earlier pages in front of
 * them. When many pages were read, the newest entries are left out until the user comes back to them.
 */
export class Reading {
  #session = "";
  /** Consecutive pages, oldest first. */
  #pages: readonly Page[] = [];
  /** Ends of the pages between these and the newest entries, the newest first. */
  #later: readonly PageEnd[] = [];
  /** Oldest of the newest entries when the first page was read. */
  #boundary = "";
  #loading: Direction | undefined;
  #fault = "";
  /** Number of the present conversation: an answer for another one comes too late. */
  #number = 0;
  readonly #changed = new Emitter<void>();

  /** Another part is in memory, or is being read. */
  readonly onDidChange = this.#changed.event;

  constructor(
    private readonly store: Store,
    private readonly read: ReadPage,
    private readonly reasonOf: (error: unknown) => string,
  ) {
    store.on(["transcript"], ({ change: { kind } }) => {
      // Another conversation is in view, or the same one of another daemon.
      if (kind === "opened" || kind === "connected" || kind === "removed") {
        this.#clear();
      }
    });
  }

  get #transcript(): Transcript {
    return this.store.state.transcript;
  }

  get(id: string): Entry | undefined {
    return this.#pages.map(({ entries }) => entries.get(id)).find((entry) => entry !== undefined) ?? this.#transcript.get(id);
  }

  /** True if the newest entries are part of it. */
  get hasNewest(): boolean {
    // Entries that came since may have displaced those that the first page ends at.
    return this.#later.length === 0 && (this.#pages.length === 0 || this.#transcript.get(this.#boundary) !== undefined);
  }

  /** Entries of each turn, oldest turn first. */
  turnsOf(session: string): Turns {
    if (session !== this.#session || this.#pages.length === 0) {
      return this.#transcript.turnsOf(session);
    }
    const parts = this.#pages.map(({ entries }) => entries.turnsOf(session));
    return joined([...parts, ...(this.hasNewest ? [this.#transcript.turnsOf(session)] : [])]);
  }

  beyond(session: string): Beyond {
    const here = session === this.#session;
    const loading = here ? this.#loading : undefined;
    const more = this.#endOfNext(session) !== undefined;
    const fault = here && more ? this.#fault : "";
    const later = here && !this.hasNewest;
    return {
      earlier: loading === "earlier" ? "loading" : !more ? "none" : fault === "" ? "more" : "failed",
      later: !later ? "none" : loading === "later" ? "loading" : "more",
      fault,
    };
  }

  /** Reads on in a direction. One page is read at a time. */
  async load(session: string, direction: Direction): Promise<void> {
    if (session !== this.#session) {
      this.#clear();
      this.#session = session;
    }
    if (direction === "newest") {
      // Also while a page is read, which then comes too late.
      this.#clear();
      this.#changed.fire();
      return;
    }
    if (this.#loading !== undefined) {
      return;
    }
    const end = direction === "earlier" ? this.#endOfNext(session) : this.#later.at(-1);
    if (end === undefined) {
      if (direction === "later") {
        this.#clear();
        this.#changed.fire();
      }
      return;
    }
    const [number, boundary] = [this.#number, this.#pages.length === 0 ? boundaryOf(this.#transcript, session)?.id : undefined];
    this.#loading = direction;
    this.#fault = "";
    this.#changed.fire();
    try {
      const { transcript, earlier } = await this.read(session, end);
      if (number !== this.#number) {
        return;
      }
      const entries = Transcript.of([{ sessionId: session, transcript }]);
      this.#take({ end, entries, earlier }, direction, boundary);
    } catch (error) {
      if (number !== this.#number) {
        return;
      }
      this.#fault = this.reasonOf(error);
    }
    this.#loading = undefined;
    this.#changed.fire();
  }

  #take(page: Page, direction: "earlier" | "later", boundary: string | undefined): void {
    if (boundary !== undefined) {
      if (this.#transcript.get(boundary) === undefined) {
        // It was displaced while the page was read: the page ends too early.
        return;
      }
      this.#boundary = boundary;
      this.store.apply({ kind: "paged", entry: boundary });
    }
    if (direction === "earlier") {
      const pages = [page, ...this.#pages];
      this.#later = [...this.#later, ...pages.slice(PAGES).map(({ end }) => end)];
      this.#pages = pages.slice(0, PAGES);
    } else {
      this.#later = this.#later.slice(0, -1);
      this.#pages = [...this.#pages, page].slice(-PAGES);
    }
  }

  #endOfNext(session: string): PageEnd | undefined {
    const [first] = session === this.#session ? this.#pages : [];
    if (first !== undefined) {
      return first.earlier === undefined ? undefined : { before: first.earlier };
    }
    return this.#transcript.isCut(session) ? boundaryOf(this.#transcript, session)?.end : undefined;
  }

  #clear(): void {
    this.#number += 1;
    this.#pages = [];
    this.#later = [];
    this.#loading = undefined;
    this.#fault = "";
  }
}

/** Oldest entry that names a place in the journal: the start of a turn, or a call that is over. The count of messages begins again there. */
function boundaryOf(transcript: Transcript, session: string): { readonly id: string; readonly end: PageEnd } | undefined {
  for (const [turn, entries] of transcript.turnsOf(session)) {
    for (const entry of entries) {
      if (entry.kind === "message" && entry.id === `user:${turn}`) {
        return { id: entry.id, end: { beforeTurn: turn } };
      }
      if (
        entry.kind === "tool" &&
        entry.parent === undefined &&
        entry.state !== "queued" &&
        entry.state !== "running" &&
        entry.state !== "awaitingApproval"
      ) {
        return { id: entry.id, end: { beforeCall: entry.callId } };
      }
    }
  }
  return undefined;
}

/** Parts of a conversation as one: a turn may begin in one part and end in the next. */
function joined(parts: readonly Turns[]): Turns {
  const all = new Map<string, Entry[]>();
  const known = new Set<string>();
  for (const [turn, entries] of parts.flatMap((part) => [...part])) {
    const fresh = entries.filter(({ id }) => !known.has(id));
    fresh.forEach(({ id }) => known.add(id));
    all.set(turn, [...(all.get(turn) ?? []), ...fresh]);
  }
  return all;
}
