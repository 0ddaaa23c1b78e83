// The three things a user does, in a real VS Code: run a task, watch the plan, decide on the edits.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, now, scene, step, task, taskWith, window, workspace } from "./harness.mjs";
import { answer, countOf, edits, inFront, lens, message, noTab, status, tab, text, zone } from "./look.mjs";
import { editFile } from "./model.mjs";

const onDisk = (path) => readFile(join(workspace, path), "utf8");
const SUM = `  let sum = 0;
  for (let i = 0; i < lines.length; i++) {
    sum = sum + lines[i].price * lines[i].quantity;
  }
  return sum;
`;
const CENTS = `  const cents = lines.reduce((sum, { price, quantity }) => sum + toCents(price) * quantity, 0);
  return cents / 100;
`;
/** Two edits of the cart, and a new file. */
const PROPOSAL = [
  editFile("src/cart.mjs", "import { discount }", "import { discount, toCents }"),
  editFile("src/cart.mjs", SUM, CENTS),
  { name: "write_file", arguments: { path: "test/pricing.test.mjs", content: "// a discount is whole cents\n" } },
];

scene("a task runs from the palette", { script: "sample", conversation: "folded" }, () => {
  let original;

  step("a replay is announced before the first task", async () => {
    original = await onDisk("src/cart.mjs");
    await status("replay");
    await window.open("src/cart.mjs");
    await window.screenshot("01 ready");
  });

  step("its plan appears without taking the focus, and each step is shown as it completes", async () => {
    await task("Find out why the tests fail, and fix it");
    await window.row("Plan", "Reading the tests and the code, in progress").waitFor();
    await window.opened(window.rows("Plan").first()).waitFor();
    // The editor keeps the focus.
    await window.focusedEditor().waitFor();
    await window.screenshot("02 plan");
    await window.row("Plan", "Find out which test fails and why, completed").waitFor();
    await window.spinning("Plan").first().waitFor();
  });

  step("edits appear in the text, and a command waits for approval in full", async () => {
    await lens("src/cart.mjs", "Accept");
    await lens("src/cart.mjs", "Reject");
    await window.row("Proposed Edits", "cart.mjs, ").waitFor();
    await zone("let sum = 0;");
    await message("node --test");
    await window.row("Plan", "waits for you").waitFor();
    await status("Allow? ");
    await window.screenshot("03 approval");
  });

  step("the user types in the same file meanwhile; allowing ends the turn and collapses the plan", async () => {
    await window.goTo(9);
    await window.page.keyboard.press("End");
    await window.page.keyboard.insertText(" // mine");
    await text("of a code. */ // mine");
    // What is typed outside of an edit is the user's: no new edit comes of it.
    assert.equal(await window.row("Proposed Edits", "mine").count(), 0);
    await answer("node --test");
    await window.closed(window.row("Plan", "Plan, 5 of 5 done")).waitFor();
    await window.row("Plan", "Run the tests").waitFor({ state: "detached" });
    await status("edits to review");
    await window.screenshot("04 folded");
  });

  step("files are changed on disk, and what the user typed is not saved", async () => {
    assert.match(await onDisk("src/pricing.mjs"), /export function toCents/);
    assert.match(await onDisk("test/pricing.test.mjs"), /a discount is whole cents/);
    await noTab("pricing.mjs");
    await tab("cart.mjs", { isDirty: true });
    const saved = await onDisk("src/cart.mjs");
    assert.notEqual(saved, original);
    assert.doesNotMatch(saved, /mine/u);
  });
});

scene("the edits of a task are decided one by one", { model: true }, () => {
  let original;

  step("accepting one edit keeps the others pending", async () => {
    original = await onDisk("src/cart.mjs");
    await window.open("src/cart.mjs");
    await taskWith(...PROPOSAL);
    await edits(3);
    await lens("src/cart.mjs", "Edit 2/2");
    await window.clickLens("Edit 1/2", "Accept", async () => countOf(now()) === 2);
    await edits(2);
  });

  step("rejecting one edit restores its old text and keeps the user's text", async () => {
    await window.goTo(9);
    await window.page.keyboard.press("End");
    await window.page.keyboard.insertText(" // mine");
    await text("// mine");
    await window.goTo(6);
    await window.command("Cairn: Reject Edit");
    await text("let sum = 0;");
    await window.save("cart.mjs");
    const saved = await onDisk("src/cart.mjs");
    assert.match(saved, /import \{ discount, toCents \}/, "the accepted edit stays");
    assert.match(saved, /let sum = 0;/, "the rejected one is gone");
    assert.match(saved, /Returns the total after.*\/\/ mine/, "what the user typed stays");
    await window.screenshot("05 decided");
  });

  step("the last decision can be undone", async () => {
    await window.command("Cairn: Undo Last Decision");
    await text("cents / 100");
    await edits(2);
  });

  step("all edits open in one editor, and the conversation can be read", async () => {
    await window.command("Cairn: Review All Edits");
    await lens("test/pricing.test.mjs", "Accept");
    await window.screenshot("07 all edits");
    await window.command("Cairn: Open Conversation as Text");
    await inFront("Cairn Conversation");
    await text("■ Done");
    await window.screenshot("08 conversation");
  });

  step("rejecting everything keeps only the text that the user accepted and typed", async () => {
    // From within the view of all edits: the file that the agent created is open there.
    await window.command("Cairn: Review All Edits");
    await lens("test/pricing.test.mjs", "Accept");
    await window.command("Cairn: Reject All Edits");
    await edits(0);
    await window.open("src/cart.mjs");
    await text(original.replace("{ discount }", "{ discount, toCents }").replace("of a code. */", "of a code. */ // mine"));
    await until(async () => (await onDisk("test/pricing.test.mjs").catch(() => "")) === "", 10 * SECOND, "the created file is gone");
  });
});
