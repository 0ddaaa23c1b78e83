import { describe, expect, it } from "vitest";

import { TEXT_CHARS } from "../src/conversation/attachmentLimits";
import { pageHtml } from "../src/conversation/html";
import { isInside, readTarget } from "../src/conversation/links";
import { ComposerMemory } from "../src/conversation/memory";
import { MAX_TEXT, readMessage } from "../src/conversation/messages";
import type { Attachment } from "../src/protocol";

describe("a message of the page", () => {
  it.each([
    { v: 1, type: "ready" },
    { v: 1, type: "send", text: "Fix it", context: true, queue: false },
    { v: 1, type: "draft", session: "", text: "" },
    { v: 1, type: "approve", id: "a", decision: "deny", words: "No.", shownForMs: 900.5 },
    { v: 1, type: "queue", action: "drop", id: "q" },
    { v: 1, type: "open", target: "src/a.ts:12" },
    { v: 1, type: "edit", action: "accept", uri: "file:///w/a", turn: "t", rev: 4, words: "" },
    { v: 1, type: "openSession", id: "s-2" },
    { v: 1, type: "output", id: "tool:s/call_1" },
    { v: 1, type: "answer", id: "q-1", words: "Blue" },
    { v: 1, type: "attachText", text: "x".repeat(TEXT_CHARS) },
    { v: 1, type: "attachImage", name: "shot.png", data: "x".repeat(6_990_508) },
    { v: 1, type: "attachFiles", addresses: ["file:///w/a.ts"] },
    { v: 1, type: "detach", id: "1" },
    { v: 1, type: "expand", id: "1" },
    { v: 1, type: "mention", id: 3, query: "src/ca" },
    { v: 1, type: "choose", id: 3, row: 0 },
    { v: 1, type: "command", name: "cairn.chooseMode" },
  ])("is taken as it is: $type", (message) => {
    const { v, ...rest } = message;
    expect(v).toBe(1);
    expect(readMessage(message)).toEqual(rest);
  });

  it.each([
    ["no object", "ready"],
    ["nothing", null],
    ["another version", { v: 2, type: "ready" }],
    ["an unknown type", { v: 1, type: "eval" }],
    ["a command that is not on the list", { v: 1, type: "command", name: "workbench.action.terminal.sendSequence" }],
    ["a name from the prototype", { v: 1, type: "command", name: "constructor" }],
    ["an unknown answer", { v: 1, type: "approve", id: "a", decision: "always", words: "", shownForMs: 900 }],
    ["a time that is no number", { v: 1, type: "approve", id: "a", decision: "deny", words: "", shownForMs: "900" }],
    ["a time without end", { v: 1, type: "approve", id: "a", decision: "deny", words: "", shownForMs: Number.NaN }],
    ["a text that is too long", { v: 1, type: "send", text: "x".repeat(MAX_TEXT + 1), context: true, queue: false }],
    ["more than a megabyte", { v: 1, type: "ready", more: "x".repeat(1_000_001) }],
    ["a missing field", { v: 1, type: "send", text: "Fix it" }],
    ["an unknown action on an edit", { v: 1, type: "edit", action: "undo", uri: "file:///w/a", turn: "t", rev: 4, words: "" }],
    ["a revision that is no number", { v: 1, type: "edit", action: "accept", uri: "file:///w/a", turn: "t", rev: "4", words: "" }],
    ["a reason that is too long", { v: 1, type: "edit", action: "reject", uri: "file:///w/a", turn: "t", rev: 4, words: "x".repeat(MAX_TEXT + 1) }],
    ["a pasted text that is too long", { v: 1, type: "attachText", text: "x".repeat(TEXT_CHARS + 1) }],
    ["an image that is too large", { v: 1, type: "attachImage", name: "a", data: "x".repeat(8_000_000) }],
    ["addresses that are no list", { v: 1, type: "attachFiles", addresses: "file:///w/a.ts" }],
    ["too many addresses", { v: 1, type: "attachFiles", addresses: Array.from({ length: 21 }, () => "file:///w/a.ts") }],
    ["an address that is no text", { v: 1, type: "attachFiles", addresses: [7] }],
    ["a mention that is too long", { v: 1, type: "mention", id: 1, query: "x".repeat(201) }],
    ["a row that is no number", { v: 1, type: "choose", id: 1, row: -1 }],
    ["a long target", { v: 1, type: "open", target: "a".repeat(2_001) }],
  ])("is refused: %s", (_, message) => {
    expect(readMessage(message)).toBeUndefined();
  });

  it("has only the fields of its type", () => {
    expect(readMessage({ v: 1, type: "stop", command: "x" })).toEqual({ type: "stop" });
    expect(readMessage({ v: 1, type: "focused", on: true })).toEqual({ type: "focused", on: true });
    expect(readMessage({ v: 1, type: "focused", on: "yes" })).toBeUndefined();
  });
});

