// @vitest-environment jsdom
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";

import type { Item, ToPage } from "../../src/conversation/messages";
import { List } from "../list";
import { setStrings } from "../strings";

beforeAll(() => {
  setStrings({
    you: "You",
    agent: "Cairn",
    conversation: "Conversation",
    newItems: "New messages",
    showEarlier: "Show Earlier",
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

const user = (id: string, text = id): Item => ({ id, kind: "user", text, first: true, time: "", attachments: [] });
const turns = (count: number) => Array.from({ length: count }, (_, n) => ({ turn: `t${n}`, items: [user(`t${n}.a`), user(`t${n}.b`)] }));

describe("a long conversation", () => {
  let list: List;
  let rev: number;
  let done: string[];

  beforeEach(() => {
    done = [];
    list = new List(
      {
        open: () => {},
        act: () => {},
        edit: () => {},
        output: () => {},
        copy: (id) => done.push(`copy ${id}`),
        resend: ({ id }) => done.push(`resend ${id}`),
      },
      () => {},
      document.createElement("div"),
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

  it("takes news of turns that are not drawn", () => {
    const put = [
      { item: user("t0.b", "changed"), after: "t0.a" },
      { item: user("t0.c"), after: "t0.b" },
      { item: user("t0.0"), after: "" },
    ];
    expect(patch({ patches: [{ turn: "t0", put, drop: ["t0.a"] }], gone: ["t1"] })).toBe(true);
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
      patch({ patches: [{ turn: `new${n}`, put, drop: [] }] });
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
    };
    patch({ patches: [{ turn: "t399", put: [{ item: edit, after: "t399.b" }], drop: [] }] });
    expect([list.editedSince("t399.b"), list.editedSince("t398.a"), list.editedSince("e")]).toEqual([true, true, false]);
  });

  it("counts as empty only without any turn", () => {
    expect(list.empty).toBe(false);
    list.reset({ v: 1, type: "reset", rev: 1, turns: [] });
    expect(list.empty).toBe(true);
    expect(earlier()?.hidden).toBe(true);
  });
});
