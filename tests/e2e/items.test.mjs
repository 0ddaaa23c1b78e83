// The items of a conversation: rows for what was looked at, edited and run, and the end of a task.
// One editor and one window for all; each test goes on where the one before it ended.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

let window;
let view;
let model;
let workspace;
const { step } = cairn({
  model: true,
  conversation: true,
  ready: (it) => {
    ({ window, workspace, model } = it);
    view = window.conversation();
  },
});
const button = (name, within = view) => within.getByRole("button", { name, exact: true });
const editRow = (state) => view.locator(`.edit[aria-label^='Edited src/pricing.mjs'][aria-label$='${state}']`);
const PRICING_TOP = "/** Returns the";

async function send(text) {
  await window.composer().fill(text);
  await window.composer().press("Enter");
  return model.next();
}

step("what was read and searched is one row, and each path opens its lines", async () => {
  await window
    .status()
    .first()
    .waitFor({ timeout: 60 * SECOND });
  await window.command("Cairn: Show Conversation");
  let request = await send("Look around");
  await request.call(
    {
      name: "read_file",
      arguments: { path: "src/cart.mjs", offset: 4, limit: 3 },
    },
    { name: "read_file", arguments: { path: "src/pricing.mjs" } },
    { name: "grep", arguments: { pattern: "export" } },
  );
  request = await model.next();
  const row = window.article(/Read 2 files, searched export \(\d+\)/u);
  await row.locator(".fold").click();
  await row.getByText("4–6", { exact: true }).waitFor();
  await window.screenshot("40 items looked");
  await row.getByRole("link", { name: "Read src/cart.mjs" }).click();
  await window.page.locator(".statusbar-item", { hasText: /Ln 7, Col 1 \(\d+ selected\)/u }).waitFor();
  await request.say("I looked.");
  await window.article("I looked.").waitFor();
});

step("the edits of a file are one row that opens them and takes the decision by keyboard", async () => {
  let request = await send("Say what the prices are");
  const edit = (from, to) => ({
    name: "edit_file",
    arguments: { path: "src/pricing.mjs", old_text: from, new_text: to },
  });
  await request.call(edit(PRICING_TOP, `// Prices in cents.\n${PRICING_TOP}`));
  request = await model.next();
  await request.call(edit("// Prices in cents.", "// Prices in whole cents."));
  request = await model.next();
  await editRow("to review").waitFor();
  assert.equal(await view.locator(".edit").count(), 1, "one row for both calls");
  await window.screenshot("41 items edit");
  await editRow("to review").getByRole("link", { name: "src/pricing.mjs" }).click();
  await window.page.locator(".statusbar-item", { hasText: "Ln 4, Col 1" }).waitFor();
  await window.page.locator(".view-line", { hasText: "Prices in whole cents." }).first().waitFor();
  await editRow("to review").focus();
  await view.locator(".edit:focus").press("Control+Enter");
  await editRow("decided").waitFor();
  assert.equal(await editRow("decided").getByRole("button").count(), 0, "there is nothing left to decide");
  assert.equal(await view.locator(".edit:focus").count(), 1, "the row keeps the focus");

  await request.call(edit("// Prices in whole cents.", "// Cents."));
  request = await model.next();
  await editRow("to review").waitFor();
  await button("Reject the edits in src/pricing.mjs").click();
  await editRow("decided").waitFor();
  await request.say("Said so.");
  await window.article("Said so.").waitFor();
});

step("a turn that changed files begins with its checkpoint, which leads back by keyboard", async () => {
  const row = view.locator(".checkpoint").last();
  await row.waitFor();
  assert.match(await row.getAttribute("aria-label"), /^Checkpoint \d.*, 1 file$/u);
  assert.equal(await view.locator(".checkpoint").count(), 1, "none for a turn that only looked");
  await row.locator(".fold").focus();
  await window.page.keyboard.press("Enter");
  await row.getByRole("link", { name: "src/pricing.mjs" }).waitFor();
  await window.screenshot("41c items checkpoint");
  const file = join(workspace, "src/pricing.mjs");
  assert.ok((await readFile(file, "utf8")).includes("Prices in whole cents."));
  await button("Restore Checkpoint…", row).press("Enter");
  await window.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: "Restore checkpoint" }).waitFor();
  assert.equal(await window.page.locator(".quick-input-list .monaco-list-row").count(), 1, "the checkpoint of this turn");
  await window.page.keyboard.press("Enter");
  await window.notification("as before").waitFor();
  await until(async () => !(await readFile(file, "utf8")).includes("Prices in whole cents."), 10 * SECOND, "the file from before the turn");
});

step("a command tells its exit code and time, and a task what it took", async () => {
  let request = await send("Run it");
  await request.call({
    name: "bash",
    arguments: { command: "echo out; exit 3" },
  });
  const allow = button("Allow Once");
  await allow.and(view.locator(":not([aria-disabled])")).click();
  request = await model.next();
  await window
    .article("$ echo out; exit 3")
    .filter({ hasText: /exit 3 · allowed once · \d/u })
    .waitFor();
  await request.say("It failed.", {
    prompt_tokens: 33_000,
    completion_tokens: 1_000,
    total_tokens: 34_000,
  });
  await window.article(/Done\s*· \S+ s · 34k tokens/u).waitFor();
  assert.match(await view.locator(".end").nth(1).innerText(), /1 file changed/u);
  await window.screenshot("42 items end");
});

step("a running command shows its last lines and its time, and all of its output in an editor", async () => {
  let request = await send("Run for long");
  const command = "for n in $(seq 1 30); do echo line $n; done; while [ ! -e go ]; do sleep 0.05; done; rm go; echo the end";
  await request.call({ name: "bash", arguments: { command } });
  await button("Allow Once").and(view.locator(":not([aria-disabled])")).click();
  const row = window.article("$ for n in");
  await row.locator(".live").waitFor();
  assert.equal(await row.locator(".live").innerText(), Array.from({ length: 10 }, (_, n) => `line ${n + 21}`).join("\n"));
  await row.locator(".elapsed", { hasText: /^[1-9]/u }).waitFor();
  await window.screenshot("44 items running");
  await row.locator(".fold").click();
  await button("Open Full Output", row).click();
  await window.page.locator(".view-line", { hasText: /^line.1$/u }).waitFor();
  await writeFile(join(workspace, "go"), "");
  request = await model.next();
  await row.locator(".live").waitFor({ state: "detached" });
  await row.filter({ hasText: "the end" }).waitFor();
  await request.say("It ended.");
  await window.article("It ended.").waitFor();
});

step("rows fit a narrow side bar in a light theme", async () => {
  await window.sideBarWidth(240);
  await until(async () => (await window.page.locator("iframe.webview").first().boundingBox()).width <= 250, 5 * SECOND, "the width");
  await window.theme("Light Modern");
  assert.ok((await view.locator("body").evaluate((body) => body.scrollWidth - innerWidth)) <= 0, "nothing is wider than the view");
  await window.screenshot("43 items narrow");
  await window.theme("Dark Modern");
  await window.sideBarWidth(300);
});
