// Every way to review, in a Git repository and without lenses: the plan to approve, nothing that
// moves by itself, quick fix, keys, reasons, groups, diffs, files that change on disk.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { tryUntil } from "./editor.mjs";
import { configure, now, reply, scene, state, step, task, taskWith, window, workspace } from "./harness.mjs";
import { asked, edits, inFront, lens, listed, message, noTab, status, tab, text, zone } from "./look.mjs";
import { editFile } from "./model.mjs";

const run = promisify(execFile);
const git = async (folder, ...args) => (await run("git", args, { cwd: folder })).stdout;
const onDisk = (path) => readFile(join(workspace, path), "utf8");
const edit = (text) => window.row("Proposed Edits", text);
const key = (name) => window.page.keyboard.press(name);

async function prepare(folder) {
  await git(folder, "init", "--quiet");
  await git(folder, "add", "--all");
  await git(folder, "-c", "user.name=Someone", "-c", "user.email=someone@example.org", "commit", "--quiet", "--message=Begin");
  return { "git.enabled": true, "editor.codeLens": false };
}

/** Puts the cursor on an edit of the file in front. */
async function onEdit(words) {
  const lines = (await text(words)).split("\n");
  await window.goTo(lines.findIndex((line) => line.includes(words)) + 1);
}

scene("a plan to approve, and edits without lenses", { script: "surfaces", conversation: "folded", prepare }, () => {
  step("the status bar offers nothing dangerous first, and a turn in plan mode ends with a plan to approve", async () => {
    await window.open("src/cart.mjs");
    await window.clickStatus("replay");
    await window.focusedRow("Show Conversation").waitFor();
    await window.screenshot("19 menu");
    await window.choose("Edit Mode…");
    await listed("plan to approve");
    await window.choose("plan to approve");
    await status("Plan mode: ");
    await task("Fix the totals");
    await message("The plan is ready");
    await window.row("Plan", "waits for your approval").waitFor();
    await window.screenshot("21 plan ready");
    await edits(0);
    assert.equal(await git(workspace, "status", "--porcelain"), "");
  });

  step("running the plan moves no focus and opens no tab", async () => {
    await window.goTo(9);
    const moves = await window.watchFocus(() => window.command("Cairn: Run Plan"));
    await status("Review mode: ");
    await window.row("Plan", "Plan, 3 of 3 done").waitFor();
    await edits(7);
    assert.deepEqual(await moves(), { tabs: ["cart.mjs"], focus: [], isStill: true });
    await noTab("pricing");
  });

  step("edits are visible without lenses and next to Git's decorations", async () => {
    await zone("let sum = 0;");
    const [removed, added] = [now().zones.find(({ texts }) => texts.join().includes("let sum = 0;")), now().editor.text.split("\n")];
    assert.equal(added[removed.line].trim().slice(0, 11), "const cents", "what was removed is above what took its place");
    assert.ok(!now().zones.some(({ texts }) => texts.join().includes("import { discount }")), "a change of words is shown in its line");
    await window.changedLines().first().waitFor();
    assert.equal(await window.lens("").count(), 0);
    await window.screenshot("22 git, no lenses");
  });

  step("a code action decides an edit, after those of the language; keys reject one and undo the rejection", async () => {
    await onEdit("discount, format, toCents");
    await window.codeAction("Reject this edit with a reason");
    await window.screenshot("23 quick fix");
    assert.match((await window.codeActions()).at(-1), /edits in this file/, "ours come last");
    await (await window.codeAction("Accept this edit")).click();
    await edits(6);
    assert.match(now().editor.text, /discount, format, toCents/);
    await window.goTo(1);
    await key("Control+Alt+]");
    await state(({ editor }) => editor.line > 1, "the next edit");
    await key("Control+Alt+Backspace");
    await text("let sum = 0;");
    await edits(5);
    await key("Control+Alt+z");
    await edits(6);
  });

  step("a rejection can have a reason, which the model receives", async () => {
    await onEdit("const cents");
    await window.command("Cairn: Reject Edit with Reason");
    await asked("Why is this rejected?");
    await window.screenshot("24 reason");
    await window.answer("Why is this rejected?", "Too clever for a shop");
    await edits(5);
    await text("let sum = 0;");
    await reply("Go on then");
    await window.command("Cairn: Open Conversation as Text");
    await text("I leave the sum as it was.");
  });
});

