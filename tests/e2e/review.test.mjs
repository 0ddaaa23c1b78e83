// Deciding on edits in several files, and steering what runs: next and previous, by row, by file,
// reply, cancel, restart, models, and a daemon that is not there.

import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, configure, now, play, processes, reply, scene, state, step, task, taskWith, view, window, workspace } from "./harness.mjs";
import { asked, edits, inFront, lens, listed, message, status, text, zone } from "./look.mjs";
import { editFile } from "./model.mjs";

const exists = (path) =>
  access(join(workspace, path)).then(
    () => true,
    () => false,
  );
const onDisk = (path) => readFile(join(workspace, path), "utf8");
const edit = (text) => window.row("Proposed Edits", text);
/** Texts of the pending edits of a file. */
const pending = (path) => now().edits.flatMap((file) => (file.path === path ? file.hunks.map(({ newText }) => newText) : []));

const CART = [
  editFile("src/cart.mjs", "import { discount }", "import { discount, toCents }"),
  editFile("src/cart.mjs", "  let sum = 0;\n", "  let cents = 0;\n  // In whole cents.\n  let sum = 0;\n"),
  editFile("src/cart.mjs", "${name}: ${price}`", "${name}: ${price} EUR`"),
];
const PRICING = [
  editFile("src/pricing.mjs", "/** Discounts in", "/** Whole cents. */\nexport const toCents = (sum) => sum * 100;\n\n/** Discounts in"),
  editFile(
    "src/pricing.mjs",
    '  console.error("discount", code, percent);\n  return (sum * percent) / 10;\n',
    "  return toCents(sum * percent) / 100;\n",
  ),
];
const TEST = { name: "write_file", arguments: { path: "test/pricing.test.mjs", content: "// a discount is whole cents\n" } };

scene("edits in several files", { model: true, conversation: "folded" }, () => {
  step("removed lines are shown in each file, also after switching back, and a reloaded window restores every edit", async () => {
    await window.open("src/cart.mjs");
    await taskWith(...CART, ...PRICING, TEST);
    await edits(6);
    await window.open("src/pricing.mjs");
    await zone("console.error");
    await window.zone("console.error").waitFor();
    await window.screenshot("09 second file");
    await window.open("src/cart.mjs");
    await lens("src/cart.mjs", "Edit 3/3");
    const before = now().edits;
    await window.reload();
    await edits(6);
    // The revisions of a report differ from those of the same edits before.
    const known = (files) => files.map(({ path, hunks }) => [path, hunks.map(({ newText, range }) => [newText, range])]).sort();
    assert.deepEqual(known(now().edits), known(before));
    await window.open("src/pricing.mjs");
    await zone("console.error");
  });

  step("next and previous edit move through all files", async () => {
    await window.open("src/cart.mjs");
    await window.goTo(1);
    await window.command("Cairn: Previous Edit");
    await inFront("test/pricing.test.mjs");
    await window.command("Cairn: Next Edit");
    await inFront("src/cart.mjs");
  });

  step("deciding on edits of one file keeps those of other files", async () => {
    const cart = pending("src/cart.mjs");
    // A reload soon after the side bar opened may not bring it back.
    await window.command("Cairn: Focus on Plan View");
    // Room for all rows of the list.
    await window.unfold("Plan", false);
    await window.rowAction(edit("Whole cents"), "Reject Edit");
    await edits(5);
    assert.deepEqual(pending("src/cart.mjs"), cart);
    await window.open("src/pricing.mjs");
    await text(/^(?![^]*export const toCents)[^]*return toCents\(/u);
    await window.rowAction(edit("return toCents("), "Accept Edit");
    await edits(4);
    assert.deepEqual(pending("src/cart.mjs"), cart);
    assert.match(now().editor.text, /return toCents\(/);
  });

  step("a file is decided as a whole, and undo restores its edits", async () => {
    await window.rowAction(edit("pricing.test.mjs, "), "Reject Edits in File");
    await until(async () => !(await exists("test/pricing.test.mjs")), 10 * SECOND, "a created file that is rejected is gone");
    await edits(3);
    await window.open("src/cart.mjs");
    await window.command("Cairn: Accept Edits in File");
    await edits(0);
    assert.match(now().editor.text, /let cents =/);
    await window.command("Cairn: Undo Last Decision");
    await edits(3);
    await lens("src/cart.mjs", "Edit 1/3");
    await window.command("Cairn: Accept Edits in File");
    await edits(0);
  });

  step("a checkpoint restores the files from before a task", async () => {
    const before = await onDisk("src/cart.mjs");
    await window.command("Cairn: Restore Checkpoint");
    const { rows } = await asked("Restore checkpoint");
    await window.screenshot("12 checkpoints");
    await window.choose(rows.at(-1).label);
    await message("as before");
    await until(async () => !(await onDisk("src/cart.mjs")).includes("let cents"), 10 * SECOND, "the text is the old one");
    await window.command("Cairn: Undo Last Decision");
    await until(async () => (await onDisk("src/cart.mjs")) === before, 10 * SECOND, "and back again");
  });
});

scene("steering what runs", { script: "plan-blocked", conversation: "folded" }, () => {
  step("a running task can be steered, and no second one starts next to it", async () => {
    await task("Another one");
    await message("node --version");
    await window.command("Agent: run task");
    await view.getByPlaceholder("Message the running task").fill("Be quick");
    await window.composer().press("Enter");
    await window.command("Cairn: Open Conversation as Text");
    await text(/❯ Another one[^]*\? /u);
  });

  step("cancelling ends the task and withdraws its question, and a reply continues the same session", async () => {
    await window.command("Cairn: Cancel Task");
    await state(({ approvals }) => approvals.length === 0, "no question");
    await text(/■ Cancelled/u);
    await reply("Go on then");
    await text(/❯ Another one[^]*■ Cancelled[^]*❯ Go on then[^]*■/u);
  });

  step("a restart starts a new daemon and keeps the conversation", async () => {
    const [before] = processes("daemon");
    await window.command("Cairn: Restart Cairn");
    await state(({ link }) => link === "running" && !processes("daemon").includes(before), "a new daemon");
    await status("replay");
    await text(/❯ Go on then/u);
    await task("After the restart");
    await text(/❯ Go on then[^]*❯ After the restart[^]*\? /u);
    await window.command("Cairn: Cancel Task");
    await text(/❯ After the restart[^]*■ Cancelled/u);
  });

  step("the list of models gives the reason for an unusable one", async () => {
    await window.command("Cairn: Choose Model");
    await listed("Add Key…");
    await window.choose("Automatic");
    await status("replay");
  });

  step("a missing daemon is reported with a remedy", async () => {
    await configure({ "cairn.daemon.path": join(workspace, "no-such-daemon") });
    await message("no-such-daemon, which is not an executable file");
    await status("not running");
    await window.screenshot("11 no daemon");
    await play("plan-blocked");
    await status("replay");
  });
});
