// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from "vitest";

import { TEXT_CHARS } from "../../src/conversation/attachmentLimits";
import type { FromPage, SentChip, ViewState } from "../../src/conversation/messages";
import { Composer } from "../composer";

const state: ViewState = {
  session: "s",
  title: "",
  phase: "ended",
  connected: true,
  banners: [],
  start: { text: "", examples: [], setup: undefined },
  step: undefined,
  mode: { name: "Review", icon: "checklist", title: "" },
  model: "m",
  meter: undefined,
  edits: undefined,
  queue: { items: [], held: false },
  chip: { label: "a.ts", title: "a.ts", selection: false },
  chips: [],
  cards: [],
  decisions: [],
  questions: [],
  readOnly: "",
  back: false,
  beyond: { earlier: "none", later: "none", fault: "" },
};
const pasted = { id: "1", icon: "output", label: "Pasted text (60 lines)", expands: true };

/** The test environment has no bytes in its own files. */
function file(name: string, bytes: Uint8Array): File {
  return { name, size: bytes.length, arrayBuffer: () => Promise.resolve(bytes.buffer) } as unknown as File;
}

/** `null`: no state has come yet. */
function open(over: Partial<ViewState> | null = {}) {
  const posted: FromPage[] = [];
  const composer = new Composer((message) => void posted.push(message));
  composer.setup([]);
  document.body.replaceChildren(composer.element);
  if (over !== null) {
    composer.update({ ...state, ...over });
  }
  const box = document.querySelector("textarea");
  if (box === null) {
    throw new Error("no box");
  }
  box.focus();
  return {
    composer,
    box,
    sent: <T extends FromPage["type"]>(type: T) => posted.filter((message): message is Extract<FromPage, { type: T }> => message.type === type),
    write: (text: string) => {
      box.setRangeText(text, box.selectionStart, box.selectionEnd, "end");
      box.dispatchEvent(new InputEvent("input"));
      vi.advanceTimersByTime(100);
    },
    key: (key: string, options: KeyboardEventInit = {}) => {
      const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...options });
      (document.activeElement ?? box).dispatchEvent(event);
      return event.defaultPrevented;
    },
    give: async (type: "paste" | "drop", data: Readonly<Record<string, string>>, files: readonly File[] = []) => {
      const event = new Event(type, { bubbles: true, cancelable: true });
      const transfer = { files, getData: (name: string) => data[name] ?? "" };
      Object.defineProperty(event, type === "paste" ? "clipboardData" : "dataTransfer", { value: transfer });
      box.dispatchEvent(event);
      await vi.advanceTimersByTimeAsync(10);
      return event.defaultPrevented;
    },
    names: () => [...document.querySelectorAll("[data-chip]")].map((chip) => chip.getAttribute("aria-label")),
    options: () => [...document.querySelectorAll("[role=option]")].map((option) => option.getAttribute("aria-label")),
    error: () => document.querySelector(".send-error:not([hidden])")?.textContent ?? "",
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  Element.prototype.scrollIntoView = () => undefined;
});

describe("a message that is edited and sent again", () => {
  const message = (text: string, attachments: readonly SentChip[] = []) =>
    ({ id: "user:1", kind: "user", text, first: true, time: "", state: "", attachments }) as const;
  const chip: SentChip = { icon: "file-media", label: "shot.png", target: "" };
  const note = () => document.querySelector(".resend-note:not([hidden])");

  it("comes below what is written, and is a new message", () => {
    const it = open();
    it.write("Also this.");
    it.composer.resend(message("Fix it"), false);
    expect(it.box.value).toBe("Also this.\nFix it");
    expect(note()?.textContent).toBe("Sent as a new message. What the agent did since stays.");
    expect(it.sent("resend")).toEqual([]);
    expect(document.activeElement).toBe(it.box);
    it.key("Enter");
    expect(it.sent("send")).toMatchObject([{ text: "Also this.\nFix it" }]);
    expect(note()).toBeNull();
  });

  it("brings its attachments, also without words", () => {
    const it = open();
    it.write("Also this.");
    it.composer.resend(message("", [chip]), false);
    expect(it.box.value).toBe("Also this.");
    expect(it.sent("resend")).toEqual([{ type: "resend", id: "user:1" }]);
  });

  it("offers to restore the files that were edited since", () => {
    const it = open();
    it.composer.resend(message("Fix it"), true);
    const [restore] = note()?.querySelectorAll("button") ?? [];
    expect(restore?.textContent).toBe("Restore Files…");
    restore?.click();
    expect(it.sent("restore")).toEqual([{ type: "restore", id: "user:1" }]);
  });
});

