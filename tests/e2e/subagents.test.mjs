// Subagents in a real VS Code: their rows under the step they work for, with their own plans.
// Commands that wait for approval are where the script stands still.

import assert from "node:assert/strict";

import { scene, state, step, task, window } from "./harness.mjs";
import { answer, text } from "./look.mjs";

const plan = (spoken) => window.row("Plan", spoken);
const question = (command) => state(({ approvals }) => approvals.find((asked) => asked.command === command), `the question about ${command}`);

scene("subagents", { script: "subagents", conversation: "folded" }, () => {
  step("two subagents are shown under their step, with plans of their own", async () => {
    await task("Fix the discount");
    assert.equal((await question("node --version")).subagent, "Search the pricing code");
    assert.equal((await question("node --eval 0")).subagent, "Tidy the cart");
    await window.opened(plan("Finding what is wrong, in progress")).waitFor();
    await window.opened(plan("Subagent Search the pricing code, working, 1 of 3 done")).waitFor();
    await window.opened(plan("Subagent Tidy the cart, working, 1 of 2 done")).waitFor();
    await plan("Comparing it with its words, in progress").waitFor();
    await window.closed(plan("Replace the loop, completed")).waitFor();
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
    await window.closed(plan("Subagent Tidy the cart, working, 1 of 2 done")).waitFor();
    await answer("node --version");
    await window.closed(plan("Subagent Search the pricing code, done, 3 of 3 done")).waitFor();
    await window.closed(plan("Subagent Tidy the cart, working, 1 of 2 done")).waitFor();
    await window.screenshot("subagents-03 one has ended");
  });

  step("the step collapses after its last subagent ended, and keeps the rows", async () => {
    await answer("node --eval 0");
    await question("node --check src/cart.mjs");
    const item = plan("Find what is wrong, completed");
    await window.closed(item).waitFor();
    await window.twist(item);
    await window.closed(plan("Subagent Tidy the cart, done, 1 of 2 done")).waitFor();
    await plan("File src/cart.mjs, 1 edit to review").waitFor();
    await window.screenshot("subagents-04 ended");
    await answer("node --check src/cart.mjs");
    await window.closed(plan("Plan, 1 of 2 done")).waitFor();
    await window.spinning("Plan").first().waitFor({ state: "detached" });
  });

  step("the conversation shows their calls under the calls that started them", async () => {
    await window.command("Cairn: Open Conversation as Text");
    await text(/✓ Task: Search the pricing code[^]*\n {4}✓ Read src\/pricing\.mjs/u);
    await window.screenshot("subagents-05 conversation");
  });
});
