// Questions about commands: always, revoked, answered with words, with the keyboard alone.

import assert from "node:assert/strict";

import { tryUntil } from "./editor.mjs";
import { now, play, scene, state, step, task, window } from "./harness.mjs";
import { answerList, armed, asked, listed, message, press, status, text } from "./look.mjs";

const SCRIPT = "node --version && node --check src/cart.mjs";
const question = (command) => state(({ approvals }) => approvals.some((asked) => asked.command === command), `the question about ${command}`);
const done = () => message("What next?");
const rows = () => now().input.rows;

scene("rules for commands", { script: "rules", conversation: "folded" }, () => {
  step("a question offers always with the exact rules that it would store", async () => {
    await task("Check the cart");
    await question(SCRIPT);
    await window.screenshot("rules-01 question");
    await press("Run a command", "Always…");
    await listed("Always Allow in This Folder");
    await listed("2 commands, word for word: see below");
    // A long line goes on in the next row.
    const said = rows()
      .map(({ label }) => label.replaceAll("\u00a0", " ").trim())
      .join("")
      .replaceAll("↪ ", "");
    assert.ok(said.includes(SCRIPT), "the whole command is shown");
    // Below, each rule in a line of its own.
    const rules = rows().map(({ label }) => label);
    assert.equal(rules.filter((label) => label.startsWith("node --version")).length, 2);
    assert.ok(rules.some((label) => label.startsWith("node --check src/cart.mjs")));
    await window.focusedRow("Always Allow").waitFor();
    await window.screenshot("rules-02 always");
    await answerList();
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
    await armed();
    await window.command("Cairn: Show Waiting Approval");
    await answerList("Deny");
    await done();
  });

  step("a denial with feedback reaches the agent, which the conversation shows", async () => {
    await play("words");
    await task("Check the cart");
    await question("node --test");
    await window.command("Cairn: Show Waiting Approval");
    await listed("Always Allow in This Folder, with Any Further Words");
    await listed("node --test *");
    await window.screenshot("rules-04 any further words");
    await window.choose("Deny and Say Why");
    await asked("Deny and Say Why");
    // Whoever thinks better of it has the question back.
    await window.page.keyboard.press("Escape");
    await listed("Deny and Say Why…");
    await window.screenshot("rules-05 answers");
    await window.choose("Deny and Say Why…");
    await window.answer("Deny and Say Why", "Only the syntax, please.");
    await question("node --check src/pricing.mjs");
    await window.command("Cairn: Open Conversation as Text");
    await text("Only the syntax, please.");
  });

  step("a question can be allowed with feedback by keyboard only", async () => {
    await window.command("Cairn: Show Waiting Approval");
    await listed("Always Allow in This Folder");
    await window.focusedRow("Allow Once").waitFor();
    for (let row = 0; row < 3; row += 1) {
      await window.page.keyboard.press("ArrowDown");
    }
    await window.focusedRow(/Allow and Say…/u).waitFor();
    assert.match(await window.focusedRow("").getAttribute("aria-label"), /Allow and Say…, with a message to the agent$/);
    await window.page.keyboard.press("Enter");
    await window.answer("Allow and Say", "The cart next.");
    await done();
    await text("The cart next.");
    await window.screenshot("rules-06 conversation");
  });
});