describe("a text that is moved into an editor", () => {
  it("goes there with its session, by a key or by the button that a second line brings", () => {
    const it = open();
    const moves = () => document.querySelectorAll("button[aria-label^='Write in an Editor']:not([hidden])");
    it.composer.draft("s", "");
    it.write("Fix it");
    expect(moves()).toHaveLength(0);
    it.write("\nsoon");
    expect(moves()).toHaveLength(1);
    expect(it.key("Enter", { ctrlKey: true, shiftKey: true })).toBe(true);
    expect(it.sent("writeInEditor")).toEqual([{ type: "writeInEditor", session: "s", text: "Fix it\nsoon" }]);
    expect([it.box.value, it.sent("send"), moves().length]).toEqual(["", [], 0]);
  });
});

describe("attachments in the composer", () => {
  it("makes a long pasted text a chip, and leaves a short one to the box", async () => {
    const it = open();
    expect(await it.give("paste", { "text/plain": "line\n".repeat(40) })).toBe(false);
    expect(await it.give("paste", { "text/plain": "line\n".repeat(41) })).toBe(true);
    expect(it.sent("attachText")).toEqual([{ type: "attachText", text: "line\n".repeat(41) }]);
  });

  it("refuses a paste of 10 MB in words, and the box keeps what it had", async () => {
    const it = open();
    it.write("Why?");
    expect(await it.give("paste", { "text/plain": "x".repeat(10_000_000) })).toBe(true);
    expect(it.error()).toContain(`at most ${TEXT_CHARS.toLocaleString()} can be attached`);
    expect([it.box.value, it.sent("attachText")]).toEqual(["Why?", []]);
  });

  it("attaches an image, and says which file is none", async () => {
    const it = open();
    const png = file("shot.png", Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]));
    await it.give("paste", {}, [png]);
    expect(it.sent("attachImage")).toEqual([{ type: "attachImage", name: "shot.png", data: "iVBORw0KGgo=" }]);
    await it.give("drop", {}, [file("evil.png", new TextEncoder().encode("<svg/>"))]);
    expect(it.error()).toContain("evil.png is not a PNG, JPEG, WebP or GIF image");
    expect(it.sent("attachImage")).toHaveLength(1);
  });

  it("refuses an image of more than 5 MB", async () => {
    const it = open();
    await it.give("drop", {}, [file("large.png", new Uint8Array(5 * 1024 * 1024 + 1))]);
    expect(it.error()).toContain("large.png is larger than 5 MB");
  });

  it("gives files of the Explorer to the extension", async () => {
    const it = open();
    await it.give("drop", { "text/uri-list": "# a comment\r\nfile:///w/a.ts\r\nfile:///w/src" });
    expect(it.sent("attachFiles")).toEqual([{ type: "attachFiles", addresses: ["file:///w/a.ts", "file:///w/src"] }]);
  });

  it("has chips that the keyboard reaches and removes", () => {
    const it = open({ chips: [pasted] });
    expect(it.names()).toEqual([
      "a.ts: sent with the task. Press to leave it out.",
      "Pasted text (60 lines). Enter puts it into the message, Delete removes it.",
    ]);
    expect(it.key("Backspace")).toBe(true);
    expect(document.activeElement?.textContent).toBe("Pasted text (60 lines)");
    it.key("Delete");
    expect(it.sent("detach")).toEqual([{ type: "detach", id: "1" }]);
    it.composer.update(state);
    expect(document.activeElement?.textContent).toBe("a.ts");
    it.key("Backspace");
    expect(it.names()).toEqual(["a.ts: not sent. Press to send it with the task."]);
    it.key("Escape");
    expect(document.activeElement).toBe(it.box);
    it.write("Go");
    it.key("Enter");
    expect(it.sent("send")).toEqual([{ type: "send", text: "Go", context: false, queue: false }]);
  });

  it("leaves Backspace to the text while there is one", () => {
    const it = open({ chips: [pasted] });
    it.write("x");
    expect(it.key("Backspace")).toBe(false);
  });

  it("sends an attachment without words, and nothing without both", () => {
    const bare = open();
    bare.key("Enter");
    expect(bare.sent("send")).toEqual([]);
    const it = open({ chips: [pasted] });
    it.key("Enter");
    expect(it.sent("send")).toEqual([{ type: "send", text: "", context: true, queue: false }]);
  });

  it("offers no way to lose the attachments of a queued message", () => {
    const it = open({ queue: { items: [{ id: "q", text: "Then", attached: "shot.png" }], held: false } });
    const names = [...it.composer.element.querySelectorAll(".queued button")].map((button) => button.getAttribute("aria-label"));
    expect(names).toEqual(["Send Now", "Remove"]);
  });
});

