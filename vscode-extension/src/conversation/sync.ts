import { isDeepStrictEqual } from "node:util";

import type { Item, ToPage } from "./messages";
import { VERSION } from "./messages";

type Turns = Extract<ToPage, { readonly type: "turns" }>;

/**
 * Record of what the page has. The next message to it holds only what is different, under the next
 * revision: a page that misses one asks for all.
 */
export class Sync {
  #rev = 0;
  #sent: ReadonlyMap<string, readonly Item[]> = new Map();

  /** The message with all that is different since the last one; nothing if nothing is. `fresh`: the page has nothing. */
  message(now: ReadonlyMap<string, readonly Item[]>, fresh: boolean): Turns | undefined {
    const sent = fresh ? new Map<string, readonly Item[]>() : this.#sent;
    this.#sent = now;
    const differ = [...now].filter(([turn, items]) => sent.get(turn) !== items);
    const parts = differ.map(([turn, items]) => changesOf(turn, sent.get(turn), items));
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

function changesOf(turn: string, before: readonly Item[] | undefined, now: readonly Item[]): TurnChanges {
  const sent = new Map(before?.map((item) => [item.id, item]));
  const items: Item[] = [];
  const grown: Turns["grown"][number][] = [];
  for (const item of now) {
    const last = sent.get(item.id);
    const text = textOf(item);
    const delta = text.startsWith(textOf(last)) ? text.slice(textOf(last).length) : "";
    if (!isDeepStrictEqual(last, delta === "" ? item : { ...item, text: textOf(last) })) {
      items.push(item);
    } else if (delta !== "") {
      grown.push({ id: item.id, delta });
    }
  }
  const isSame = before?.length === now.length && before.every(({ id }, at) => id === now[at]?.id);
  return { turn: isSame ? (items.length === 0 ? [] : [{ turn }]) : [{ turn, ids: now.map(({ id }) => id) }], items, grown };
}

/** The text that grows while it is written. */
const textOf = (item: Item | undefined): string => (item?.kind === "text" ? item.text : "");
