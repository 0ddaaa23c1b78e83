// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

import type { Item, ToPage } from "../../src/conversation/messages";
import type { Beyond, Direction } from "../../src/stores/reading";
import { List } from "../list";
import { part } from "../parts";
import { changed } from "../turns";

beforeAll(() => {
  // Sizes are not known in this environment: nothing is observed.
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe(): void {}
    },
  );
});

type Change = Extract<ToPage, { type: "turns" }>;

const user = (id: string, text = id): Item => ({ id, kind: "user", text, first: true, time: "", state: "", attachments: [] });
const turns = (count: number) => Array.from({ length: count }, (_, n) => ({ turn: `t${n}`, items: [user(`t${n}.a`), user(`t${n}.b`)] }));

describe("a long conversation", () => {
  let page: HTMLElement;
  let list: List | null;
  let shown: Pick<List["props"], "beyond" | "number" | "turns">;
  let done: string[];
  let asked: Direction[];
  let said: string[];
  const below = document.createElement("div");
  const none: Beyond = { earlier: "none", later: "none", fault: "" };

  const draw = (news: Partial<typeof shown>): void => {
    shown = { ...shown, ...news };
    const port = {
      open: () => {},
      act: () => {},
      edit: () => {},
      output: () => {},
      restore: () => {},
      copy: (id: string) => void done.push(`copy ${id}`),
      resend: ({ id }: Item) => void done.push(`resend ${id}`),
    };
    const ask = (direction: Direction) => void asked.push(direction);
    const announce = (words: string) => void said.push(words);
    const ref = (instance: List | null) => void (list = instance);
    void act(() => render(part(List, { ...shown, reminders: false, port, announce, ask, below, ref }), page));
  };
  /** Another conversation. */
  const reset = (now: typeof shown.turns) => draw({ turns: now, number: shown.number + 1 });
  const change = (message: Partial<Change>) =>
    draw({ turns: changed(shown.turns, { v: 1, type: "turns", rev: 1, fresh: false, turns: [], items: [], grown: [], ...message }) });

  beforeEach(() => {
    [done, asked, said] = [[], [], []];
    page = document.createElement("div");
    shown = { turns: [], number: 0, beyond: none };
    reset(turns(400));
  });
  afterEach(() => render(null, page));

  const log = () => page.querySelector<HTMLElement>(".log") ?? expect.fail("no list");
  const ids = () => [...page.querySelectorAll<HTMLElement>(".item")].map(({ dataset }) => dataset["id"]);
  const earlier = () => page.querySelector<HTMLElement>(".earlier");
  const click = (element: HTMLElement | null | undefined) => void act(() => element?.click());
  const press = (element: Element | null, key: string, over: KeyboardEventInit = {}) =>
    void act(() => void element?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...over })));

  it("stays at its end while a row is shorter for a moment, until the reader scrolls up", () => {
    const sizes = { scrollHeight: 2_000, clientHeight: 500, scrollTop: 1_500 };
    for (const name of ["scrollHeight", "clientHeight", "scrollTop"] as const) {
      Object.defineProperty(log(), name, { get: () => sizes[name], set: (value: number) => (sizes[name] = value) });
    }
    const scroll = (top: number) => {
      sizes.scrollTop = top;
      void act(() => void log().dispatchEvent(new Event("scroll")));
    };
    let count = 0;
    const news = () => change({ turns: [{ turn: "t399" }], items: [user("t399.b", `${++count}`)] });
    reset(turns(1));
    news();
    sizes.scrollHeight = 2_400;
    scroll(1_400);
    expect(sizes.scrollTop).toBe(2_400);
    log().dispatchEvent(new WheelEvent("wheel", { deltaY: -1 }));
    news();
    scroll(1_000);
    news();
    expect(sizes.scrollTop).toBe(1_000);
    scroll(1_900);
    news();
    expect(sizes.scrollTop).toBe(2_400);
  });

  it("leaves a reader near its end where they are until there is news", () => {
    const sizes = { scrollHeight: 2_000, clientHeight: 500 };
    for (const [name, value] of Object.entries(sizes)) {
      Object.defineProperty(log(), name, { value });
    }
    void act(() => list?.toEnd());
    log().scrollTop = 1_490;
    void act(() => void log().dispatchEvent(new Event("scroll")));
    void act(() => void page.querySelector(".item")?.dispatchEvent(new FocusEvent("focusin", { bubbles: true })));
    draw({});
    expect(log().scrollTop).toBe(1_490);
    change({ turns: [{ turn: "t399" }], items: [user("t399.b", "news")] });
    expect(log().scrollTop).toBe(2_000);
  });

  it("rests at the start of the page where no conversation has begun", () => {
    Object.defineProperty(log(), "scrollHeight", { value: 900, configurable: true });
    void act(() => list?.toEnd());
    expect(log().scrollTop).toBe(900);
    reset([]);
    expect(log().scrollTop).toBe(0);
    expect(earlier()?.hidden).toBe(true);
  });

  it("leaves the focus in a card below when there is news", () => {
    document.body.append(page);
    below.innerHTML = '<section class="card" tabindex="-1"></section>';
    below.querySelector<HTMLElement>(".card")?.focus();
    change({ turns: [{ turn: "t399" }], items: [user("t399.b", "news")] });
    expect(document.activeElement?.className).toBe("card");
    below.replaceChildren();
    page.remove();
  });

  it("draws its end, and earlier turns when asked to", () => {
    expect(ids()).toHaveLength(300);
    expect(ids().at(-1)).toBe("t399.b");
    click(earlier());
    expect(ids()).toHaveLength(600);
    click(earlier());
    expect(earlier()?.hidden).toBe(true);
    expect(ids()).toEqual(turns(400).flatMap(({ items }) => items.map(({ id }) => id)));
  });

  it("draws earlier turns when the first item is left by the arrow key", () => {
    document.body.replaceChildren(page);
    const first = page.querySelector<HTMLElement>(".item");
    const was = first?.dataset["id"];
    void act(() => first?.focus());
    press(first, "ArrowUp");
    expect(ids()).toHaveLength(600);
    expect((document.activeElement as HTMLElement).dataset["id"]).toBe(ids()[ids().indexOf(was) - 1]);
  });

  it("draws the item to which it is led, unfolds it and gives it the focus", () => {
    const command = { kind: "command", command: "npm test", state: "done", output: "", lines: 0, live: "", note: "" } as const;
    const call: Item = { ...command, id: "call", exitCode: undefined, elapsedMs: undefined };
    document.body.replaceChildren(page);
    reset([{ turn: "t", items: [call] }, ...turns(400)]);
    Element.prototype.scrollIntoView = () => {};
    expect(ids()).not.toContain("call");
    void act(() => list?.show("call"));
    expect(ids()).toContain("call");
    expect(document.activeElement?.closest<HTMLElement>(".item")?.dataset["id"]).toBe("call");
    expect(page.querySelector("[data-id=call] .fold")?.getAttribute("aria-expanded")).toBe("true");
    void act(() => list?.show("of another session"));
    expect(document.activeElement?.closest<HTMLElement>(".item")?.dataset["id"]).toBe("call");
  });

  it("takes news of turns that are not drawn", () => {
    const order = ["t0", ...shown.turns.slice(2).map(({ turn }) => turn)];
    change({ order, turns: [{ turn: "t0", ids: ["t0.0", "t0.b", "t0.c"] }], items: [user("t0.b", "changed"), user("t0.c"), user("t0.0")] });
    expect(ids()).toHaveLength(300);
    while (earlier()?.hidden === false) {
      click(earlier());
    }
    expect(ids().slice(0, 4)).toEqual(["t0.0", "t0.b", "t0.c", "t2.a"]);
    expect(page.querySelector("[data-id='t0.b']")?.textContent).toBe("changed");
  });

  it("keeps the elements of items that did not change, and draws text that grew", () => {
    const text: Item = { id: "text", kind: "text", text: "One", streaming: true, cut: false };
    change({ turns: [{ turn: "t399", ids: ["t399.a", "text"] }], items: [text] });
    const [kept, item] = [page.querySelector("[data-id='t399.a']"), page.querySelector("[data-id=text]")];
    change({ grown: [{ id: "text", delta: " two" }] });
    expect([page.querySelector("[data-id='t399.a']"), page.querySelector("[data-id=text]")]).toEqual([kept, item]);
    expect([item?.textContent.trim(), said]).toEqual(["One two", []]);
    change({ turns: [{ turn: "t399" }], items: [{ ...text, text: "One two.", streaming: false }] });
    expect([item?.textContent.trim(), said]).toEqual(["One two.", [expect.stringContaining("One two.")]]);
  });

  it("does not grow without end while its end is read", () => {
    for (let n = 0; n < 40; n += 1) {
      const items = Array.from({ length: 10 }, (_, i) => user(`new${n}.${i}`));
      change({ order: [...shown.turns.map(({ turn }) => turn), `new${n}`], turns: [{ turn: `new${n}`, ids: items.map(({ id }) => id) }], items });
      expect(ids().length).toBeLessThanOrEqual(600);
    }
    expect(ids().at(-1)).toBe("new39.9");
    while (earlier()?.hidden === false) {
      click(earlier());
    }
    expect(ids()).toHaveLength(1_200);
    expect(ids()[0]).toBe("t0.a");
  });

  it("has actions on a message, by keys and by buttons that Tab reaches from the message", () => {
    document.body.replaceChildren(page);
    const last = page.querySelector<HTMLElement>("[data-id='t399.b']");
    const buttons = (within = last) => [...(within?.querySelectorAll<HTMLButtonElement>(".item-actions button") ?? [])];
    expect(buttons().map((button) => [button.getAttribute("aria-label"), button.tabIndex])).toEqual([
      ["Edit and Resend", 0],
      ["Copy Message", 0],
    ]);
    expect(buttons(last?.previousElementSibling as HTMLElement).map(({ tabIndex }) => tabIndex)).toEqual([-1, -1]);
    void act(() => last?.focus());
    press(last, "Enter");
    press(last, "c", { ctrlKey: true });
    click(buttons()[1]);
    expect(done).toEqual(["resend t399.b", "copy t399.b", "copy t399.b"]);
  });

  it("knows whether a file was edited after an item", () => {
    expect(list?.editedSince("t399.a")).toBe(false);
    const numbers = { added: 1, removed: 0, pending: 0, rev: 0 };
    const edit: Item = { id: "e", kind: "edit", verb: "edited", path: "a", uri: undefined, ...numbers, turn: "t399", running: false, note: "" };
    change({ turns: [{ turn: "t399", ids: ["t399.a", "t399.b", "e"] }], items: [edit] });
    expect(["t399.b", "t398.a", "e"].map((id) => list?.editedSince(id))).toEqual([true, true, false]);
  });

  it("asks for earlier turns once all that it has are drawn, and puts them before the others", () => {
    draw({ beyond: { ...none, earlier: "more" } });
    click(earlier());
    expect(asked).toEqual([]);
    click(earlier());
    expect([ids().length, asked]).toEqual([800, ["earlier"]]);
    draw({ beyond: { ...none, earlier: "loading" } });
    expect(earlier()?.textContent).toContain("Loading earlier messages…");
    // The first of them begins in the page before.
    const older = [
      { turn: "o1", ids: ["o1.a"] },
      { turn: "o2", ids: ["o2.a"] },
      { turn: "t0", ids: ["t0.0", "t0.a", "t0.b"] },
    ];
    change({ order: ["o1", "o2", ...shown.turns.map(({ turn }) => turn)], turns: older, items: ["o1.a", "o2.a", "t0.0"].map((id) => user(id)) });
    draw({ beyond: none });
    expect(earlier()?.hidden).toBe(false);
    click(earlier());
    expect(ids().slice(0, 5)).toEqual(["o1.a", "o2.a", "t0.0", "t0.a", "t0.b"]);
    expect([earlier()?.hidden, asked]).toEqual([true, ["earlier"]]);
  });

  it("draws all that it has with the Home key, and says why a page could not be read", () => {
    document.body.replaceChildren(page);
    draw({ beyond: { ...none, earlier: "more" } });
    press(page.querySelector(".item"), "Home");
    expect([ids()[0], asked]).toEqual(["t0.a", ["earlier"]]);
    expect((document.activeElement as HTMLElement).dataset["id"]).toBe("t0.a");
    draw({ beyond: { ...none, earlier: "failed", fault: "the disk is gone" } });
    expect(earlier()?.textContent).toContain("Earlier messages could not be read: the disk is gone");
    click(earlier());
    press(page.querySelector(".item"), "PageUp");
    expect(asked).toEqual(["earlier", "earlier", "earlier"]);
  });

  it("asks for the newest turns where they are left out, and does not follow the end of others", () => {
    draw({ beyond: { ...none, later: "more" } });
    const pill = page.querySelector<HTMLElement>(".pill");
    expect([pill?.hidden, pill?.textContent]).toEqual([false, "↓ Newest messages"]);
    click(pill);
    click(page.querySelector<HTMLElement>(".later"));
    expect(asked).toEqual(["newest", "later"]);
    draw({ turns: turns(3), number: 9, beyond: { ...none, earlier: "more" } });
    expect(pill?.hidden).toBe(true);
  });

  describe("with the focus in it", () => {
    const focused = () => (document.activeElement as HTMLElement | null)?.dataset["id"];
    const focusOn = (id: string) => void act(() => page.querySelector<HTMLElement>(`[data-id='${id}']`)?.focus());

    beforeEach(() => {
      document.body.replaceChildren(page);
      reset(turns(3));
    });

    it("keeps it on its item when the list is sent again", () => {
      focusOn("t1.a");
      reset(turns(3));
      expect(focused()).toBe("t1.a");
    });

    it("passes it to the nearest item when its turn is left out", () => {
      focusOn("t2.a");
      change({ order: ["t0", "t1"] });
      expect(focused()).toBe("t1.b");
      press(document.activeElement, "Home");
      expect(focused()).toBe("t0.a");
      focusOn("t0.b");
      change({ order: ["t1"] });
      expect(focused()).toBe("t1.a");
    });

    it("keeps it in the row of earlier messages while they are read, and passes it on when the row goes", () => {
      draw({ beyond: { ...none, earlier: "more" } });
      void act(() => earlier()?.focus());
      draw({ beyond: { ...none, earlier: "loading" } });
      expect([earlier()?.textContent.trim(), document.activeElement === earlier()]).toEqual(["Loading earlier messages…", true]);
      draw({ beyond: none });
      expect(focused()).toBe("t0.a");
    });
  });
});
