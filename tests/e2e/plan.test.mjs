// The plan's whole life, in a real VS Code. Commands that wait for approval are where the script
// stands still: nothing here waits for time to pass.

import assert from "node:assert/strict";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

let window;
const { step, play } = cairn({
  script: "plan",
  ready: (it) => {
    window = it.window;
  },
});

const plan = (spoken) => window.row("Plan", spoken);
const root = (state) => plan(`Plan, ${state}`);
const open = (row) => row.and(window.page.locator('[aria-expanded="true"]'));
const closed = (row) => row.and(window.page.locator('[aria-expanded="false"]'));

/** The script stands at this command. Answers it, and lets the script go on. */
async function answer(command, button) {
  const row = plan(`Approval needed. Run a command: ${command}`);
  await window.rowAction(row, button === "Deny" ? "Deny" : "Allow Once");
  await row.waitFor({ state: "hidden" });
}

const waits = (command) => plan(`Approval needed. Run a command: ${command}`).waitFor();

async function task(text) {
  await window.command("Agent: run task");
  await window.answer("New Task", text);
}

step("the first call of a turn opens the plan", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await window.open("src/pricing.mjs");
  await task("Fix the discount");
  await open(root("0 of 5 done")).waitFor();
  await waits("node --version");
  await plan("Looking for the wrong discount, in progress, Run node --version").waitFor();
  assert.equal(await window.spinning("Plan").count(), 1);
  assert.equal(await window.page.locator(".monaco-editor.focused").count(), 1, "the editor keeps the focus");
  await window.screenshot("plan-01 first call");
});

step("each update is shown, with the names of dropped steps", async () => {
  await answer("node --version", "Allow");
  await root("1 of 3 done, wait").waitFor();
  await plan("Find the wrong discount, completed").waitFor();
  await plan("2 steps were dropped: Write an entry for the changelog; Tell the team").waitFor();
});

step("the work for a step is shown under it", async () => {
  await waits("node --test");
  const item = plan("Correcting it, in progress");
  await closed(item).waitFor();
  await window.twist(item);
  await plan("File src/pricing.mjs, 2 edits to review").waitFor();
  await plan("File src/cart.mjs, 1 edit to review").waitFor();
  await plan("Run node --test, waits for approval").waitFor();
  await window.screenshot("plan-02 work");
  await answer("node --test", "Allow");
  await plan("Run node --test, failed").waitFor();
  await waits("git push");
  await answer("git push", "Deny");
});

step("a question collapses the plan, keeps open steps, and offers a reply", async () => {
  await closed(root("1 of 3 done, waits for your reply, 2 open")).waitFor();
  assert.equal(await window.spinning("Plan").count(), 0);
  await window.status().filter({ hasText: "Cairn: reply" }).waitFor();
  await window.notification("round it to the cent?").waitFor();
  await window.screenshot("plan-03 question");
  await window.page.keyboard.press("Escape");
  await window.twist(root("1 of 3 done"));
  await plan("Run git push, declined").waitFor();
  for (const [theme, name] of [
    ["Light Modern", "light"],
    ["Dark High Contrast", "high contrast"],
    ["Dark Modern", "dark"],
  ]) {
    await window.theme(theme);
    await window.screenshot(`plan-04 ${name}`);
  }
});

step("a file under a step opens at its first edit", async () => {
  await plan("File src/cart.mjs, 1 edit to review").click();
  await window.page.locator('.tab.active[data-resource-name="cart.mjs"]').waitFor();
  await window.page.locator(".view-line", { hasText: "Math.max" }).waitFor();
});

step("a plan and a step can be copied", async () => {
  await window.menu(root("1 of 3 done"), "Copy Plan as Markdown");
  const markdown = "- [x] Find the wrong discount\n- [ ] Correct it\n- [ ] Add a test for it\n";
  await until(async () => (await window.clipboard()) === markdown, 5 * SECOND, "the plan as Markdown");
  await window.menu(plan("Add a test for it, open"), "Copy Text");
  await until(async () => (await window.clipboard()) === "Add a test for it", 5 * SECOND, "the step");
});

step("the plan can be used by keyboard only", async () => {
  await plan("Add a test for it, open").click();
  await window.page.keyboard.press("ArrowUp");
  await window.page.keyboard.press("Shift+F10");
  await window.page.locator(".monaco-menu").waitFor();
  await window.page.keyboard.press("ArrowUp");
  await window.page.keyboard.press("Enter");
  await until(async () => (await window.clipboard()) === "Run git push", 5 * SECOND, "the row under the focus");
  for (let row = 0; row < 3; row += 1) {
    await window.page.keyboard.press("ArrowUp");
  }
  await window.page.keyboard.press("Enter");
  await window.page.locator('.tab.active[data-resource-name="pricing.mjs"]').waitFor();
});

step("the edits of a step are decided together", async () => {
  assert.equal(await window.rows("Proposed Edits").count(), 5, "two files, three edits");
  await window.rowAction(plan("Correct it, open"), "Accept Edits of Step");
  await until(async () => (await window.rows("Proposed Edits").count()) === 0, 10 * SECOND, "no edits");
  await plan("File src/pricing.mjs, nothing to review").waitFor();
});

step("a reply continues, and the next call expands the plan again", async () => {
  await window.twist(root("1 of 3 done"));
  await closed(root("1 of 3 done")).waitFor();
  await window.rowAction(root("1 of 3 done"), "Reply", window.page.locator(".quick-input-title", { hasText: "Reply" }));
  await window.answer("Reply", "Yes, to the cent");
  await open(root("1 of 3 done")).waitFor();
  await waits("node --eval 0");
});

