import { describe, expect, it } from "vitest";

import { MOST, imageType, linesOf } from "../src/conversation/attachmentLimits";
import { problemText } from "../src/commands/entryPoints";
import { AttachmentTray, sentWith, withContent } from "../src/conversation/attachments";
import { stepMentions } from "../src/conversation/mentions";
import type { Attachment, PlanItem } from "../src/protocol";
import { best, fuzzyScore } from "../src/text/fuzzy";
import { commandRows, triggerAt } from "../src/text/trigger";

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const text = (name: string): Attachment => ({ kind: "text", name, text: "line" });
const file = (uri: string): Attachment => ({ kind: "file", uri });

describe("the draft about problems", () => {
  it("quotes one in its line, and several in lines of their own", () => {
    expect(problemText("cart.mjs:3", [{ message: "';' expected.\n  and more" }])).toBe("Fix this problem in cart.mjs:3: ';' expected. ⏎ and more");
    expect(problemText("cart.mjs:3–4", [{ message: "One" }, { message: "Two" }])).toBe("Fix these problems in cart.mjs:3–4:\n- One\n- Two");
  });
});

describe("content", () => {
  it("knows images by their bytes", () => {
    expect(imageType(bytes("\x89PNG\r\n\x1a\n…"))).toBe("image/png");
    expect(imageType(bytes("\xff\xd8\xff\xe0"))).toBe("image/jpeg");
    expect(imageType(bytes("GIF89a"))).toBe("image/gif");
    expect(imageType(bytes("RIFF\0\0\0\0WEBPVP8 "))).toBe("image/webp");
    for (const other of ["", "GIF", "RIFF\0\0\0\0WAVE", "<svg>", "%PDF-1.7"]) {
      expect(imageType(bytes(other))).toBeUndefined();
    }
  });

  it("counts lines, whatever ends them", () => {
    expect([linesOf(""), linesOf("a"), linesOf("a\n"), linesOf("a\nb"), linesOf("a\r\nb\r\n"), linesOf("a\rb\n\nc")]).toEqual([1, 1, 1, 2, 2, 4]);
  });
});

describe("the steps of the plan", () => {
  it("are named by their number, found by their words, and attached as text", async () => {
    const step = (content: string): PlanItem => ({
      id: content,
      content,
      activeForm: "",
      status: "pending",
      files: [],
      commands: [],
      blockedBy: [],
      blocked: false,
      calls: 0,
      elapsedMs: 0,
    });
    const rows = stepMentions([step("Write the test"), step("Make it pass")]);
    expect(rows.map(({ label, detail }) => `${label}: ${detail}`)).toEqual(["Step 1: Write the test", "Step 2: Make it pass"]);
    expect(best("pass", rows, ({ label, detail }) => `${label} ${detail}`, 1)).toEqual([rows[1]]);
    expect(await rows[1]?.attachment()).toEqual({ kind: "text", name: "Step 2", text: "Make it pass" });
  });
});

describe("a message that is sent again", () => {
  const range = { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } };

  it("has the content that the session kept, each once", () => {
    const kept: Attachment[] = [
      { kind: "text", name: "Pasted", text: "one" },
      { kind: "file", uri: "file:///w/a.ts", name: "a.ts" },
      { kind: "text", name: "Pasted", text: "two" },
      { kind: "selection", uri: "file:///w/a.ts", name: "a.ts", range, text: "line" },
      { kind: "image", name: "shot.png", mime: "image/png", data: "x" },
    ];
    const named = kept.map(({ kind, name = "", uri, range: lines, mime }): Attachment => ({
      kind,
      name,
      ...(uri && { uri }),
      ...(lines && { range: lines }),
      ...(mime && { mime }),
    }));
    expect(withContent(named, kept)).toEqual({ attachments: [kept[0], named[1], kept[2], kept[3], kept[4]], lost: [] });
  });

  it("names what is not there: refused by the model server, or of another message", () => {
    const named: Attachment[] = [
      { kind: "image", name: "shot.png" },
      { kind: "text", name: "Pasted" },
      { kind: "folder", uri: "file:///w/src" },
    ];
    expect(withContent(named, [{ kind: "image", name: "shot.png" }])).toEqual({ attachments: [named[2]], lost: [named[0], named[1]] });
  });
});