describe("mentions", () => {
  const rows = [
    { icon: "file", label: "cart.mjs", detail: "src/cart.mjs" },
    { icon: "warning", label: "Problems", detail: "" },
  ];

  it("asks once the user pauses, and shows the answer to the newest question", () => {
    const it = open();
    it.write("Fix @c");
    it.write("a");
    const asked = it.sent("mention").map(({ query }) => query);
    expect(asked).toEqual(["c", "ca"]);
    const [first, second] = it.sent("mention").map(({ id }) => id);
    it.composer.mentions.answer(first ?? 0, rows);
    expect(it.options()).toEqual([]);
    it.composer.mentions.answer(second ?? 0, rows);
    expect(it.options()).toEqual(["cart.mjs, src/cart.mjs", "Problems"]);
    expect(it.box.getAttribute("aria-activedescendant")).toBe("mention-0");
  });

  function mention(text: string) {
    const it = open();
    it.write(text);
    it.composer.mentions.answer(it.sent("mention").at(-1)?.id ?? -1, rows);
    return it;
  }

  it("takes a row with Enter or Tab, and names it in the text", () => {
    const it = mention("Fix @ca");
    it.key("ArrowDown");
    it.key("ArrowUp");
    expect(it.key("Enter")).toBe(true);
    expect(it.box.value).toBe("Fix @cart.mjs ");
    expect(it.sent("choose")).toMatchObject([{ row: 0 }]);
    expect(it.sent("send")).toEqual([]);
  });

  it("closes with Escape, and stays closed for this word", () => {
    const it = mention("Fix @ca");
    it.key("Escape");
    const asked = it.sent("mention").length;
    it.write("r");
    expect([it.options(), it.sent("mention").length]).toEqual([[], asked]);
    it.key("Enter");
    expect(it.sent("send")).toMatchObject([{ text: "Fix @car" }]);
  });

  it("does nothing with the keys of an input method", () => {
    const it = mention("Fix @ca");
    expect(it.key("Enter", { isComposing: true })).toBe(false);
    expect(it.options()).toHaveLength(2);
  });

  it("runs a command that is written at the start", () => {
    const it = open();
    it.write("/com");
    expect(it.options()).toEqual(["/compact, shorten the conversation to save room"]);
    it.key("Enter");
    expect([it.box.value, it.sent("command")]).toEqual(["", [{ type: "command", name: "cairn.compact" }]]);
  });
});

it("sends what Enter sent before the first state came, once", () => {
  const it = open(null);
  it.write("Is the total safe?");
  it.key("Enter");
  expect([it.box.value, it.sent("send")]).toEqual(["Is the total safe?", []]);
  it.composer.update(state);
  it.composer.update(state);
  expect(it.sent("send")).toEqual([{ type: "send", text: "Is the total safe?", context: true, queue: false }]);
});

it("stops the running task by the second of two presses of Escape, with nothing pressed between", () => {
  const { composer, sent, key } = open({ phase: "running" });
  composer.escape();
  expect(sent("stop")).toEqual([]);
  expect(document.querySelector(".stop")?.getAttribute("aria-label")).toBe("Esc again stops the task");
  key("a");
  composer.escape();
  expect(sent("stop")).toEqual([]);
  composer.escape();
  expect(sent("stop")).toHaveLength(1);
  composer.escape();
  composer.update({ ...state, phase: "ended" });
  composer.escape();
  composer.escape();
  expect(sent("stop")).toHaveLength(1);
});
