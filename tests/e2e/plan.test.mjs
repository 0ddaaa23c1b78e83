// The plan's whole life, in a real VS Code. Commands that wait for approval are where the script
// stands still: nothing here waits for time to pass.

import assert from "node:assert/strict";

import { until } from "./editor.mjs";
import { SECOND, now, play, scene, reply, state, step, task, setTheme, window } from "./harness.mjs";
import { answer, edits, inFront, message, status, text } from "./look.mjs";

const plan = (spoken) => window.row("Plan", spoken);
const root = (state) => plan(`Plan, ${state}`);
const open = (row) => window.opened(row);
const closed = (row) => window.closed(row);
const copied = (text, what) => until(async () => (await window.clipboard()) === text, 5 * SECOND, what);
const key = (name) => window.page.keyboard.press(name);

/** The script stands at this command, and the row is drawn: VS Code undoes the folding of a row that it is drawing. */
async function waits(command) {
  await state(({ approvals }) => approvals.some((asked) => asked.command === command), `the question about ${command}`);
  await plan(", waits for you").waitFor();
}

/** No step seems to be at work. */
const atRest = () => until(async () => (await window.spinning("Plan").count()) === 0, 10 * SECOND, "no spinner");

scene("the plan of a task", { script: "plan", conversation: "folded" }, () => {
  step("the first call of a turn opens the plan", async () => {
    await window.open("src/pricing.mjs");
    await task("Fix the discount");
    await open(root("0 of 5 done")).waitFor();
    await waits("node --version");
    await plan("Looking for the wrong discount, in progress, Run node --version").waitFor();
    assert.equal(await window.spinning("Plan").count(), 1);
    // The editor keeps the focus.
    await window.focusedEditor().waitFor();
    await window.screenshot("plan-01 first call");
  });

  step("each update is shown, with the names of dropped steps, and the work for a step under it", async () => {
    await answer("node --version");
    await root("1 of 3 done, wait").waitFor();
    await plan("Find the wrong discount, completed").waitFor();
    await plan("2 steps were dropped: Write an entry for the changelog; Tell the team").waitFor();
    await waits("node --test");
    const item = plan("Correcting it, in progress");
    await closed(item).waitFor();
    await window.twist(item);
    await plan("File src/pricing.mjs, 2 edits to review").waitFor();
    await plan("File src/cart.mjs, 1 edit to review").waitFor();
    await plan("Run node --test, waits for approval").waitFor();
    await window.screenshot("plan-02 work");
    await answer("node --test");
    await plan("Run node --test, failed").waitFor();
    await answer("git push", "Deny");
  });

  step("a question collapses the plan, keeps open steps, and offers a reply", async () => {
    await closed(root("1 of 3 done, waits for your reply, 2 open")).waitFor();
    await atRest();
    await status("Cairn: reply");
    await window.screenshot("plan-03 question");
    await window.unfold("Proposed Edits", false);
    await window.twist(root("1 of 3 done"));
    await plan("Run git push, declined").waitFor();
    for (const [theme, name] of [
      ["Light Modern", "light"],
      ["Dark High Contrast", "high contrast"],
      ["Dark Modern", "dark"],
    ]) {
      await setTheme(theme);
      await window.screenshot(`plan-04 ${name}`);
    }
  });

  step("the plan can be copied, and used by keyboard only", async () => {
    await window.menu(root("1 of 3 done"), "Copy Plan as Markdown");
    await copied("- [x] Find the wrong discount\n- [ ] Correct it\n- [ ] Add a test for it\n", "the plan as Markdown");
    await window.menu(plan("Add a test for it, open"), "Copy Text");
    await copied("Add a test for it", "the step");
    await window.select(plan("Add a test for it, open"));
    await key("ArrowUp");
    await window.focused(plan("Run git push")).waitFor();
    await key("Shift+F10");
    await window.menuEntry("Copy Text").waitFor();
    await key("ArrowUp");
    await window.page.keyboard.press("Enter");
    await copied("Run git push", "the row under the focus");
    await key("ArrowUp");
    await key("ArrowUp");
    await window.focused(plan("File src/cart.mjs")).waitFor();
    await key("ArrowUp");
    await window.focused(plan("File src/pricing.mjs")).waitFor();
    await key("Enter");
    await inFront("src/pricing.mjs");
  });

  step("a file under a step opens at its first edit, and the edits of a step are decided together", async () => {
    await plan("File src/cart.mjs, 1 edit to review").click();
    await inFront("src/cart.mjs");
    await state(({ editor }) => editor.text.split("\n")[editor.line - 1].includes("Math.max"), "the cursor at the edit");
    await edits(3);
    await window.rowAction(plan("Correct it, begun"), "Accept Edits of Step");
    await edits(0);
    await plan("File src/pricing.mjs, nothing to review").waitFor();
  });
});