describe("the target of a link", () => {
  it.each([
    ["https://example.com/a?b#c", { kind: "web", address: "https://example.com/a?b#c" }],
    ["HTTP://EXAMPLE.com", { kind: "web", address: "http://example.com/" }],
    ["src/a.ts", { kind: "file", path: "src/a.ts", line: undefined, column: undefined }],
    ["src/a.ts:12", { kind: "file", path: "src/a.ts", line: 12, column: undefined }],
    ["src/a.ts:12:4", { kind: "file", path: "src/a.ts", line: 12, column: 4 }],
    ["src/a.ts:12-14", { kind: "file", path: "src/a.ts", line: 12, column: undefined }],
    ["src/a.ts#L7-L9", { kind: "file", path: "src/a.ts", line: 7, column: undefined, lastLine: 9 }],
    ["src/a.ts#L7", { kind: "file", path: "src/a.ts", line: 7, column: undefined }],
    ["file:///w/a%20b.ts", { kind: "file", path: "/w/a b.ts", line: undefined, column: undefined }],
  ])("%s", (target, meaning) => {
    expect(readTarget(target)).toEqual(meaning);
  });

  it.each([
    "command:workbench.action.quit",
    "javascript:alert(1)",
    "vscode://extension/x",
    "data:text/html,x",
    "mailto:a@example.com",
    "https://user:word@example.com",
    "a\nb",
    "",
    ":12",
  ])("is none: %s", (target) => {
    expect(readTarget(target)).toBeUndefined();
  });

  it("is opened only inside a folder of the workspace", () => {
    expect(isInside("/w/src/a.ts", ["/w"])).toBe(true);
    expect(isInside("/w/src/a.ts", ["/x", "/w/"])).toBe(true);
    expect(isInside("/w2/a.ts", ["/w"])).toBe(false);
    expect(isInside("/w/../etc/passwd", ["/w"])).toBe(false);
    expect(isInside("/etc/passwd", [])).toBe(false);
  });
});

describe("the page", () => {
  it("may load the extension's own files and nothing else", () => {
    const html = pageHtml({
      script: "https://s/main.js",
      style: "https://s/main.css",
      source: "https://s",
      nonce: "N",
      language: "en",
      tab: false,
      strings: {},
    });
    const [, policy] = /Content-Security-Policy" content="([^"]*)"/u.exec(html) ?? [];
    expect(policy).toBe("default-src 'none'; style-src https://s; font-src https://s; script-src 'nonce-N'; base-uri 'none'; form-action 'none'");
    expect(html).not.toMatch(/unsafe|connect-src|img-src|\son\w+=/u);
  });

  it.each([
    [false, "view"],
    [true, "tab"],
  ])("knows its place in the window: in a tab %s", (tab, place) => {
    expect(pageHtml({ script: "", style: "", source: "", nonce: "N", language: "en", tab, strings: { 'a "b" & <c>': "d" } })).toContain(
      `<body data-place="${place}" data-strings="{&quot;a \\&quot;b\\&quot; &amp; <c>&quot;:&quot;d&quot;}">`,
    );
  });
});

describe("the texts of the composer", () => {
  const memory = (kept = new Map<string, unknown>()): { readonly of: ComposerMemory; readonly kept: Map<string, unknown> } => ({
    of: new ComposerMemory({ get: (key) => kept.get(key), update: (key, value) => kept.set(key, value) }),
    kept,
  });

  it("outlive the window", () => {
    const { of, kept } = memory();
    of.setDraft("s", "half a sent");
    of.setDraft("", "new");
    of.sent("first");
    of.sent("second");
    of.sent("first");
    const again = memory(kept).of;
    expect([again.draft("s"), again.draft(""), again.draft("x")]).toEqual(["half a sent", "new", ""]);
    expect(again.history).toEqual(["second", "first"]);
    again.setDraft("s", "");
    expect(memory(kept).of.draft("s")).toBe("");
  });

  describe("with attachments", () => {
    const disk = () => {
      const files = new Map<string, string>();
      return {
        files,
        write: (name: string, content: string) => Promise.resolve(void files.set(name, content)),
        read: (name: string) => {
          const content = files.get(name);
          return content === undefined ? Promise.reject(new Error("gone")) : Promise.resolve(content);
        },
        keep: (names: ReadonlySet<string>) =>
          Promise.resolve([...files.keys()].filter((name) => !names.has(name)).forEach((name) => files.delete(name))),
      };
    };
    const kept = new Map<string, unknown>();
    const memento = {
      get: (key: string) => kept.get(key),
      update: (key: string, value: unknown) => kept.set(key, JSON.parse(JSON.stringify(value))),
    };
    const shot: Attachment = { kind: "image", name: "shot.png", data: "A".repeat(50_000) };
    const small: Attachment = { kind: "text", name: "Pasted", text: "one\ntwo" };

    it("outlive the window, images in files that go when they are sent", async () => {
      const at = disk();
      const of = new ComposerMemory(memento, at);
      of.setAttachments("s", [shot, small]);
      of.setAttachments("other", [shot]);
      await of.whole([]);
      expect([at.files.size, JSON.stringify([...kept]).length < 2_000]).toEqual([1, true]);
      const again = new ComposerMemory(memento, at);
      expect(again.attachments("s")).toMatchObject([{ kind: "image", name: "shot.png" }, small]);
      // A chip that is added does not touch the file of the others.
      again.setAttachments("s", [...again.attachments("s"), { kind: "file", uri: "file:///w/a.ts" }]);
      expect((await again.whole(again.attachments("s"))).slice(0, 2)).toEqual([shot, small]);
      again.setAttachments("s", []);
      await again.whole([]);
      expect(at.files.size).toBe(1);
      again.setAttachments("other", []);
      await again.whole([]);
      expect(at.files.size).toBe(0);
    });

    it("are said to be gone if their file is", async () => {
      const at = disk();
      const of = new ComposerMemory(memento, at);
      of.setAttachments("s", [shot]);
      await of.whole([]);
      at.files.clear();
      await expect(of.whole(new ComposerMemory(memento, at).attachments("s"))).rejects.toThrow(
        "shot.png is no longer there. Remove it from the message",
      );
    });
  });

  it("are bounded", () => {
    const { of } = memory();
    for (let n = 0; n < 150; n += 1) {
      of.sent(`task ${n}`);
      of.setDraft(`s${n}`, "x");
    }
    of.sent("x".repeat(20_000));
    expect([of.history.length, of.history.at(-1), of.draft("s100"), of.draft("s149")]).toEqual([100, "task 149", "", "x"]);
  });
});
