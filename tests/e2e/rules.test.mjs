// Questions about commands: always, revoked, answered with words, with the keyboard alone.

import assert from "node:assert/strict";

import { SECOND, cairn } from "./harness.mjs";

let window;
const it = cairn({
  script: "rules",
  ready: () => {
    window = it.window;
  },
});
const { step, play } = it;

const SCRIPT = "node --version && node --check src/cart.mjs";
const question = (command) => window.row("Plan", `Approval needed. Run a command: ${command}`);
const listed = (label) => window.page.locator(".quick-input-list .monaco-list-row", { hasText: label });
const picker = () => window.page.locator(".quick-input-widget:visible");

async function task() {
  await window.command("Agent: run task");
  await window.answer("New Task", "Check the cart");
}

const done = () => window.notification("What next?").waitFor();

step("a question offers always with the exact rules that it would store", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await task();
  await question(SCRIPT).waitFor();
  const toast = window.notification("Run a command");
  await toast.waitFor();
  await window.screenshot("rules-01 question");
  await window.button("Always…", toast).click();
  await listed("Always Allow in This Folder").waitFor();
  await listed("2 commands, word for word: see below").waitFor();
  const rows = await window.page.locator(".quick-input-list .monaco-list-row").allInnerTexts();
  // A long line goes on in the next row.
  const said = rows
    .map((text) => text.replaceAll("\u00a0", " ").trim())
    .join("")
    .replaceAll("↪ ", "");
  assert.ok(said.includes(SCRIPT), "the whole command is shown");
  // Below, each rule in a line of its own.
  assert.equal(await window.page.locator('.quick-input-list .monaco-list-row[aria-label^="node --version"]').count(), 2);
  await window.page.locator('.quick-input-list .monaco-list-row[aria-label^="node --check src/cart.mjs"]').waitFor();
  await window.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: "Always Allow" }).waitFor();
  await window.screenshot("rules-02 always");
  await it.answerList();
  await done();
});

step("the same command then runs without a question, also after a reload", async () => {
  await window.reload();
  // The browser may have stored the layout of before.
  await window.foldConversation();
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await task();
  await done();
  assert.equal(await question(SCRIPT).count(), 0);
});

step("the rules are listed, and revoked with the mouse or with the keyboard", async () => {
  await window.command("Cairn: Manage Allowed Commands");
  await listed("node --check src/cart.mjs").waitFor();
  await window.screenshot("rules-03 list");
  assert.equal(await listed("node --").count(), 2);
  await listed("node --check").hover();
  await listed("node --check").locator('[aria-label^="Revoke"]').click();
  await listed("node --check").waitFor({ state: "hidden" });
  await window.page.keyboard.press("ArrowDown");
  await window.page.keyboard.press("Enter");
  await picker().waitFor({ state: "hidden" });
  await window.screenshot("rules-04 none left");
});

step("a revoked command asks again", async () => {
  await task();
  await question(SCRIPT).waitFor();
  await window.rowAction(question(SCRIPT), "Deny");
  await question(SCRIPT).waitFor({ state: "hidden" });
  await window.status().filter({ hasText: "Cairn: reply" }).waitFor();
});

step("a denial with feedback reaches the agent", async () => {
  await play("words");
  await task();
  await question("node --test").waitFor();
  await window.rowAction(question("node --test"), "Deny and Say Why", window.page.locator(".quick-input-title", { hasText: "Deny and Say Why" }));
  await picker().locator(".quick-input-title", { hasText: "Deny and Say Why" }).waitFor();
  // Whoever thinks better of it has the question back.
  await window.page.keyboard.press("Escape");
  await listed("Deny and Say Why…").waitFor();
  await window.screenshot("rules-05 answers");
  await listed("Deny and Say Why…").click();
  await window.answer("Deny and Say Why", "Only the syntax, please.");
  await question("node --check src/pricing.mjs").waitFor();
});

step("a question can be allowed with feedback by keyboard only", async () => {
  await window.command("Cairn: Show Waiting Approval");
  await listed("Always Allow in This Folder").waitFor();
  const focused = window.page.locator(".quick-input-list .monaco-list-row.focused");
  await focused.filter({ hasText: "Allow Once" }).waitFor();
  for (let row = 0; row < 3; row += 1) {
    await window.page.keyboard.press("ArrowDown");
  }
  await focused.filter({ hasText: "Allow and Say…" }).waitFor();
  assert.match(await focused.getAttribute("aria-label"), /Allow and Say…, with a message to the agent$/);
  await window.page.keyboard.press("Enter");
  await window.answer("Allow and Say", "The cart next.");
  await window.notification("What next?").waitFor();
});

step("the conversation shows the feedback of the user", async () => {
  await window.command("Cairn: Open Conversation as Text");
  await window.page.locator(".view-line", { hasText: "Only the syntax, please." }).first().waitFor();
  await window.page.locator(".view-line", { hasText: "The cart next." }).first().waitFor();
  await window.screenshot("rules-06 conversation");
});