scene("the plan of a conversation", { script: "plan", conversation: "folded" }, () => {
  step("a reply continues, and the next call expands the plan again", async () => {
    await task("Fix the discount");
    await answer("node --version");
    await answer("node --test");
    await answer("git push", "Deny");
    await closed(root("1 of 3 done")).waitFor();
    await reply("Yes, to the cent");
    await open(root("1 of 3 done")).waitFor();
    await waits("node --eval 0");
  });

  step("a plan that the user collapses stays collapsed for the turn", async () => {
    await window.twist(root("1 of 3 done"));
    await closed(root("1 of 3 done")).waitFor();
    await answer("node --eval 0");
    await root("3 of 4 done, wait").waitFor();
    await waits("node --test test");
    assert.equal(await open(root("3 of 4 done")).count(), 0);
    await window.twist(root("3 of 4 done"));
    await plan("Add a test for it, completed, no recorded work").waitFor();
    await plan("Checking the result, in progress").waitFor();
    await window.screenshot("plan-05 folded by hand, opened again");
  });

  step("a cancel stops all spinners and offers to continue", async () => {
    await window.rowAction(root("3 of 4 done"), "Cancel Task");
    await closed(root("3 of 4 done, cancelled, 1 open")).waitFor();
    await atRest();
    await window.twist(root("3 of 4 done"));
    await plan("Check the result, begun").waitFor();
    await window.screenshot("plan-06 cancelled");
    await window.rowAction(root("3 of 4 done"), "Continue Plan");
    await open(root("3 of 4 done")).waitFor();
    await answer("node --print 1");
    await closed(root("4 of 4 done, done")).waitFor();
  });

  step("plans of earlier turns are kept", async () => {
    await window.unfold("Proposed Edits", false);
    const earlier = plan("Earlier turns, 2 plans");
    await closed(earlier).waitFor();
    await window.twist(earlier);
    await plan("Yes, to the cent, 3 of 4 done, cancelled").waitFor();
    await window.twist(plan("Fix the discount, 1 of 3 done, waits for your reply"));
    await plan("Correct it, begun").waitFor();
    await window.screenshot("plan-07 earlier turns");
    assert.deepEqual(await window.menuEntries(plan("Correct it, begun")), ["Run Step Again as Task", "Copy Text"]);
  });

  step("a step can be run again, and a turn without a plan leaves the last plan collapsed", async () => {
    await window.menu(plan("Correct it, begun"), "Run Step Again as Task");
    await plan("Correct it: done").waitFor();
    await closed(root("4 of 4 done, done")).waitFor();
  });
});

const dialect = (name) => () => ({ "cairn.plan.dialect": name });

scene("long plans, and plans of other words", { script: "plan-blocked", conversation: "folded", prepare: dialect("write-todos") }, () => {
  step("blocked and cancelled steps are marked", async () => {
    await task("Move to the new API");
    await waits("node --version");
    await plan("Remove the old endpoint, blocked").waitFor();
    await plan("Ask about the old endpoint, cancelled").waitFor();
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
    await answer("node --version");
    await closed(root("1 of 3 done, 2 open")).waitFor();
    await window.twist(root("1 of 3 done"));
    await plan("#3 Compare the two, blocked by #2").waitFor();
  });

  step("twenty long items fit a narrow side bar as plain text", async () => {
    await play("plan-long", { "cairn.plan.dialect": "auto" });
    await task("Rework the prices");
    await waits("node --version");
    await window.unfold("Proposed Edits", false);
    await window.sideBarWidth(200);
    await plan("**Bold**, _slanted_ and `code` are not markup here, completed").waitFor();
    await plan("$(flame) $(sync~spin) are not icons").waitFor();
    assert.equal(await window.spinning("Plan").count(), 1);
    assert.equal(await window.icon("Plan", "flame").count(), 0);
    assert.equal(await window.rows("Plan").locator("img, b").count(), 0);
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
    await message("“Rework the prices” was interrupted");
    await closed(root("5 of 20 done, interrupted, 15 open")).waitFor();
    await atRest();
    await window.screenshot("plan-11 restarted");
  });

  step("a reloaded window restores the plan and the conversation, and can continue", async () => {
    await window.reload();
    // VS Code may have forgotten which views were in sight.
    await window.showConversation();
    await closed(root("5 of 20 done, interrupted, 15 open")).waitFor();
    await window.command("Cairn: Open Conversation as Text");
    await text("Rework the prices");
    await window.screenshot("plan-12 loaded anew");
    await window.rowAction(root("5 of 20 done, interrupted"), "Continue Plan");
    await closed(root("5 of 20 done, 15 open")).waitFor();
    await text("Enough.");
  });
});
