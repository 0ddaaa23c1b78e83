// The agent waits for the user: seen everywhere at once, and answered by nobody else's click.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, model, scene, step, task, window, workspace } from "./harness.mjs";
import { allow, answerList, edits, inFront, lens, message, said, status } from "./look.mjs";
import { editFile } from "./model.mjs";

const run = (command) => ({ name: "bash", arguments: { command } });
const plan = (spoken) => window.row("Plan", spoken);
const amber = async (words) => assert.equal((await status(words)).color, "statusBarItem.warningBackground");

scene("the agent waits for the user", { model: true, conversation: "folded" }, () => {
  step("a waiting command is shown in the status bar and first in the plan", async () => {
    await (await task("Clean up")).call(run("touch first"), run("touch second"));
    await message("touch first");
    await amber("Allow? touch first");
    const row = plan("Approval needed. Run a command: touch first");
    await row.waitFor();
    assert.match(await row.innerText(), /^Allow\? touch first/u);
    await plan("Clean up: waits for you").waitFor();
    await window.screenshot("waiting-01 a command");
  });

  step("a second click in the place of the first does not answer the next question", async () => {
    // In the page itself, as soon as the next question is there: the second half of a double-click.
    await window.clickNextMessage("touch second", "Allow Once");
    await allow("touch first");
    await said("did not count");
    // It is asked again, and nothing ran.
    await message("touch second");
    await plan("Approval needed. Run a command: touch second").waitFor();
    await window.screenshot("waiting-02 not answered");
    assert.deepEqual(
      (await readdir(workspace)).filter((name) => ["first", "second"].includes(name)),
      ["first"],
    );
  });

  step("the list of answers ignores a key that was pressed before it was in view", async () => {
    const pressed = window.pressInNextList("Allow Once", ["ArrowDown", "ArrowUp", "Enter"]);
    await window.command("Cairn: Show Waiting Approval");
    await pressed;
    await answerList("Deny");
    const next = await model.next();
    assert.match(next.results[1], /declined/u);
    await next.say("Cleaned up.");
    await plan("Clean up: done").waitFor();
  });

  step("in Ask mode an edit of a hidden file is announced like a command", async () => {
    await window.command("Cairn: Choose Mode");
    await window.choose("Ask");
    await (await task("Say hello in the readme")).call(editFile("README.md", "# A small shop", "# Hello, shop"));
    await amber("Decide on README.md");
    await message("The agent waits until you have decided on the edits in README.md.");
    await plan("Decision needed. README.md, 1 edit").waitFor();
    await plan("Say hello in the readme: waits for you").waitFor();
    await window.badge("1").waitFor();
    await window.screenshot("waiting-03 an edit");
  });

  step("one click leads to the edit, and the agent continues after the decision", async () => {
    await window.clickStatus("Decide on README.md");
    await inFront("README.md");
    await window.focusedEditor().waitFor();
    await lens("README.md", "Edit 1/1");
    await window.page.keyboard.press("Control+Alt+Enter");
    const next = await model.next();
    await edits(0);
    await next.say("Hello is said.");
    await plan("Say hello in the readme: done").waitFor();
    await window.badge("").waitFor({ state: "hidden" });
    await until(async () => (await readFile(join(workspace, "README.md"), "utf8")).startsWith("# Hello, shop"), 10 * SECOND, "the edit is on disk");
  });
});
