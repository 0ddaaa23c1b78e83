import type { Item, ToPage } from "../src/conversation/messages";

/** Items of a turn, oldest first. */
export interface Turn {
  readonly turn: string;
  readonly items: readonly Item[];
}

/** The turns after a message of the extension. Turns and items that did not change stay the same values. */
export function changed(before: readonly Turn[], { fresh, order, turns, items, grown }: Extract<ToPage, { type: "turns" }>): readonly Turn[] {
  const known = new Map((fresh ? [] : before).map((turn) => [turn.turn, turn]));
  const news = new Map(items.map((item) => [item.id, item]));
  for (const { turn, ids } of turns) {
    const own = new Map(known.get(turn)?.items.map((item) => [item.id, item]));
    known.set(turn, { turn, items: (ids ?? [...own.keys()]).flatMap((id) => news.get(id) ?? own.get(id) ?? []) });
  }
  for (const { id, delta } of grown) {
    const grow = (item: Item): Item => (item.id === id && item.kind === "text" ? { ...item, text: item.text + delta } : item);
    const of = [...known.values()].findLast((turn) => turn.items.some((item) => item.id === id));
    if (of !== undefined) {
      known.set(of.turn, { ...of, items: of.items.map(grow) });
    }
  }
  return (order ?? before.map(({ turn }) => turn)).flatMap((turn) => known.get(turn) ?? []);
}
