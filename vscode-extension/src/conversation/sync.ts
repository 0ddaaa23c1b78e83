import type { Item, ToPage } from "./messages";
import { VERSION } from "./messages";

/** An item that is made only if it is sent. Items of the same id and version are equal, but for the end of their text. */
export interface Draft {
  readonly id: string;
  readonly version: string;
  /** Text that grows while it is written. */
  readonly text?: string;
  readonly make: () => Item;
}

type Turns = Extract<ToPage, { readonly type: "turns" }>;

/**
 * Record of what the page has. The next message to it holds only what is different, under the next
 * revision: a page that misses one asks for all.
 */
export class Sync {
  #rev = 0;
  #sent: ReadonlyMap<string, readonly Draft[]> = new Map();

  /** The message with all that is different since the last one; nothing if nothing is. `fresh`: the page has nothing. */
  message(now: ReadonlyMap<string, readonly Draft[]>, fresh: boolean): Turns | undefined {
    const sent = fresh ? new Map<string, readonly Draft[]>() : this.#sent;
    this.#sent = now;
    const differ = [...now].filter(([turn, drafts]) => sent.get(turn) !== drafts);
    const parts = differ.map(([turn, drafts]) => changesOf(turn, sent.get(turn), drafts));
    const [turns, items, grown] = [parts.flatMap((part) => part.turn), parts.flatMap((part) => part.items), parts.flatMap((part) => part.grown)];
    const isSameOrder = !fresh && sent.size === now.size && [...sent.keys()].every((turn, at) => turn === [...now.keys()][at]);
    if (isSameOrder && turns.length + grown.length === 0) {
      return undefined;
    }
    this.#rev += 1;
    return { v: VERSION, type: "turns", rev: this.#rev, fresh, ...(!isSameOrder && { order: [...now.keys()] }), turns, items, grown };
  }
}

interface TurnChanges {
  readonly turn: Turns["turns"];
  readonly items: readonly Item[];
  readonly grown: Turns["grown"];
}

function changesOf(turn: string, before: readonly Draft[] | undefined, drafts: readonly Draft[]): TurnChanges {
  const sent = new Map(before?.map((draft) => [draft.id, draft]));
  const items = drafts.filter(({ id, version }) => sent.get(id)?.version !== version).map(({ make }) => make());
  const grown = drafts.flatMap(({ id, version, text = "" }) => {
    const last = sent.get(id);
    const delta = last?.version === version ? text.slice(last.text?.length ?? 0) : "";
    return delta === "" ? [] : [{ id, delta }];
  });
  const isSame = before?.length === drafts.length && before.every(({ id }, at) => id === drafts[at]?.id);
  return { turn: isSame ? (items.length === 0 ? [] : [{ turn }]) : [{ turn, ids: drafts.map(({ id }) => id) }], items, grown };
}
