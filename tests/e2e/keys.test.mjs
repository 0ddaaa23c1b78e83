// Deciding with the keyboard, what removed lines and deleted files look like, and the way back from a
// decision about many edits.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { model, now, scene, state, step, task, taskWith, window, workspace } from "./harness.mjs";
import { countOf, cursor, edits, inFront, lens, message, press, text, zone } from "./look.mjs";
import { editFile } from "./model.mjs";

const row = (text) => window.row("Proposed Edits", text);
const key = (name) => window.page.keyboard.press(name);
const onDisk = (path) => readFile(join(workspace, path), "utf8");

async function prepare(folder) {
  // Lines far apart, so that each is an edit of its own.
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index}\nkept\nkept\nkept\n`);
  await writeFile(join(folder, "list.txt"), lines.join(""));
  await writeFile(join(folder, "list.mjs"), `export function list() {\n  const one = 1;\n  const two = 2;\n  return [one, two];\n}\n`);
  await writeFile(join(folder, "gone.txt"), "nobody\nneeds this\n");
  return { "cairn.review.advance": true };
}

/** Clicks a row of the list of edits until it is the selected one. */
async function select(text) {
  await window.select(row(text));
}

scene("edits are decided with keys", { model: true, conversation: "folded", prepare }, () => {
  step("removed lines are code in the language of the file, without a heading, and read as code", async () => {
    await window.open("list.mjs");
    await taskWith(
      ...Array.from({ length: 12 }, (_, index) => editFile("list.txt", `line ${index}\n`, `changed ${index}\n`)),
      editFile("list.mjs", "  const one = 1;\n  const two = 2;\n  return [one, two];", "  return [1, 2];"),
      { name: "delete_file", arguments: { path: "gone.txt" } },
    );
    await edits(14);
    await zone("Removed 3 lines");
    await window.zone("Removed 3 lines").waitFor();
    await window.coloredCode(window.zone("")).first().waitFor();
    const labels = await window
      .zone("")
      .locator("[aria-label]")
      .evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")).join("\n"));
    assert.match(labels, /const one = 1;/u);
    assert.doesNotMatch(labels, /<span|&#\d+;|style=/u);
    await window.screenshot("keys-01 removed lines");
  });

  step("a deleted file can be opened, and its row shows its name", async () => {
    await row("gone.txt, deleted").last().click();
    await text("needs this");
    await lens("gone.txt", "Accept Deletion");
    await window.screenshot("keys-02 deleted");
    await window.clickLens("Restore File", "Restore File", async () => !now().edits.some(({ path }) => path === "gone.txt"));
    await edits(13);
    assert.equal(await onDisk("gone.txt"), "nobody\nneeds this\n");
  });

  step("one key decides an edit and goes on to the next, into the next file", async () => {
    await window.open("list.mjs");
    await window.goTo(2);
    await key("Control+Alt+Enter");
    await edits(12);
    await cursor("list.txt", 1);
    for (const [left, line] of [
      [11, 5],
      [10, 9],
    ]) {
      await window.focusedEditor().waitFor();
      await key("Control+Alt+Enter");
      await edits(left);
      await cursor("list.txt", line);
    }
    await key("Control+Alt+Backspace");
    await edits(9);
    await cursor("list.txt", 13);
    await key("Alt+F5");
    await cursor("list.txt", 17);
    await window.screenshot("keys-03 next");
  });

  step("in the list of edits the keys decide the row under the focus", async () => {
    await select("Edit 1 of 9");
    await key("ArrowDown");
    await window.focused(row("Edit 2 of 9")).waitFor();
    await key("Delete");
    await edits(8);
    // The selection goes on by itself.
    await window.selected(row("Edit 2 of 8")).waitFor();
    await key("ArrowDown");
    await window.focused(row("Edit 3 of 8")).waitFor();
    // The same key as in the editor.
    await key("Control+Alt+Enter");
    await edits(7);
    await window.selected(row("Edit 3 of 7")).waitFor();
    await key("Alt+F5");
    await inFront("list.txt");
    await window.focusedEditor().waitFor();
    const [{ line }, left] = [now().editor, countOf(now())];
    await key("Control+Alt+Backspace");
    await edits(left - 1);
    await key("Control+Alt+z");
    await edits(left);
    await cursor("list.txt", line);
    await select("Edit 3 of 7");
    await key("Enter");
    await window.focusedEditor().waitFor();
  });

  step("a decision about many edits is reported, with Undo", async () => {
    const made = Array.from({ length: 6 }, (_, index) => ({ name: "write_file", arguments: { path: `new-${index}.txt`, content: "new\n" } }));
    await (await task("Change them more")).call(...made);
    await (await model.next()).say("Made.");
    await edits(13);
    await window.command("Cairn: Reject All Edits");
    await edits(0);
    await message("13 edits rejected.");
    await window.screenshot("keys-04 rejected");
    await press("13 edits rejected.", "Undo");
    await edits(13);
    await state(({ status }) => status["cairn.status.edits"].text.includes("13 edits to review"), "the count in the status bar");
  });
});
