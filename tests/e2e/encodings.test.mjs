// Files that are not UTF-8, in a real VS Code: changed and restored in their own encoding, and refused
// where the window shows them in a wrong one.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, configure, now, scene, step, task, window, workspace } from "./harness.mjs";
import { edits, inFront, lens, text } from "./look.mjs";

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

async function prepare(folder) {
  for (const [path, bytes] of Object.entries(FILES)) {
    await writeFile(join(folder, path), bytes);
  }
  return {};
}
const onDisk = (path) => readFile(join(workspace, path)).catch(() => undefined);
const holds = (path, bytes) => until(async () => (await onDisk(path))?.equals(bytes), 10 * SECOND, `the bytes of ${path}`);

scene("files that are not UTF-8", { script: "encodings", prepare }, () => {
  step("an edit of a closed GBK file changes one line and keeps all other bytes", async () => {
    // Opened as UTF-8, it shows replacement characters.
    await window.open("src/open.mjs");
    await text("\uFFFD");
    await task("Sum up the total");
    await edits(2);
    await holds("src/totals.mjs", gbk(EDITED));
    assert.equal(await onDisk("notes.txt"), undefined);
    await configure({ "files.encoding": "gbk" });
    await window.open("src/totals.mjs");
    await text("返回总价");
    await lens("src/totals.mjs", "Accept");
    await window.screenshot("encodings-01 changed");
  });

  step("a file open in a wrong encoding is not changed, and the reason names a remedy", async () => {
    assert.deepEqual(await onDisk("src/open.mjs"), FILES["src/open.mjs"]);
    await window.command("Cairn: Open Conversation as Text");
    await inFront("Cairn Conversation");
    await text("open in the editor in another encoding than its own (GBK)");
    assert.match(now().editor.text, /reopen it with its encoding/u);
    await window.screenshot("encodings-02 refused");
  });

  step("rejecting restores the bytes", async () => {
    await window.command("Cairn: Reject All Edits");
    await edits(0);
    for (const [path, bytes] of Object.entries(FILES)) {
      await holds(path, bytes);
    }
    await window.command("View: Show Explorer");
    // The Explorer says no more that it was deleted.
    const notes = window.explorerRow("notes.txt");
    let said;
    await until(
      async () => !/badge|deleted/iu.test((said = await notes.first().evaluate((row) => row.outerHTML))),
      10 * SECOND,
      "no mark at notes.txt",
    ).catch((error) => assert.fail(`${error.message}: ${said}`));
    await window.screenshot("encodings-03 rejected");
  });
});
