// The three things a user does, in a real VS Code: run a task, watch the plan, decide on the edits.
// One editor and one window for all; each test goes on where the one before it ended.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

let window;
let workspace;
let original;
const it = cairn({
  script: "sample",
  ready: async (started) => {
    ({ window, workspace } = started);
    original = await onDisk("src/cart.mjs");
  },
});
const { step } = it;

const onDisk = (path) => readFile(join(workspace, path), "utf8");

step("a replay is announced before the first task", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await window.open("src/cart.mjs");
  await window.screenshot("01 ready");
});

step("a task runs from the palette, and its plan appears without taking the focus", async () => {
  await window.command("Agent: run task");
  await window.answer("New Task", "Find out why the tests fail, and fix it");
  await window.row("Plan", "Reading the tests and the code, in progress").waitFor();
  assert.equal(await window.rows("Plan").first().getAttribute("aria-expanded"), "true");
  assert.equal(await window.page.locator(".monaco-editor.focused").count(), 1, "the editor keeps the focus");
  await window.screenshot("02 plan");
});

step("each step is shown as it completes", async () => {
  await window.row("Plan", "Find out which test fails and why, completed").waitFor();
  await window.page.locator(".pane [role=treeitem] .codicon-loading.codicon-modifier-spin").first().waitFor();
});

step("edits appear in the text, each with accept and reject", async () => {
  await window.lens("Accept").first().waitFor();
  await window.row("Proposed Edits", "cart.mjs, ").waitFor();
  await window.page.locator(".review-widget", { hasText: "let sum = 0;" }).waitFor();
});

step("a command waits for approval and is shown in full", async () => {
  await window.notification("node --test").waitFor();
  await window.row("Plan", "Approval needed. Run a command: node --test").waitFor();
  await window.status().filter({ hasText: "Allow? " }).waitFor();
  await window.screenshot("03 approval");
});

step("the user can type in the same file meanwhile", async () => {
  await window.goTo(await lineOf("Returns the total after"));
  await window.page.keyboard.press("End");
  await window.page.keyboard.insertText(" // mine");
  await window.page.locator(".view-line", { hasText: "// mine" }).waitFor();
  // What is typed outside of an edit is the user's: no new edit comes of it.
  assert.equal(await window.row("Proposed Edits", "mine").count(), 0);
  await window.page.keyboard.press("Control+Home");
});

step("allowing the command ends the turn and collapses the plan", async () => {
  await it.armed();
  await window.button("Allow Once", window.notification("node --test")).click();
  const root = window.row("Plan", "Plan, 5 of 5 done");
  await root.and(window.page.locator('[aria-expanded="false"]')).waitFor();
  assert.equal(await window.row("Plan", "Run the tests").count(), 0, "its steps are folded");
  await window.status().filter({ hasText: "edits to review" }).waitFor();
  await window.screenshot("04 folded");
});

step("closed files are changed on disk", async () => {
  assert.match(await onDisk("src/pricing.mjs"), /export function toCents/);
  assert.match(await onDisk("test/pricing.test.mjs"), /a discount is whole cents/);
  await until(async () => (await window.tab("pricing.mjs").count()) === 0, 5 * SECOND, "no tab of a file nobody opened");
});

step("a file with unsaved text of the user is not saved", async () => {
  await window.page.locator('.tab.dirty[data-resource-name="cart.mjs"]').waitFor();
  assert.equal(await onDisk("src/cart.mjs"), original);
});

step("accepting one edit keeps the others pending", async () => {
  const before = await window.rows("Proposed Edits").count();
  // Not right after a scroll: VS Code takes a moment until a lens that came into view can be clicked.
  await window.clickLens("Accept");
  await until(async () => (await window.rows("Proposed Edits").count()) === before - 1, 10 * SECOND, "one edit less");
});

step("rejecting one edit restores its old text and keeps the user's text", async () => {
  await window.page.locator(".review-widget", { hasText: "let sum = 0;" }).waitFor();
  await window.goTo(await lineOf("return cents / 100;"));
  await window.command("Cairn: Reject Edit");
  await window.page.locator(".view-line", { hasText: "let sum = 0;" }).waitFor();
  await window.save("cart.mjs");
  const text = await onDisk("src/cart.mjs");
  assert.match(text, /import \{ discount, format, toCents \}/, "the accepted edit stays");
  assert.match(text, /let sum = 0;/, "the rejected one is gone");
  assert.match(text, /Returns the total after.*\/\/ mine/, "what the user typed stays");
  await window.screenshot("05 decided");
});

step("the last decision can be undone", async () => {
  await window.command("Cairn: Undo Last Decision");
  await window.page.locator(".view-line", { hasText: "cents / 100" }).waitFor();
});

step("every theme shows the edits", async () => {
  await window.open("src/pricing.mjs");
  for (const [theme, name] of [
    ["Dark Modern", "dark"],
    ["Light Modern", "light"],
    ["Dark High Contrast", "high contrast"],
  ]) {
    await window.theme(theme);
    await window.lens("Accept").first().waitFor();
    await window.screenshot(`06 ${name}`);
  }
  await window.theme("Dark Modern");
});

step("all edits open in one editor, and the conversation can be read", async () => {
  await window.command("Cairn: Review All Edits");
  await window.page.locator(".multiDiffEditor .codelens-decoration a").first().waitFor();
  await window.screenshot("07 all edits");
  await window.command("Cairn: Open Conversation as Text");
  await window.page.locator(".view-line", { hasText: "■ Done" }).waitFor();
  await window.screenshot("08 conversation");
});

step("rejecting everything keeps only the text that the user accepted and typed", async () => {
  // From within the view of all edits: the file that the agent created is open there.
  await window.command("Cairn: Review All Edits");
  await window.page.locator(".multiDiffEditor .codelens-decoration a").first().waitFor();
  await window.command("Cairn: Reject All Edits");
  await until(async () => (await window.rows("Proposed Edits").count()) === 0, 10 * SECOND, "no edits");
  await window.open("src/cart.mjs");
  const expected = original.replace("{ discount }", "{ discount, format, toCents }").replace("of a code. */", "of a code. */ // mine");
  assert.equal(await window.text(), expected);
});

/** 1-based line of the active editor that holds this text, as the window shows it. */
async function lineOf(text) {
  const lines = (await window.text()).split("\n");
  const index = lines.findIndex((line) => line.includes(text));
  assert.notEqual(index, -1, `no line with ${text}`);
  return index + 1;
}
