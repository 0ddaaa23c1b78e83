// What a user sees of the walls: nothing of the sandbox's own, every letter of a command, and the
// change of a protected file before it is one.

import assert from "node:assert/strict";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, inConversation, now, scene, state, step, task, window, workspace } from "./harness.mjs";
import { answer, armed, card, edits, inFront, lens, message, noTab, press, tab } from "./look.mjs";

const onDisk = (path) => readFile(join(workspace, path), "utf8");
const hidden = async (path) => (await readdir(join(workspace, path))).filter((name) => name.startsWith("."));

async function prepare(folder) {
  // One that is really there.
  await mkdir(join(folder, ".github"));
  await writeFile(join(folder, ".github/CODEOWNERS"), "* @someone\n");
  return {};
}

scene("what a user sees of the walls", { script: "safety", conversation: "folded", prepare }, () => {
  step("a running command shows no placeholder of Cairn in the Explorer", async () => {
    await task("Add a script that checks the cart");
    await answer("until");
    await window.command("View: Show Explorer");
    await until(async () => (await readdir(workspace)).includes("seen"), 10 * SECOND, "the command runs");
    // A file that comes later: when the Explorer shows it, it has heard of everything before.
    await writeFile(join(workspace, "later.txt"), "");
    await window.explorerRow("later.txt").waitFor();
    assert.deepEqual(
      (await window.explorerRows().allInnerTexts()).map((text) => text.trim()),
      [".github", "src", "test", "later.txt", "package.json", "README.md", "seen"],
    );
    await window.screenshot("safety-01 explorer");
    await writeFile(join(workspace, "go"), "");
    await message("printf");
    assert.doesNotMatch(await onDisk("seen"), /^\.envrc$/mu);
    assert.deepEqual(await hidden(""), [".github"]);
  });

  step("every character of a wide command is shown in a narrow window", async () => {
    await window.page.setViewportSize({ width: 700, height: 700 });
    await press("printf", "Show");
    const command = card("the end of it").locator("pre");
    assert.match(await command.innerText(), /W{68} i{78} > ﷽﷽﷽ && echo the end of it/u);
    // A long line continues in the next, also in the middle of a word.
    const style = await command.evaluate((element) => [getComputedStyle(element).whiteSpace, getComputedStyle(element).overflowWrap]);
    assert.deepEqual(style, ["pre-wrap", "anywhere"]);
    await window.screenshot("safety-02 every letter");
    await window.page.setViewportSize({ width: 1280, height: 800 });
    await answer("the end of it");
  });

  step("the change of a protected file is previewed in a read-only editor", async () => {
    const before = await onDisk("package.json");
    await message("Change a protected file? Change package.json");
    await inConversation(async () => {
      assert.equal(await armed("Change package.json", "Allow for This Session").getAttribute("title"), "any change of this file");
      await armed("Change package.json", "Show the Change").click();
    });
    await tab("Change package.json (not applied)", { isActive: true });
    await state(({ editor }) => editor?.text.includes("node --check src/cart.mjs"), "the text that is proposed");
    await window.screenshot("safety-03 the change");
    // Nobody can write in it.
    await window.focusedEditor().waitFor();
    const shown = now().editor;
    await window.page.keyboard.type("x");
    await window.page.keyboard.press("ArrowDown");
    const after = await state(({ editor }) => editor.line > shown.line && editor, "the cursor one line below");
    assert.equal(after.text, shown.text);
    assert.equal(await onDisk("package.json"), before);
  });

  step("the answer closes the preview", async () => {
    await answer("Change package.json");
    await noTab("Change package.json (not applied)");
    await edits(1);
    await window.open("package.json");
    await inFront("package.json");
    await lens("package.json", "Edit 1/1 (+3 −1)");
  });

  step("editor settings written by a command are in quarantine until the user restores them", async () => {
    const tasks = "src/.vscode/tasks.json";
    await answer("mkdir");
    await message("Move a quarantined file back to the workspace");
    assert.deepEqual(await hidden("src"), []);
    await window.showConversation();
    await armed(tasks.slice(0, 11), "Leave in Quarantine").waitFor();
    await window.screenshot("safety-04 quarantine");
    await answer(tasks.slice(0, 11), "Move to Workspace");
    await until(async () => (await hidden("src")).includes(".vscode"), 10 * SECOND, "it is back");
    assert.match(await onDisk(tasks), /2\.0\.0/u);
  });
});
