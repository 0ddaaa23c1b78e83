// Subagents in a real VS Code: their rows under the step they work for, with their own plans.
// Commands that wait for approval are where the script stands still.

import assert from "node:assert/strict";

import { SECOND, cairn } from "./harness.mjs";

let window;
const { step } = cairn({
  script: "subagents",
  ready: (it) => {
    window = it.window;
  },
});

const plan = (spoken) => window.row("Plan", spoken);
const open = (row) => row.and(window.page.locator('[aria-expanded="true"]'));
const closed = (row) => row.and(window.page.locator('[aria-expanded="false"]'));
const question = (command) => plan(`Approval needed. Run a command: ${command}`);

async function allow(command) {
  const row = question(command);
  await window.rowAction(row, "Allow Once");
  await row.waitFor({ state: "hidden" });
}

step("two subagents are shown under their step, with plans of their own", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await window.command("Agent: run task");
  await window.answer("New Task", "Fix the discount");
  await question("node --version, for Search the pricing code").waitFor();
  await question("node --eval 0, for Tidy the cart").waitFor();
  await open(plan("Finding what is wrong, in progress")).waitFor();
  await open(plan("Subagent Search the pricing code, working, 1 of 3 done")).waitFor();
  await open(plan("Subagent Tidy the cart, working, 1 of 2 done")).waitFor();
  await plan("Comparing it with its words, in progress").waitFor();
  await closed(plan("Replace the loop, completed")).waitFor();
  await plan("File src/cart.mjs").waitFor();
  await window.screenshot("subagents-01 two at work");
  await window.sideBarWidth(200);
  await window.screenshot("subagents-02 narrow");
  await window.sideBarWidth(320);
});

step("the work of a subagent is shown once, under its own step", async () => {
  await window.twist(plan("Comparing it with its words, in progress"));
  await plan("Run node --version, waits for approval").waitFor();
  assert.equal(await plan("Run node --version, waits for approval").count(), 1);
});

step("a subagent that the user collapses stays collapsed while it works", async () => {
  await window.twist(plan("Subagent Tidy the cart, working"));
  await closed(plan("Subagent Tidy the cart, working, 1 of 2 done")).waitFor();
  await allow("node --version");
  await closed(plan("Subagent Search the pricing code, done, 3 of 3 done")).waitFor();
  await closed(plan("Subagent Tidy the cart, working, 1 of 2 done")).waitFor();
  await window.screenshot("subagents-03 one has ended");
});

step("the step collapses after its last subagent ended, and keeps the rows", async () => {
  await allow("node --eval 0");
  await question("node --check src/cart.mjs").waitFor();
  const item = plan("Find what is wrong, completed");
  await closed(item).waitFor();
  await window.twist(item);
  await closed(plan("Subagent Tidy the cart, done, 1 of 2 done")).waitFor();
  await plan("File src/cart.mjs, 1 edit to review").waitFor();
  await window.screenshot("subagents-04 ended");
  await allow("node --check src/cart.mjs");
  await closed(plan("Plan, 1 of 2 done")).waitFor();
  assert.equal(await window.spinning("Plan").count(), 0);
});

step("the conversation shows their calls under the calls that started them", async () => {
  await window.command("Cairn: Open Conversation as Text");
  // Its editor takes the focus when it comes, from whatever has it then.
  await window.page.locator(".view-line", { hasText: "Task: Search the pricing code" }).first().waitFor();
  await window.goTo(1);
  const text = await window.text();
  assert.match(text, /✓ Task: Search the pricing code/);
  assert.match(text, /\n    ✓ Read src\/pricing\.mjs/);
  await window.screenshot("subagents-05 conversation");
});
