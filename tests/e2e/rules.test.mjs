// Questions about commands: always, revoked, answered with words.

import assert from "node:assert/strict";

import { tryUntil } from "./editor.mjs";
import { inConversation, now, play, scene, state, step, task, window } from "./harness.mjs";
import { answer, armed, card, listed, status, text } from "./look.mjs";

const SCRIPT = "node --version && node --check src/cart.mjs";
const question = (command) => state(({ approvals }) => approvals.some((asked) => asked.command === command), `the question about ${command}`);
const done = () => state(({ turn }) => turn.phase.reason === "needsInput", "the end of the task");
const rows = () => now().input.rows;

scene("rules for commands", { script: "rules", conversation: "folded" }, () => {
  step("a question offers always with the exact rules that it would store", async () => {
    await task("Check the cart");
    await question(SCRIPT);
    await window.screenshot("rules-01 question");
    await inConversation(async () => {
      await armed(SCRIPT, "Always…").press("Enter");
      const store = armed(SCRIPT, "Always Allow in This Folder");
      await store.waitFor();
      const rules = await card(SCRIPT).locator("pre").allTextContents();
      assert.deepEqual(rules.slice(-2), ["node --version", "node --check src/cart.mjs"]);
      await window.screenshot("rules-02 always");
      await store.press("Enter");
      await card(SCRIPT).waitFor({ state: "detached" });
    });
    await done();
  });

  step("the same command then runs without a question, also after a reload", async () => {
    await window.reload();
    await status("replay");
    await task("Check the cart");
    await done();
    assert.deepEqual(now().approvals, []);
  });

  step("the rules are listed, and revoked with the mouse or with the keyboard; a revoked command asks again", async () => {
    await window.command("Cairn: Manage Allowed Commands");
    await listed("node --check src/cart.mjs");
    await window.screenshot("rules-03 list");
    assert.equal(rows().filter(({ label }) => label.includes("node --")).length, 2);
    await window.listAction("node --check", "Revoke");
    await state(({ input }) => !input.rows.some(({ label }) => label.includes("node --check")), "the rule is gone");
    await tryUntil(
      async () => {
        await window.page.keyboard.press("ArrowDown");
        await window.page.keyboard.press("Enter");
      },
      async () => now().input === null,
      "the other rule is revoked",
    );
    await task("Check the cart");
    await question(SCRIPT);
    await answer(SCRIPT, "Deny");
    await done();
  });

  step("a denial with feedback reaches the agent, which the conversation shows", async () => {
    await play("words");
    await task("Check the cart");
    await question("node --test");
    await inConversation(async () => {
      await armed("node --test", "Always…").click();
      await armed("node --test", "Allow with Any Further Words").waitFor();
      await card("node --test").locator("[role=group]:focus").waitFor();
      assert.equal(await card("node --test").locator("pre").last().textContent(), "node --test *");
      await window.screenshot("rules-04 any further words");
      await armed("node --test", "Deny with a Message…").click();
      await card("node --test").getByRole("textbox").fill("Only the syntax, please.");
      await window.screenshot("rules-05 a reason");
      await armed("node --test", "Deny and Send").click();
      await card("node --test").waitFor({ state: "detached" });
    });
    await question("node --check src/pricing.mjs");
    await window.command("Cairn: Open Conversation as Text");
    await text("Only the syntax, please.");
    await answer("node --check src/pricing.mjs");
    await done();
  });
});
