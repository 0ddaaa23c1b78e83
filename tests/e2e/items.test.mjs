// The items of a conversation: rows for what was looked at, edited and run, and the end of a task.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, model, scene, send, state, step, setTheme, view, window, workspace } from "./harness.mjs";
import { asked, cursor, nothingCut, edits, message, text } from "./look.mjs";
import { editFile } from "./model.mjs";

const PRICING = "src/pricing.mjs";
const TOP = "/** Returns the";
const button = (name, within = view) => within.getByRole("button", { name, exact: true });
/** A button of a question that takes an answer. */
const armed = (name) => button(name).and(view.locator(":not([aria-disabled])"));
const editRow = (state) => view.locator(`.edit[aria-label^='Edited ${PRICING}'][aria-label$='${state}']`);
const edit = (from, to) => editFile(PRICING, from, to);

scene("the items of a conversation", { model: true, conversation: "shown" }, () => {
  step("what was read and searched is one row, and each path opens its lines", async () => {
    let request = await send("Look around");
    await request.call(
      { name: "read_file", arguments: { path: "src/cart.mjs", offset: 4, limit: 3 } },
      { name: "read_file", arguments: { path: PRICING } },
      { name: "grep", arguments: { pattern: "export" } },
    );
    request = await model.next();
    const row = window.article(/Read 2 files, searched export \(\d+\)/u);
    await row.locator(".fold").click();
    await row.getByText("4–6", { exact: true }).waitFor();
    await window.screenshot("40 items looked");
    await row.getByRole("link", { name: "Read src/cart.mjs" }).click();
    await cursor("src/cart.mjs", 7);
    await state(({ editor }) => editor.selected > 0, "the lines that were read, selected");
    await request.say("I looked.");
    await window.article("I looked.").waitFor();
  });

  step("the edits of a file are one row that opens them and takes the decision by keyboard", async () => {
    let request = await send("Say what the prices are");
    await request.call(edit(TOP, `// Prices in cents.\n${TOP}`));
    request = await model.next();
    await request.call(edit("// Prices in cents.", "// Prices in whole cents."));
    request = await model.next();
    await editRow("to review").waitFor();
    assert.equal(await view.locator(".edit").count(), 1, "one row for both calls");
    await window.screenshot("41 items edit");
    await editRow("to review").getByRole("link", { name: PRICING }).click();
    await cursor(PRICING, 4);
    await text("Prices in whole cents.");
    await editRow("to review").focus();
    await view.locator(".edit:focus").press("Control+Enter");
    await editRow("decided").waitFor();
    assert.equal(await editRow("decided").getByRole("button").count(), 0, "there is nothing left to decide");
    assert.equal(await view.locator(".edit:focus").count(), 1, "the row keeps the focus");

    await request.call(edit("// Prices in whole cents.", "// Cents."));
    request = await model.next();
    await editRow("to review").waitFor();
    await button("Reject the edits in src/pricing.mjs").click();
    await editRow("decided").waitFor();
    await request.say("Said so.");
    await window.article("Said so.").waitFor();
    await edits(0);
  });

  step("a turn that changed files begins with its checkpoint, which leads back by keyboard", async () => {
    const row = view.locator(".checkpoint").last();
    await row.waitFor();
    assert.match(await row.getAttribute("aria-label"), /^Checkpoint \d.*, 1 file$/u);
    assert.equal(await view.locator(".checkpoint").count(), 1, "none for a turn that only looked");
    await row.locator(".fold").focus();
    await window.page.keyboard.press("Enter");
    await row.getByRole("link", { name: PRICING }).waitFor();
    await window.screenshot("41c items checkpoint");
    const file = join(workspace, PRICING);
    assert.ok((await readFile(file, "utf8")).includes("Prices in whole cents."));
    await button("Restore Checkpoint…", row).press("Enter");
    const { rows } = await asked("Restore checkpoint");
    assert.equal(rows.length, 1, "the checkpoint of this turn");
    await window.choose(rows[0].label);
    await message("as before");
    await until(async () => !(await readFile(file, "utf8")).includes("Prices in whole cents."), 10 * SECOND, "the file from before the turn");
    const undone = window.article(/Undone\s*· restored \d/u);
    await undone.waitFor();
    await window.article("Restored to before that task. Files: 1.").waitFor();
    await window.screenshot("41d items restored");
    await window.page.keyboard.press("Control+Alt+z");
    await undone.waitFor({ state: "detached" });
    await window.article("The restored files are again as the agent left them.").waitFor();
  });

  step("a command tells its exit code and time, and a task what it took", async () => {
    let request = await send("Run it");
    await request.call({ name: "bash", arguments: { command: "echo out; exit 3" } });
    await armed("Allow Once").click();
    request = await model.next();
    await window
      .article("$ echo out; exit 3")
      .filter({ hasText: /exit 3 · allowed once \d+:\d\d.* · \d/u })
      .waitFor();
    await request.say("It failed.", { prompt_tokens: 33_000, completion_tokens: 1_000, total_tokens: 34_000 });
    await window.article(/Done\s*· \S+ s · 34k tokens/u).waitFor();
    await view.locator(".end").nth(1).getByText("1 file changed").waitFor();
    await window.screenshot("42 items end");
  });

  step("a running command shows its last lines and its time, and all of its output in an editor", async () => {
    const request = await send("Run for long");
    const command = "for n in $(seq 1 30); do echo line $n; done; while [ ! -e go ]; do sleep 0.05; done; rm go; echo the end";
    await request.call({ name: "bash", arguments: { command } });
    await armed("Allow Once").click();
    const row = window.article("$ for n in");
    const last = Array.from({ length: 10 }, (_, n) => `line ${n + 21}`).join("\n");
    await until(async () => (await row.locator(".live").innerText()) === last, 10 * SECOND, "the last ten lines");
    await row.locator(".elapsed", { hasText: /^[1-9]/u }).waitFor();
    await window.screenshot("44 items running");
    await row.locator(".fold").click();
    await button("Open Full Output", row).click();
    await text(/^line 1$/mu);
    await writeFile(join(workspace, "go"), "");
    await (await model.next()).say("It ended.");
    await row.locator(".live").waitFor({ state: "detached" });
    await row.filter({ hasText: "the end" }).waitFor();
    await window.article("It ended.").waitFor();
    await window.sideBarWidth(240);
    await setTheme("Light Modern");
    await nothingCut(view, "nothing is wider than the view");
    await window.screenshot("43 items narrow");
  });
});