step("a plan that the user collapses stays collapsed for the turn", async () => {
  await window.twist(root("1 of 3 done"));
  await closed(root("1 of 3 done")).waitFor();
  await answer("node --eval 0", "Allow");
  await root("3 of 4 done, wait").waitFor();
  await waits("node --test test");
  assert.equal(await open(root("3 of 4 done")).count(), 0);
});

step("a step completed without work is marked", async () => {
  await window.twist(root("3 of 4 done"));
  await plan("Add a test for it, completed, no recorded work").waitFor();
  await plan("Checking the result, in progress").waitFor();
  await window.screenshot("plan-05 folded by hand, opened again");
});

step("a cancel stops all spinners and offers to continue", async () => {
  await window.rowAction(root("3 of 4 done"), "Cancel Task");
  await closed(root("3 of 4 done, cancelled, 1 open")).waitFor();
  assert.equal(await window.spinning("Plan").count(), 0);
  await window.twist(root("3 of 4 done"));
  await plan("Check the result, open").waitFor();
  await window.screenshot("plan-06 cancelled");
  await window.rowAction(root("3 of 4 done"), "Continue Plan");
  await open(root("3 of 4 done")).waitFor();
  await waits("node --print 1");
  await answer("node --print 1", "Allow");
  await closed(root("4 of 4 done, done")).waitFor();
});

step("plans of earlier turns are kept", async () => {
  const earlier = plan("Earlier turns, 2 plans");
  await closed(earlier).waitFor();
  await window.twist(earlier);
  const first = plan("Fix the discount, 1 of 3 done, waits for your reply");
  await plan("Yes, to the cent, 3 of 4 done, cancelled").waitFor();
  await window.twist(first);
  await plan("Correct it, open").waitFor();
  await window.screenshot("plan-07 earlier turns");
  assert.deepEqual(await window.menuEntries(plan("Correct it, open")), ["Run Step Again as Task", "Copy Text"]);
});

step("a step can be run again, and a turn without a plan leaves the last plan collapsed", async () => {
  await window.menu(plan("Correct it, open"), "Run Step Again as Task");
  await plan("Correct it: done").waitFor();
  await closed(root("4 of 4 done, done")).waitFor();
});

step("a blocked step is marked", async () => {
  await play("plan-blocked", { "cairn.plan.dialect": "write-todos" });
  await task("Move to the new API");
  await waits("node --version");
  await plan("Remove the old endpoint, blocked").waitFor();
  assert.equal(await plan("Ask about the old endpoint").count(), 0, "what is cancelled leaves the list");
  await window.screenshot("plan-08 blocked");
  await answer("node --version", "Deny");
  await closed(root("1 of 4 done, 3 open")).waitFor();
});

step("a task of the graph names the tasks it waits for", async () => {
  await play("plan-tasks", { "cairn.plan.dialect": "tasks" });
  await task("Replace the parser");
  await waits("node --version");
  await plan("#3 Compare the two, blocked by #1, #2").waitFor();
  await plan("#1 Measuring the present state, in progress").waitFor();
  await window.screenshot("plan-09 tasks");
  await answer("node --version", "Allow");
  await closed(root("1 of 3 done, 2 open")).waitFor();
  await window.twist(root("1 of 3 done"));
  await plan("#3 Compare the two, blocked by #2").waitFor();
});

step("twenty long items fit a narrow side bar as plain text", async () => {
  await play("plan-long", { "cairn.plan.dialect": "auto" });
  await task("Rework the prices");
  await waits("node --version");
  await window.sideBarWidth(200);
  await plan("**Bold**, _slanted_ and `code` are not markup here, completed").waitFor();
  await plan("$(flame) $(sync~spin) are not icons").waitFor();
  assert.equal(await window.spinning("Plan").count(), 1);
  assert.equal(await window.page.locator(".pane [role=treeitem] .codicon-flame").count(), 0);
  assert.equal(await window.page.locator(".pane [role=treeitem] :is(img, b)").count(), 0);
  const tooltip = await window.tooltip(plan("[A link](command:workbench.action.closeWindow)"));
  assert.equal(await tooltip.locator("a").count(), 0);
  assert.match(
    await tooltip.innerText(),
    /^\[A link\]\(command:workbench\.action\.closeWindow\) that must not be one\nCompleted, no recorded work\nThe agent says it is done; nothing was recorded under it\.$/,
  );
  await window.screenshot("plan-10 narrow");
});

step("a restart of the daemon stops all spinners and keeps the plan", async () => {
  await window.command("Cairn: Restart Cairn");
  await window.notification("“Rework the prices” was interrupted").waitFor();
  await closed(root("5 of 20 done, interrupted, 15 open")).waitFor();
  assert.equal(await window.spinning("Plan").count(), 0);
  await window.screenshot("plan-11 restarted");
});

step("a reloaded window restores the plan and the conversation, and can continue", async () => {
  await window.reload();
  await closed(root("5 of 20 done, interrupted, 15 open")).waitFor({ timeout: 30 * SECOND });
  await window.command("Cairn: Open Conversation as Text");
  await window.tab("Cairn Conversation").waitFor();
  await until(async () => (await window.text()).includes("Rework the prices"), 10 * SECOND, "the conversation is there again");
  await window.screenshot("plan-12 loaded anew");
  await window.rowAction(root("5 of 20 done, interrupted"), "Continue Plan");
  await closed(root("5 of 20 done, 15 open")).waitFor();
  await until(async () => (await window.text()).includes("Enough."), 10 * SECOND, "the answer follows what was said before");
});
