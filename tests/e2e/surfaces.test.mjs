// Every way to review, in a Git repository and without lenses: the plan to approve, nothing that
// moves by itself, quick fix, keys, reasons, groups, diffs, files that change on disk, themes.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

const run = promisify(execFile);

let window;
let workspace;
const it = cairn({
  script: "surfaces",
  ready: async () => {
    ({ window, workspace } = it);
    await git("init", "--quiet");
    await git("add", "--all");
    await git("-c", "user.name=Someone", "-c", "user.email=someone@example.org", "commit", "--quiet", "--message=Begin");
    await it.configure({ "git.enabled": true, "editor.codeLens": false });
  },
});
const { step } = it;

const git = async (...args) => (await run("git", args, { cwd: workspace })).stdout;
const onDisk = (path) => readFile(join(workspace, path), "utf8");
const edits = () => window.row("Proposed Edits", "Edit ");
const edit = (text) => window.row("Proposed Edits", text);
const item = (name) => window.page.locator(`.statusbar-item[id*="cairn.status.${name}"]`);
const mode = (name) => window.page.locator(`.statusbar-item[id*="cairn.status"] [aria-label*="${name} mode: "]`);
const zone = (text) => window.page.locator(".review-widget", { hasText: text }).filter({ visible: true });
const press = (key) => window.page.keyboard.press(key);

/** Waits until so many edits are left. */
async function left(count) {
  await until(async () => (await edits().count()) === count, 10 * SECOND, `${count} edits`);
}

/** Puts the cursor on an edit of the cart. */
async function onEdit(text) {
  const lines = (await window.text()).split("\n");
  await window.goTo(lines.findIndex((line) => line.includes(text)) + 1);
}

step("the status bar offers nothing dangerous first, and the mode", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await window.open("src/cart.mjs");
  await mode("Review").click();
  await window.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: "Show Conversation" }).waitFor();
  await window.screenshot("19 menu");
  await window.choose("Edit Mode…");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "plan to approve" }).waitFor();
  await window.screenshot("20 modes");
  await window.choose("plan to approve");
  await mode("Plan").waitFor();
});

step("a turn in plan mode changes no file and ends with a plan to approve", async () => {
  await window.command("Agent: run task");
  await window.answer("New Task", "Fix the totals");
  await window.button("Run Plan", window.notification("The plan is ready")).waitFor();
  await window.row("Plan", "The plan waits for your approval").waitFor();
  await window.screenshot("21 plan ready");
  assert.equal(await edits().count(), 0);
  assert.equal(await git("status", "--porcelain"), "");
});

step("running the plan moves no focus and opens no tab", async () => {
  await window.command("Notifications: Clear All Notifications");
  await window.goTo(9);
  await window.command("Cairn: Run Plan");
  await window.page.locator(".monaco-editor.focused").waitFor();
  await window.page.evaluate(() => {
    const active = () => document.querySelector(".tab.active")?.dataset.resourceName;
    globalThis.seen = { active: new Set([active()]), focus: new Set(), focused: document.activeElement };
    document.addEventListener("focusin", ({ target }) => globalThis.seen.focus.add(target.className));
    const watch = { childList: true, subtree: true, attributeFilter: ["class"] };
    new MutationObserver(() => globalThis.seen.active.add(active())).observe(document.querySelector(".part.editor .tabs-container"), watch);
  });
  await mode("Review").waitFor();
  await window.row("Plan", "Plan, 3 of 3 done").waitFor();
  await item("edits").filter({ hasText: "7 edits to review" }).waitFor();
  const seen = await window.page.evaluate(() => {
    const { active, focus, focused } = globalThis.seen;
    return { active: [...active], focus: [...focus], still: document.activeElement === focused };
  });
  assert.deepEqual(seen, { active: ["cart.mjs"], focus: [], still: true });
  // On a busy machine VS Code gives a hidden file a tab in the background before it is saved: it goes.
  await until(async () => (await window.page.locator(".tab").count()) === 1, 5 * SECOND, "no tab that nobody opened");
});

step("edits are visible without lenses and next to Git's decorations", async () => {
  const [removed, added] = [zone("let sum = 0;"), window.page.locator(".view-line", { hasText: "const cents" })];
  await removed.waitFor();
  assert.ok((await removed.boundingBox()).y < (await added.boundingBox()).y, "what was removed is above what took its place");
  assert.equal(await zone("import { discount }").count(), 0, "a change of words is shown in its line");
  await window.page.locator(".dirty-diff-glyph").first().waitFor();
  assert.equal(await window.page.locator(".codelens-decoration").count(), 0);
  // Git adds its letter to a file that it does not know, and the colour of edits stays.
  const label = edit("pricing.test.mjs, ").locator(".monaco-icon-label").first();
  const badge = () => label.evaluate((element) => getComputedStyle(element, "::after").content);
  await until(async () => /\d, U/.test(await badge()), 10 * SECOND, "Git's letter");
  assert.equal(await label.locator(".label-name").evaluate((element) => getComputedStyle(element).color), "rgb(137, 85, 3)");
  await window.screenshot("22 git, no lenses");
});

