// @vitest-environment jsdom
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

import type { Item, ToPage } from "../../src/conversation/messages";
import type { Direction } from "../../src/stores/reading";
import { List } from "../list";
import { setStrings } from "../strings";

beforeAll(() => {
  setStrings({
    you: "You",
    agent: "Cairn",
    conversation: "Conversation",
    newItems: "New messages",
    showEarlier: "Show Earlier",
    loadingEarlier: "Loading earlier messages…",
    earlierFailed: "Not read: {0}",
    newest: "Newest messages",
    resend: "Edit and Resend",
    copyMessage: "Copy Message",
  });
  // Sizes are not known in this environment: nothing is observed.
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe(): void {}
    },
  );
});

type Patch = Extract<ToPage, { type: "patch" }>;

const user = (id: string, text = id): Item => ({ id, kind: "user", text, first: true, time: "", state: "", attachments: [] });
const turns = (count: number) => Array.from({ length: count }, (_, n) => ({ turn: `t${n}`, items: [user(`t${n}.a`), user(`t${n}.b`)] }));

describe("a long conversation", () => {
  let list: List;
  let rev: number;
  let done: string[];
  let asked: Direction[];

  beforeEach(() => {
    done = [];
    asked = [];
    list = new List(
      {
        open: () => {},
        act: () => {},
        edit: () => {},
        output: () => {},
        restore: () => {},
        copy: (id) => done.push(`copy ${id}`),
        resend: ({ id }) => done.push(`resend ${id}`),
      },
      () => {},
      document.createElement("div"),
      (direction) => asked.push(direction),
    );
    list.name();
    rev = 1;
    list.reset({ v: 1, type: "reset", rev, turns: turns(400) });
  });

  const ids = () => [...list.element.querySelectorAll<HTMLElement>(".item")].map(({ dataset }) => dataset["id"]);
  const earlier = () => list.element.querySelector<HTMLElement>(".earlier");
  const patch = (change: Partial<Patch>) => {
    rev += 1;
    return list.patch({ v: 1, type: "patch", rev, patches: [], append: [], gone: [], ...change });
  };

  it("stays at its end while a row is shorter for a moment, until the reader scrolls up", () => {
    const sizes = { scrollHeight: 2_000, clientHeight: 500, scrollTop: 1_500 };
    for (const name of ["scrollHeight", "clientHeight", "scrollTop"] as const) {
      Object.defineProperty(list.element, name, { get: () => sizes[name], set: (value: number) => (sizes[name] = value) });
    }
    const scroll = (top: number) => {
      sizes.scrollTop = top;
      list.element.dispatchEvent(new Event("scroll"));
    };
    const draw = () => list.patch({ v: 1, type: "patch", rev: (rev += 1), patches: [], append: [], gone: [] });
    list.reset({ v: 1, type: "reset", rev, turns: turns(1) });
    draw();
    sizes.scrollHeight = 2_400;
    scroll(1_400);
    expect(sizes.scrollTop).toBe(2_400);
    list.element.dispatchEvent(new WheelEvent("wheel", { deltaY: -1 }));
    draw();
    scroll(1_000);
    draw();
    expect(sizes.scrollTop).toBe(1_000);
    scroll(1_900);
    draw();
    expect(sizes.scrollTop).toBe(2_400);
  });

  it("rests at the start of the page where no conversation has begun", () => {
    Object.defineProperty(list.element, "scrollHeight", { value: 900, configurable: true });
    list.toEnd();
    expect(list.element.scrollTop).toBe(900);
    list.reset({ v: 1, type: "reset", rev: ++rev, turns: [] });
    expect(list.element.scrollTop).toBe(0);
  });

  it("draws its end, and earlier turns when asked to", () => {
    expect(ids()).toHaveLength(300);
    expect(ids().at(-1)).toBe("t399.b");
    earlier()?.click();
    expect(ids()).toHaveLength(600);
    earlier()?.click();
    expect(earlier()?.hidden).toBe(true);
    expect(ids()).toEqual(turns(400).flatMap(({ items }) => items.map(({ id }) => id)));
  });

  it("draws earlier turns when the first item is left by the arrow key", () => {
    document.body.replaceChildren(list.element);
    const first = () => list.element.querySelector<HTMLElement>(".item");
    first()?.focus();
    const was = first()?.dataset["id"];
    first()?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }));
    expect(ids()).toHaveLength(600);
    const at = ids().indexOf(was);
    expect((document.activeElement as HTMLElement).dataset["id"]).toBe(ids()[at - 1]);
  });

  it("draws the item to which it is led, unfolds it and gives it the focus", () => {
    const command = { kind: "command", command: "npm test", state: "done", output: "", lines: 0, live: "", note: "" } as const;
    const call: Item = { ...command, id: "call", exitCode: undefined, elapsedMs: undefined };
    list.reset({ v: 1, type: "reset", rev: ++rev, turns: [{ turn: "t", items: [call] }, ...turns(400)] });
    document.body.replaceChildren(list.element);
    Element.prototype.scrollIntoView = () => {};
    expect(ids()).not.toContain("call");
    list.show("call");
    expect(ids()).toContain("call");
    expect(document.activeElement?.closest<HTMLElement>(".item")?.dataset["id"]).toBe("call");
    expect(list.element.querySelector("[data-id=call] .fold")?.getAttribute("aria-expanded")).toBe("true");
    list.show("of another session");
    expect(document.activeElement?.closest<HTMLElement>(".item")?.dataset["id"]).toBe("call");
  });

  it("takes news of turns that are not drawn", () => {
    const put = [
      { item: user("t0.b", "changed"), after: "t0.a" },
      { item: user("t0.c"), after: "t0.b" },
      { item: user("t0.0"), after: "" },
    ];
    expect(patch({ patches: [{ turn: "t0", before: "", put, drop: ["t0.a"] }], gone: ["t1"] })).toBe(true);
    expect(ids()).toHaveLength(300);
    while (earlier()?.hidden === false) {
      earlier()?.click();
    }
    expect(ids().slice(0, 4)).toEqual(["t0.0", "t0.b", "t0.c", "t2.a"]);
    expect(list.element.querySelector("[data-id='t0.b']")?.textContent).toBe("changed");
  });

  it("does not grow without end while its end is read", () => {
    for (let n = 0; n < 40; n += 1) {
      const items = Array.from({ length: 10 }, (_, i) => user(`new${n}.${i}`));
      const put = items.map((item, i) => ({ item, after: items[i - 1]?.id ?? "" }));
      patch({ patches: [{ turn: `new${n}`, before: "", put, drop: [] }] });
      expect(ids().length).toBeLessThanOrEqual(600);
    }
    expect(ids().at(-1)).toBe("new39.9");
    while (earlier()?.hidden === false) {
      earlier()?.click();
    }
    expect(ids()).toHaveLength(1_200);
    expect(ids()[0]).toBe("t0.a");
  });

  it("has actions on a message, by keys and by buttons that Tab reaches from the message", () => {
    document.body.replaceChildren(list.element);
    const last = list.element.querySelector<HTMLElement>("[data-id='t399.b']");
    const buttons = (within = last) => [...(within?.querySelectorAll<HTMLButtonElement>(".item-actions button") ?? [])];
    expect(buttons().map((button) => [button.getAttribute("aria-label"), button.tabIndex])).toEqual([
      ["Edit and Resend", 0],
      ["Copy Message", 0],
    ]);
    expect(buttons(last?.previousElementSibling as HTMLElement).map(({ tabIndex }) => tabIndex)).toEqual([-1, -1]);
    last?.focus();
    last?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    last?.dispatchEvent(new KeyboardEvent("keydown", { key: "c", ctrlKey: true, bubbles: true }));
    buttons()[1]?.click();
    expect(done).toEqual(["resend t399.b", "copy t399.b", "copy t399.b"]);
  });

  it("knows whether a file was edited after an item", () => {
    expect(list.editedSince("t399.a")).toBe(false);
    const edit: Item = {
      id: "e",
      kind: "edit",
      verb: "edited",
      path: "a",
      uri: undefined,
      added: 1,
      removed: 0,
      pending: 0,
      turn: "t399",
      rev: 0,
      running: false,
      note: "",
    };
    patch({ patches: [{ turn: "t399", before: "", put: [{ item: edit, after: "t399.b" }], drop: [] }] });
    expect([list.editedSince("t399.b"), list.editedSince("t398.a"), list.editedSince("e")]).toEqual([true, true, false]);
  });

  it("asks for earlier turns once all that it has are drawn, and puts them before the others", () => {
    list.update({ earlier: "more", later: "none", fault: "" });
    earlier()?.click();
    expect(asked).toEqual([]);
    earlier()?.click();
    expect([ids().length, asked]).toEqual([800, ["earlier"]]);
    list.update({ earlier: "loading", later: "none", fault: "" });
    expect(earlier()?.textContent).toContain("Loading earlier messages…");
    // From the newest on: the first of them begins in the page before.
    const older = [
      { turn: "t0", before: "t1", put: [{ item: user("t0.0"), after: "" }], drop: [] },
      ...[2, 1].map((n) => ({ turn: `o${n}`, before: n === 2 ? "t0" : "o2", put: [{ item: user(`o${n}.a`), after: "" }], drop: [] })),
    ];
    expect(patch({ patches: older })).toBe(true);
    list.update({ earlier: "none", later: "none", fault: "" });
    expect(earlier()?.hidden).toBe(false);
    earlier()?.click();
    expect(ids().slice(0, 5)).toEqual(["o1.a", "o2.a", "t0.0", "t0.a", "t0.b"]);
    expect([earlier()?.hidden, asked]).toEqual([true, ["earlier"]]);
  });

  it("draws all that it has with the Home key, and says why a page could not be read", () => {
    document.body.replaceChildren(list.element);
    list.update({ earlier: "more", later: "none", fault: "" });
    const press = (key: string) =>
      list.element.querySelector(".item")?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    press("Home");
    expect([ids()[0], asked]).toEqual(["t0.a", ["earlier"]]);
    expect((document.activeElement as HTMLElement).dataset["id"]).toBe("t0.a");
    list.update({ earlier: "failed", later: "none", fault: "the disk is gone" });
    expect(earlier()?.textContent).toContain("Not read: the disk is gone");
    earlier()?.click();
    press("PageUp");
    expect(asked).toEqual(["earlier", "earlier", "earlier"]);
  });

  it("asks for the newest turns where they are left out, and does not follow the end of others", () => {
    list.update({ earlier: "none", later: "more", fault: "" });
    const pill = list.element.querySelector<HTMLElement>(".pill");
    expect([pill?.hidden, pill?.textContent]).toEqual([false, "↓ Newest messages"]);
    pill?.click();
    list.element.querySelector<HTMLElement>(".later")?.click();
    expect(asked).toEqual(["newest", "later"]);
    list.reset({ v: 1, type: "reset", rev: 9, turns: turns(3) });
    list.update({ earlier: "more", later: "none", fault: "" });
    expect(pill?.hidden).toBe(true);
  });

  describe("with the focus in it", () => {
    const focused = () => (document.activeElement as HTMLElement | null)?.dataset["id"];
    const focusOn = (id: string) => list.element.querySelector<HTMLElement>(`[data-id='${id}']`)?.focus();

    beforeEach(() => {
      document.body.replaceChildren(list.element);
      list.reset({ v: 1, type: "reset", rev, turns: turns(3) });
    });

    it("keeps it on its item when the list is sent again", () => {
      focusOn("t1.a");
      list.reset({ v: 1, type: "reset", rev: 2, turns: turns(3) });
      expect(focused()).toBe("t1.a");
    });

    it("passes it to the nearest item when its turn is left out", () => {
      focusOn("t2.a");
      patch({ gone: ["t2"] });
      expect(focused()).toBe("t1.b");
      document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
      expect(focused()).toBe("t0.a");
      focusOn("t0.b");
      patch({ gone: ["t0"] });
      expect(focused()).toBe("t1.a");
    });

    it("keeps it in the row of earlier messages while they are read, and passes it on when the row goes", () => {
      list.update({ earlier: "more", later: "none", fault: "" });
      earlier()?.focus();
      list.update({ earlier: "loading", later: "none", fault: "" });
      expect([earlier()?.textContent.trim(), document.activeElement === earlier()]).toEqual(["Loading earlier messages…", true]);
      list.update({ earlier: "none", later: "none", fault: "" });
      expect(focused()).toBe("t0.a");
    });
  });

  it("counts as empty only without any turn", () => {
    expect(list.empty).toBe(false);
    list.reset({ v: 1, type: "reset", rev: 1, turns: [] });
    expect(list.empty).toBe(true);
    expect(earlier()?.hidden).toBe(true);
  });
});
