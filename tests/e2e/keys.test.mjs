// Deciding with the keyboard, what removed lines and deleted files look like, and the way back from a
// decision about many edits.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";
import { editFile } from "./model.mjs";

let window;
let model;
const it = cairn({
  model: true,
  prepare: async (workspace) => {
    // Lines far apart, so that each is an edit of its own.
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index}\nkept\nkept\nkept\n`);
    await writeFile(join(workspace, "list.txt"), lines.join(""));
    await writeFile(join(workspace, "list.mjs"), `export function list() {\n  const one = 1;\n  const two = 2;\n  return [one, two];\n}\n`);
    await writeFile(join(workspace, "gone.txt"), "nobody\nneeds this\n");
    return { "cairn.review.advance": true };
  },
  ready: () => {
    ({ window, model } = it);
  },
});
const { step } = it;

const edits = () => window.rows("Proposed Edits");
const row = (text) => window.row("Proposed Edits", text);
const onDisk = (path) => readFile(join(it.workspace, path), "utf8");

step("removed lines are code in the language of the file, without a heading, and read as code", async () => {
  await window.open("list.mjs");
  await window.command("Agent: run task");
  await window.answer("New Task", "Change the lists");
  const numbers = Array.from({ length: 12 }, (_, index) => index);
  await (
    await model.next()
  ).call(
    ...numbers.map((index) => editFile("list.txt", `line ${index}\n`, `changed ${index}\n`)),
    editFile("list.mjs", "  const one = 1;\n  const two = 2;\n  return [one, two];", "  return [1, 2];"),
    { name: "delete_file", arguments: { path: "gone.txt" } },
  );
  await (await model.next()).say("Changed.");
  await window.edits(14);
  const zone = window.page.locator(".review-widget");
  await zone.filter({ hasText: "Removed 3 lines" }).waitFor();
  await zone.locator(".monaco-tokenized-source span[class^=mtk]").first().waitFor();
  assert.equal((await zone.locator(".author").allInnerTexts()).join("").trim(), "");
  const labels = await zone.locator("[aria-label]").evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")).join("\n"));
  assert.match(labels, /const one = 1;/u);
  assert.doesNotMatch(labels, /<span|&#\d+;|style=/u);
  for (const [theme, name] of [
    ["Dark Modern", "dark"],
    ["Light Modern", "light"],
    ["Dark High Contrast", "high contrast"],
  ]) {
    await window.theme(theme);
    await zone.locator(".monaco-tokenized-source span[class^=mtk]").first().waitFor();
    await window.screenshot(`keys-01 ${name}`);
  }
  await window.theme("Dark Modern");
});

step("a deleted file can be opened, and its row shows its name", async () => {
  await row("gone.txt, deleted").last().click();
  await window.page.locator(".view-line", { hasText: "needs this" }).waitFor();
  await window.lens("Accept Deletion").waitFor();
  await window.screenshot("keys-02 deleted");
  await window.clickLens("Restore File");
  await window.edits(13);
  assert.equal(await onDisk("gone.txt"), "nobody\nneeds this\n");
});

step("one key decides an edit and goes on to the next, into the next file", async () => {
  await window.open("list.mjs");
  await window.goTo(2);
  await window.page.keyboard.press("Control+Alt+Enter");
  await window.edits(12);
  await window.page.locator('.tab.active[data-resource-name="list.txt"]').waitFor();
  for (const left of [11, 10]) {
    await window.page.keyboard.press("Control+Alt+Enter");
    await window.edits(left);
  }
  await window.page.keyboard.press("Control+Alt+Backspace");
  await window.edits(9);
  await window.page.keyboard.press("Alt+F5");
  await window.screenshot("keys-03 next");
});

step("in the list of edits the keys decide the row under the focus", async () => {
  await row("Edit 1 of 9").click();
  await window.page.keyboard.press("ArrowDown");
  await window.page.keyboard.press("Delete");
  await window.edits(8);
  // The selection goes on by itself: a click before that would be undone by it.
  await row("Edit 2 of 8").and(window.page.locator(".selected")).waitFor();
  await row("Edit 3 of 8").click();
  await window.page.keyboard.press("ArrowDown");
  await window.page.keyboard.press("Control+Enter");
  await window.edits(7);
  await row("Edit 2 of 7").click();
  await window.page.keyboard.press("Enter");
  await window.page.locator(".monaco-editor.focused").waitFor();
});

step("a decision about many edits is reported, with Undo", async () => {
  const request = async () => {
    await window.command("Agent: run task");
    await window.answer("New Task", "Change them more");
    return await model.next();
  };
  const kept = Array.from({ length: 6 }, (_, index) => ({ name: "write_file", arguments: { path: `new-${index}.txt`, content: "new\n" } }));
  await (await request()).call(...kept);
  await (await model.next()).say("Made.");
  await window.edits(13);
  await window.command("Cairn: Reject All Edits");
  await until(async () => (await edits().count()) === 0, 10 * SECOND, "no edits");
  const toast = window.notification("13 edits rejected.");
  await toast.waitFor();
  await window.screenshot("keys-04 rejected");
  await window.button("Undo", toast).click();
  await window.edits(13);
});