describe("the tray of attachments", () => {
  function tray(): { tray: AttachmentTray; saved: string[]; labels: (session?: string) => string[] } {
    const saved: string[] = [];
    const made = new AttachmentTray((session, attachments) => saved.push(`${session}:${attachments.length}`));
    return { tray: made, saved, labels: (session = "s") => made.chips(session).map(({ label }) => label) };
  }

  it("holds the attachments of each session, a file once", () => {
    const { tray: it, labels } = tray();
    expect([it.add("s", file("file:///w/a.ts")), it.add("s", file("file:///w/a.ts")), it.add("other", text("b"))]).toEqual([true, true, true]);
    expect(labels()).toEqual(["a.ts"]);
    expect(labels("other")).toEqual(["b"]);
  });

  it("refuses more than the daemon takes", () => {
    const { tray: it, labels } = tray();
    const all = Array.from({ length: MOST }, (_, index) => it.add("s", text(`${index}`)));
    expect(all).not.toContain(false);
    expect(it.add("s", text("more"))).toBe(false);
    expect(labels()).toHaveLength(MOST);
  });

  it("has what was not sent again, before what was added since", () => {
    const { tray: it, labels } = tray();
    it.add("s", text("first"));
    const sent = it.take("s");
    expect(labels()).toEqual([]);
    it.add("s", text("later"));
    it.settle("s", sent);
    expect(labels()).toEqual(["first", "later"]);
  });

  it("takes over what a reload kept, once, and not while it is sent", () => {
    const { tray: it, labels } = tray();
    it.restore("s", [text("kept")]);
    it.take("s");
    it.restore("s", [text("kept")]);
    expect(labels()).toEqual([]);
  });

  it("removes one by its id, and gives it back", () => {
    const { tray: it, saved, labels } = tray();
    it.add("s", text("a"));
    it.add("s", text("b"));
    const [first] = it.chips("s");
    expect(it.remove("s", first?.id ?? "")).toEqual(text("a"));
    expect(it.remove("s", "unknown")).toBeUndefined();
    expect(labels()).toEqual(["b"]);
    expect(saved.at(-1)).toBe("s:1");
  });

  it("names the lines of a selection", () => {
    const { tray: it, labels } = tray();
    const at = (line: number, character = 0) => ({ line, character });
    it.add("s", { kind: "selection", name: "a.ts", uri: "file:///w/a.ts", range: { start: at(2), end: at(4) }, text: "x" });
    it.add("s", { kind: "selection", name: "a.ts", uri: "file:///w/a.ts", range: { start: at(2), end: at(4, 1) }, text: "x" });
    expect(labels()).toEqual(["a.ts:3–4", "a.ts:3–5"]);
  });
});

it("shows no words that only repeat the names of the attachments", () => {
  expect(sentWith("Pasted text (60 lines)", [text("Pasted text (60 lines)")]).text).toBe("");
  expect(sentWith("Look", [text("Look at")]).text).toBe("Look");
  expect(sentWith("Look", []).text).toBe("Look");
  const [chip] = sentWith("", [file("file:///w/my%20file.ts")]).attachments;
  expect(chip).toEqual({ icon: "file", label: "my file.ts", target: "/w/my file.ts" });
});

describe("what is being written", () => {
  const at = (value: string) => triggerAt(value, value.length);

  it("is a mention after a space, at the start of a line or in brackets", () => {
    expect(at("fix @ca")).toEqual({ sign: "@", query: "ca", start: 4, end: 7 });
    expect(at("@")).toMatchObject({ query: "", start: 0 });
    expect(at("a\n(@src/x")).toMatchObject({ query: "src/x" });
    expect([at("me@example.com"), at("@a b"), at("@@"), at("")]).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("is a command at the very start only", () => {
    expect(at("/co")).toMatchObject({ sign: "/", query: "co" });
    expect([at(" /co"), at("a\n/co"), at("/usr/bin")]).toEqual([undefined, undefined, undefined]);
    expect(commandRows("mo").map(({ name }) => name)).toEqual(["mode", "model"]);
  });

  it("looks at the cursor, not at the end", () => {
    expect(triggerAt("@cart and more", 3)).toEqual({ sign: "@", query: "ca", start: 0, end: 3 });
  });

  it("is bounded, however long the word is", () => {
    expect(at(`@${"x".repeat(100_000)}`)).toBeUndefined();
  });
});

describe("the fuzzy order", () => {
  const files = ["src/cart.mjs", "src/catalog/art.mjs", "test/cart.test.mjs", "README.md", "docs/cars/tree.md"];

  it("prefers names, starts of words and letters in a row", () => {
    expect(best("cart", files, (path) => path, 3)).toEqual(["src/cart.mjs", "test/cart.test.mjs", "docs/cars/tree.md"]);
    expect(best("readme", files, (path) => path, 9)).toEqual(["README.md"]);
    expect(best("", files, (path) => path, 2)).toEqual(files.slice(0, 2));
  });

  it("needs all letters in order", () => {
    expect(fuzzyScore("tc", "cart")).toBeUndefined();
    expect(fuzzyScore("src/cart", "src/cart.mjs")).toBeDefined();
  });
});
