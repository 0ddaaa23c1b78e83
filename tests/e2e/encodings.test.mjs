// Files that are not UTF-8, in a real VS Code: changed and restored in their own encoding, and refused
// where the window shows them in a wrong one.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

const SOURCE = "// 计算购物车的总价\r\nexport function total(cart) {\r\n  return 0; // 暂时返回零\r\n}\r\n";
const EDITED = SOURCE.replace("return 0; // 暂时返回零", "return sum(cart); // 返回总价");
const NOTES = "\uFEFF第一行\n第二行 😀\n";

/** The bytes of a text in GBK, for which Node has a decoder only. */
const gbk = (() => {
  const decoder = new TextDecoder("gbk");
  const bytes = new Map();
  for (let lead = 0x81; lead < 0xff; lead++) {
    for (let trail = 0x40; trail < 0xff; trail++) {
      bytes.set(decoder.decode(Uint8Array.of(lead, trail)), [lead, trail]);
    }
  }
  return (text) => Buffer.from([...text].flatMap((character) => (character < "\u0080" ? character.charCodeAt(0) : bytes.get(character))));
})();

const FILES = {
  "src/totals.mjs": gbk(SOURCE),
  "src/open.mjs": gbk(SOURCE),
  "notes.txt": Buffer.from(NOTES, "utf16le"),
};

let window;
let workspace;
const { step } = cairn({
  script: "encodings",
  prepare: async (folder) => {
    for (const [path, bytes] of Object.entries(FILES)) {
      await writeFile(join(folder, path), bytes);
    }
    return {};
  },
  ready: (it) => {
    ({ window, workspace } = it);
  },
});

const onDisk = (path) => readFile(join(workspace, path)).catch(() => undefined);
const holds = (path, bytes) => until(async () => (await onDisk(path))?.equals(bytes), 10 * SECOND, `the bytes of ${path}`);
const line = (text) => window.page.locator(".editor-instance .view-line", { hasText: text }).first();

step("an edit of a closed GBK file changes one line and keeps all other bytes", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  // Opened as UTF-8, it shows replacement characters.
  await window.open("src/open.mjs");
  await line("\uFFFD").waitFor();
  await window.command("Agent: run task");
  await window.answer("New Task", "Sum up the total");
  await window.status().filter({ hasText: "2 edits to review" }).waitFor();
  await holds("src/totals.mjs", gbk(EDITED));
  assert.equal(await onDisk("notes.txt"), undefined);
  await window.open("src/totals.mjs");
  await line("返回总价").waitFor();
  await window.lens("Accept").first().waitFor();
  await window.screenshot("encodings-01 changed");
});

step("a file open in a wrong encoding is not changed, and the reason names a remedy", async () => {
  assert.deepEqual(await onDisk("src/open.mjs"), FILES["src/open.mjs"]);
  await window.command("Cairn: Open Conversation as Text");
  await line("open in the editor in another encoding than its own (GBK)").waitFor();
  await line("reopen it with its encoding").waitFor();
  await window.screenshot("encodings-02 refused");
});

step("rejecting restores the bytes", async () => {
  await window.command("Cairn: Reject All Edits");
  await until(async () => (await window.rows("Proposed Edits").count()) === 0, 10 * SECOND, "no edits");
  for (const [path, bytes] of Object.entries(FILES)) {
    await holds(path, bytes);
  }
  await window.command("View: Show Explorer");
  // The Explorer says no more that it was deleted.
  const notes = window.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "notes.txt" });
  let said;
  await until(
    async () => {
      said = await notes
        .locator(".monaco-icon-label")
        .first()
        .evaluate((label) => `${label.className} ${label.getAttribute("aria-label")}`);
      return !/badge/iu.test(said) && !/deleted/iu.test(said);
    },
    10 * SECOND,
    "no mark at notes.txt",
  ).catch((error) => assert.fail(`${error.message}: ${said}`));
  await window.screenshot("encodings-03 rejected");
});
