import type { Item, Patch, ToPage } from "./messages";
import { VERSION } from "./messages";

/** An item that is made only if it is sent. Items of the same id and version are equal. */
export interface Draft {
  readonly id: string;
  readonly version: string;
  readonly make: () => Item;
}

interface Sent {
  version: string;
  after: string;
}

/**
 * Record of what the page has. The next message to it holds only what is different, under the next
 * revision: a page that misses one asks for all.
 */
export class Sync {
  #rev = 0;
  readonly #turns = new Map<string, Map<string, Sent>>();
  #patches: Patch[] = [];
  #append: { id: string; delta: string }[] = [];
  #gone: string[] = [];

  /** All turns, for a page that has nothing. */
  reset(turns: Iterable<readonly [string, readonly Draft[]]>): ToPage {
    this.#turns.clear();
    this.#patches = [];
    this.#append = [];
    this.#gone = [];
    const all = [...turns].map(([turn, drafts]) => {
      this.#turns.set(turn, sentOf(drafts));
      return { turn, items: drafts.map(({ make }) => make()) };
    });
    this.#rev += 1;
    return { v: VERSION, type: "reset", rev: this.#rev, turns: all };
  }

  /** Turns that the page has. */
  get turns(): Iterable<string> {
    return this.#turns.keys();
  }

  /** A turn as it is now, and the turn that follows it; without items it is no longer shown. */
  turn(turn: string, drafts: readonly Draft[], following = ""): void {
    const before = this.#turns.get(turn);
    if (drafts.length === 0) {
      if (before !== undefined) {
        this.#turns.delete(turn);
        this.#gone.push(turn);
      }
      return;
    }
    const next = sentOf(drafts);
    const put = drafts.flatMap(({ id, version, make }) => {
      const sent = before?.get(id);
      const after = next.get(id)?.after ?? "";
      return sent?.version === version && sent.after === after ? [] : [{ item: make(), after }];
    });
    const drop = [...(before?.keys() ?? [])].filter((id) => !next.has(id));
    this.#turns.set(turn, next);
    if (put.length + drop.length > 0) {
      // An item that is sent as a whole holds what would have been appended to it.
      const whole = new Set([...put.map(({ item }) => item.id), ...drop]);
      this.#append = this.#append.filter(({ id }) => !whole.has(id));
      this.#patches.push({ turn, before: following, put, drop });
    }
  }

  /**
   * Text appended to an item that the page has, of this version before and after. False if the page
   * does not have it so: then its turn has to be compared.
   */
  grow(turn: string, id: string, delta: string, before: string, after: string): boolean {
    const sent = this.#turns.get(turn)?.get(id);
    if (sent?.version !== before) {
      return false;
    }
    sent.version = after;
    const last = this.#append.at(-1);
    if (last?.id === id) {
      last.delta += delta;
    } else {
      this.#append.push({ id, delta });
    }
    return true;
  }

  /** The message with all that is different since the last one; nothing if nothing is. */
  flush(): ToPage | undefined {
    if (this.#patches.length + this.#append.length + this.#gone.length === 0) {
      return undefined;
    }
    this.#rev += 1;
    const message: ToPage = { v: VERSION, type: "patch", rev: this.#rev, patches: this.#patches, append: this.#append, gone: this.#gone };
    this.#patches = [];
    this.#append = [];
    this.#gone = [];
    return message;
  }
}

function sentOf(drafts: readonly Draft[]): Map<string, Sent> {
  return new Map(drafts.map(({ id, version }, index) => [id, { version, after: drafts[index - 1]?.id ?? "" }]));
}
