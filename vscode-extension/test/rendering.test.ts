import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { renderConversation } from "../src/conversation/render";
import { rowText } from "../src/plan/rowItems";
import type { Row } from "../src/plan/rows";
import type { ToolState } from "../src/protocol";
import type { Entry } from "../src/stores/transcript";
import { approvalNotice } from "../src/text/approval";
import { exact, label, plainHosts, visible } from "../src/text/display";
import { fenced } from "../src/text/fence";
import { call, end, message } from "./entries";

interface Table {
  readonly unseen: [number, number][];
  readonly blank: [number, number][];
  readonly cases: { name: string; given: string; visible: string; exact: string }[];
}

const file = (path: string): string => readFileSync(join(import.meta.dirname, path), "utf8");
const table = JSON.parse(file("../../tests/tables/visible.json")) as Table;
const within = (ranges: [number, number][], code: number): boolean => ranges.some(([first, last]) => first <= code && code <= last);

describe("invisible characters", () => {
  it.each(table.cases)("$name: are shown as by the daemon", ({ given, visible: shown, exact: whole }) => {
    expect(visible(given)).toBe(shown);
    expect(exact(given)).toBe(whole);
  });

  it("are the same set as in the daemon, over all of Unicode", () => {
    const wrong: string[] = [];
    for (let code = 0; code <= 0x10ffff; code++) {
      const char = String.fromCodePoint(code);
      const half = code >= 0xd800 && code <= 0xdfff;
      const unseen = within(table.unseen, code) || half;
      if ((visible(char) !== char) !== unseen || (exact(`a${char}b`) !== `a${char}b`) !== (unseen || code === 9 || within(table.blank, code))) {
        wrong.push(code.toString(16));
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe("an approval", () => {
  it.each([
    ["ls\u00a0-l", "ls\\xa0-l"],
    ["ls\t-l", "ls\\x09-l"],
    ["rm a\\ ", "rm a\\\\x20"],
    ["ls\ufe0f", "ls\\u{fe0f}"],
    ["echo \u001b[2K\u001b[1Gls", "echo \\x1b[2K\\x1b[1Gls"],
  ])("of %j shows every character in its notification", (command, shown) => {
    expect(approvalNotice({ title: "Run", command, risk: "" })).toBe(`Run? ${shown}`);
  });
});

// An escape sequence, a link, an icon, a turned direction, something that is not seen, an image.
const EVIL = "x\u001b[2J [l](command:evil) $(trash) \u202e \u200b\u3164\u{e0041} ![i](https://e.example/?q=1)";
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u200b\u3164\u{e0000}-\u{e0fff}]/u;

describe("untrusted text in rows", () => {
  const rows: Row[] = [{ kind: "turn", turn: { sessionId: "s", turnId: "t", text: EVIL, phase: { kind: "started", text: EVIL } }, waits: false }];

  it.each(rows)("shows invisible characters in a row of kind $kind", (row) => {
    const shown = Object.values(rowText(row)) as string[];
    expect(shown.filter((text) => HIDDEN.test(text))).toEqual([]);
  });

  it("gives no link and no icon in a label", () => {
    expect(label(EVIL)).not.toMatch(/\]\(|\$\(/);
  });
});

describe("the conversation", () => {
  const answer = (text: string): Entry => message("1", "assistant", text);

  it("is plain text, with an image as its Markdown source", () => {
    const images = "![a](https://e.example/?q=secret)\n![a][r]\n<img src='https://e.example'>\n\n[r]: https://e.example/i.png";
    expect(renderConversation([answer(images)])).toBe(`${images}\n`);
    // A document of this language is opened in an editor, which draws text and fetches nothing.
    expect(file("../src/conversation/document.ts")).toContain('setTextDocumentLanguage(document, "cairn-conversation")');
  });

  it("shows invisible characters in messages, calls and questions", () => {
    const state: ToolState = "awaitingApproval";
    const tool = call("2", EVIL, { state, detail: EVIL, command: `${EVIL}\t ` });
    const text = renderConversation([answer(EVIL), tool, end("3", "failed", EVIL)]);
    expect(HIDDEN.test(text)).toBe(false);
    expect(text).toContain("\\x09\\x20");
  });

  it("shows host names in their ASCII form", () => {
    const apple = "https://\u0430pple.com";
    expect(renderConversation([answer(`See ${apple}/a?b.`)])).toBe("See https://xn--pple-43d.com/a?b.\n");
    for (const [given, shown] of [
      [`${apple}:8443/ä`, "https://xn--pple-43d.com:8443/ä"],
      [`http://github.com@\u0435vil.example/x`, "http://github.com@xn--vil-qdd.example/x"],
      ["https://example.com/ä and ä://x", "https://example.com/ä and ä://x"],
      ["https://ä%zz", "https://ä%zz"],
    ] as const) {
      expect(plainHosts(given)).toBe(shown);
    }
  });
});

describe("the sources of the extension", () => {
  const sources = readdirSync(join(import.meta.dirname, "../src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path): [string, string] => [path, file(`../src/${path}`)]);
  const naming = (word: RegExp): string[] => sources.filter(([, text]) => word.test(text)).map(([path]) => path);

  it("trust no Markdown, show one page, which has a policy of its own, and allow HTML in one place", () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(naming(/isTrusted = |isTrusted: true/)).toEqual([]);
    expect(naming(/createWebview|registerWebview|markdown\.showPreview|markdown\.api/)).toEqual([
      join("conversation", "places.ts"),
      join("conversation", "view.ts"),
    ]);
    expect(naming(/\.html = /)).toEqual([join("conversation", "view.ts")]);
    expect(file("../src/conversation/view.ts")).toContain("webview.html = pageHtml({");
    expect(naming(/MarkdownString|supportHtml/)).toEqual([join("review", "removedText.ts")]);
  });

  it("put that text into a block of code that it cannot end, with HTML off", () => {
    for (const text of [EVIL, `\`\`\`\n${EVIL}\n~~~\n\`\`\`\`\`\n${EVIL}`]) {
      const [first = "", ...lines] = fenced(text, "typescript", String).split("\n");
      const [fence = ""] = /^`+/u.exec(first) ?? [];
      expect([first, lines.at(-1), lines.slice(0, -1).some((line) => line.includes(fence))]).toEqual([`${fence}typescript`, fence, false]);
    }
    expect(naming(/supportHtml|isTrusted = true/)).toEqual([]);
  });
});