const STEPS = ["Count sums in cents", "Correct the discount", "Show two decimals"];
/** The plan with a step in progress; at the end without one. */
const plan = (current) => ({
  name: "TodoWrite",
  arguments: {
    todos: STEPS.map((content, index) => ({
      ...{ content, activeForm: content },
      status: index < current ? "completed" : index === current ? "in_progress" : "pending",
    })),
  },
});

scene("edits by step, in all files, and as differences", { model: true, conversation: "folded", prepare }, () => {
  step("edits can be grouped by step and decided together", async () => {
    await taskWith(
      plan(0),
      editFile("src/cart.mjs", "import { discount }", "import { discount, toCents }"),
      editFile("src/cart.mjs", "  let sum = 0;\n", "  let sum = toCents(0);\n"),
      plan(1),
      editFile("src/pricing.mjs", "(sum * percent) / 10", "(sum * percent) / 100"),
      plan(2),
      editFile("src/cart.mjs", "${name}: ${price}`", "${name}: ${format(price)}`"),
      editFile("src/cart.mjs", "${total(lines, code)}", "${format(total(lines, code))}"),
      { name: "write_file", arguments: { path: "test/pricing.test.mjs", content: 'import assert from "node:assert";\n' } },
      plan(3),
    );
    await edits(6);
    await window.unfold("Plan", false);
    const discount = edit("Correct the discount, ");
    await window.viewAction("Proposed Edits", "Group Edits by Step", () => discount.isVisible());
    await edit("Count sums in cents").waitFor();
    await window.screenshot("25 by step");
    await window.rowAction(discount, "Accept Edits of Step");
    await edits(5);
    await window.viewAction("Proposed Edits", "Group Edits by File", () => edit("src/cart.mjs, 4 proposed edits").isVisible());
    // Git adds its letter to a file that it does not know.
    await window.decorated(edit("pricing.test.mjs, "), /\d, U/u);
  });

  step("a closed file changed by another program is read again", async () => {
    const before = await onDisk("test/pricing.test.mjs");
    await writeFile(join(workspace, "test/pricing.test.mjs"), before.replace("import assert", "import check"));
    await state(({ edits }) => edits.some(({ hunks }) => hunks.some(({ newText }) => newText.includes("import check"))), "the changed text");
  });

  step("keys decide in the editor of all edits, which has lenses", async () => {
    await configure({ "editor.codeLens": true });
    await window.command("Cairn: Review All Edits");
    await tab("Proposed edits", { isActive: true });
    await lens("src/cart.mjs", "Accept");
    await window.lens("Accept").first().waitFor();
    await window.screenshot("26 all edits");
    await window.allEditsLine("format(price)").click();
    await key("Control+Alt+Enter");
    await edits(4);
    // The line below is an edit of another call.
    await window.allEditsLine("format(total(lines").click();
    await key("Control+Alt+Enter");
    await edits(3);
  });

  step("a diff editor stays a diff editor", async () => {
    await window.closeEditors();
    // VS Code runs the command without its row if the list is drawn again meanwhile.
    await tryUntil(
      () => window.menu(edit("test/pricing.test.mjs, "), "Open Changes"),
      async () => now().tabs.some(({ label }) => label === "pricing.test.mjs (proposed edits)"),
      "the differences of the file",
    );
    await inFront("test/pricing.test.mjs");
    await window.screenshot("27 one diff");
    await window.focusEditor();
    await key("Control+Alt+]");
    await tab("cart.mjs (proposed edits)", { isActive: true });
    await key("Control+Alt+[");
    await tab("pricing.test.mjs (proposed edits)", { isActive: true });
  });
});
