// The agent waits for the user: seen everywhere at once, and answered by nobody else's click.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, model, scene, step, task, window, workspace } from "./harness.mjs";
import { answer, armed, card, edits, inFront, lens, message, press, status } from "./look.mjs";
import { editFile } from "./model.mjs";

const run = (command) => ({ name: "bash", arguments: { command } });
const plan = (spoken) => window.row("Plan", spoken);
const amber = async (words) => assert.equal((await status(words)).color, "statusBarItem.warningBackground");

scene("the agent waits for the user", { model: true, conversation: "folded" }, () => {
  step("a command that waits is named in the status bar and in a notification", async () => {
    await (await task("Clean up")).call(run("touch first"), run("touch second"));
    await message("Run a command? touch first");
    await amber("Allow? touch first");
    await plan("Clean up: waits for you").waitFor();
    await window.badge("1").waitFor();
    await window.screenshot("waiting-01 a command");
  });

  step("the notification shows the card, and a double-click answers no second question", async () => {
    await press("touch first", "Show");
    await armed("touch first").dblclick();
    await armed("touch second").waitFor();
    await amber("Allow? touch second");
    await window.screenshot("waiting-02 the next card");
    assert.deepEqual(
      (await readdir(workspace)).filter((name) => ["first", "second"].includes(name)),
      ["first"],
    );
  });

  step("the status bar shows the card again, and a key answers it only while it is in sight", async () => {
    await window.unfold("Conversation", false);
    await message("Run a command? touch second");
    await window.clickStatus("Allow? touch second");
    await card("touch second").waitFor();
    await window.unfold("Conversation", false);
    await window.page.keyboard.press("Alt+n");
    await armed("touch second").waitFor();
    await window.page.keyboard.press("Alt+n");
    const next = await model.next();
    assert.match(next.results[1], /declined/u);
    await window.unfold("Conversation", false);
    await next.say("Cleaned up.");
    await plan("Clean up: done").waitFor();
  });

  step("in Ask mode an edit of a hidden file is announced like a command", async () => {
    await window.command("Cairn: Choose Mode");
    await window.choose("Ask");
    await (await task("Say hello in the readme")).call(editFile("README.md", "# A small shop", "# Hello, shop"));
    await amber("Decide on README.md");
    await message("The agent waits until you have decided on the edits in README.md.");
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