step("a code action decides an edit, after those of the language", async () => {
  await onEdit("discount, format, toCents");
  await window.codeAction("Reject this edit with a reason");
  await window.screenshot("23 quick fix");
  const rows = await window.page.locator(".action-widget .monaco-list-row").allInnerTexts();
  assert.match(rows.at(-1), /edits in this file/, "ours come last");
  await window.page.locator(".action-widget .monaco-list-row", { hasText: "Accept this edit" }).click();
  await left(6);
  assert.match(await window.text(), /discount, format, toCents/);
});

step("keys move to an edit, reject it, and undo the rejection", async () => {
  await window.goTo(1);
  await press("Control+Alt+]");
  await press("Control+Alt+Backspace");
  await window.page.locator(".view-line", { hasText: "let sum = 0;" }).waitFor();
  await left(5);
  await press("Control+Alt+z");
  await left(6);
});

step("a rejection can have a reason", async () => {
  await zone("let sum = 0;").waitFor();
  await onEdit("const cents");
  await window.command("Cairn: Reject Edit with Reason");
  await window.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: "Why is this rejected?" }).waitFor();
  await window.screenshot("24 reason");
  await window.answer("Why is this rejected?", "Too clever for a shop");
  await left(5);
  assert.match(await window.text(), /let sum = 0;/);
});

step("edits can be grouped by step and decided together", async () => {
  await window.viewAction("Proposed Edits", "Group Edits by Step");
  const discount = window.row("Proposed Edits", "Correct the discount, ");
  await discount.waitFor();
  await window.row("Proposed Edits", "Count sums in cents").waitFor();
  await window.screenshot("25 by step");
  await window.rowAction(discount, "Accept Edits of Step");
  await left(4);
  await window.viewAction("Proposed Edits", "Group Edits by File");
  await edit("src/cart.mjs, 2 proposed edits").waitFor();
});

step("a closed file changed by another program is read again", async () => {
  const before = await onDisk("test/pricing.test.mjs");
  await writeFile(join(workspace, "test/pricing.test.mjs"), before.replace("import assert", "import check"));
  await edit("import check from").waitFor();
});

step("keys and lenses decide in the editor of all edits", async () => {
  await it.configure({ "git.enabled": true });
  await window.command("Cairn: Review All Edits");
  await window.page.locator(".multiDiffEditor .codelens-decoration a").first().waitFor();
  await window.screenshot("26 all edits");
  await window.page.locator(".multiDiffEditor .view-line", { hasText: "format(price)" }).last().click();
  await press("Control+Alt+Enter");
  await left(3);
  // The line below is an edit of another call.
  await window.page.locator(".multiDiffEditor .view-line", { hasText: "format(total(lines" }).last().click();
  await press("Control+Alt+Enter");
  await left(2);
});

step("a diff editor stays a diff editor", async () => {
  await window.closeEditors();
  await window.menu(edit("src/pricing.mjs, "), "Open Changes");
  await window.page.locator(".tab.active", { hasText: "pricing.mjs (proposed edits)" }).waitFor();
  await window.lens("Accept").first().waitFor();
  await window.screenshot("27 one diff");
  await window.page.locator(".editor.modified .view-line").first().click();
  await press("Control+Alt+[");
  await window.page.locator(".tab.active", { hasText: "pricing.test.mjs (proposed edits)" }).waitFor();
  await press("Control+Alt+]");
  await window.page.locator(".tab.active", { hasText: "pricing.mjs (proposed edits)" }).waitFor();
});

step("every theme shows the edits", async () => {
  await window.closeEditors();
  await window.command("Cairn: Undo Last Decision");
  await left(3);
  await window.open("src/cart.mjs");
  await window.page.locator(".monaco-editor.focused").waitFor();
  for (const [theme, name] of [
    ["Light Modern", "light"],
    ["Dark High Contrast", "high contrast"],
    ["Light High Contrast", "light high contrast"],
    ["Dark Modern", "dark"],
  ]) {
    await window.theme(theme);
    await window.lens("Accept").first().waitFor();
    await window.screenshot(`28 ${name}`);
  }
});

step("the model receives the reason", async () => {
  await window.command("Cairn: Reply");
  await window.answer("Reply", "Go on then");
  await window.command("Cairn: Open Conversation as Text");
  await window.page.locator(".view-line", { hasText: "I leave the sum as it was." }).waitFor();
});
