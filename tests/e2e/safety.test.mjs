// What a user sees of the walls: nothing of the sandbox's own, every letter of a command, and the
// change of a protected file before it is one.

import assert from "node:assert/strict";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, now, scene, state, step, task, window, workspace } from "./harness.mjs";
import { allow, answerList, edits, inFront, lens, listed, message, noTab, tab, unasked } from "./look.mjs";

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
    await allow("until");
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
    await window.command("Cairn: Show Waiting Approval");
    await listed("the end of it");
    assert.ok(now().input.rows.length >= 10);
    // The rows of the palette are still in the page for a moment, and the last rows of the list are below its edge.
    const cut = async () => (await window.cutRows()).filter((text) => !/Show Conversation|Manage Allowed/u.test(text));
    await until(async () => (await cut()).length === 0, 10 * SECOND, "a list without cut rows");
    const said = now()
      .input.rows.map(({ label }) => label.replace("↪ ", "").replaceAll("\u00a0", " "))
      .join("");
    assert.match(said, /W{68} i{78} > ﷽﷽﷽ && echo the end of it/u);
    await window.screenshot("safety-02 every letter");
    await window.page.setViewportSize({ width: 1280, height: 800 });
    // On "Allow Once", where the question begins.
    await answerList();
  });

  step("the change of a protected file is previewed in a read-only editor", async () => {
    const before = await onDisk("package.json");
    await message("Change a protected file? Change package.json");
    await window.command("Cairn: Show Waiting Approval");
    // The first thing to do is to look.
    await window.focusedRow("Show Change").waitFor();
    await listed("any change of this file");
    await window.page.keyboard.press("Enter");
    await unasked();
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

  step("the question is answered from the preview, which then closes", async () => {
    await window.editorAction("Allow Once", async () => now().edits.length === 1);
    await noTab("Change package.json (not applied)");
    await edits(1);
    await window.open("package.json");
    await inFront("package.json");
    await lens("package.json", "Edit 1/1 (+3 −1)");
  });

  step("editor settings written by a command are in quarantine until the user restores them", async () => {
    const tasks = "src/.vscode/tasks.json";
    await message("mkdir");
    await window.command("Cairn: Show Waiting Approval");
    await answerList("Allow Once");
    await message("Move a quarantined file back to the workspace");
    assert.deepEqual(await hidden("src"), []);
    await window.command("Cairn: Show Waiting Approval");
    await window.focusedRow("Leave in Quarantine").waitFor();
    await listed(tasks.slice(0, 11));
    await window.screenshot("safety-04 quarantine");
    await answerList("Move to Workspace");
    await until(async () => (await hidden("src")).includes(".vscode"), 10 * SECOND, "it is back");
    assert.match(await onDisk(tasks), /2\.0\.0/u);
  });
});
