// A workspace that nobody trusts yet, with settings of its own that want more than they may.

import assert from "node:assert/strict";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { connectionsOf } from "./cpu.mjs";
import { now, processes, scene, state, statePort, step, task, window, workspace } from "./harness.mjs";
import { asked, edits, status } from "./look.mjs";

async function prepare(folder) {
  await mkdir(join(folder, ".vscode"));
  const settings = { "cairn.daemon.path": "/bin/false", "cairn.model.baseUrl": "https://theirs.example", "cairn.review.mode": "auto" };
  await writeFile(join(folder, ".vscode/settings.json"), JSON.stringify(settings));
  return {};
}

scene("a workspace without trust", { script: "sample", trusted: false, prepare }, () => {
  step("without trust the status bar shows that the agent only reads, and no replay runs", async () => {
    await status("read-only");
    // The daemon of the user runs, not the repository's, and asks no server of the repository's.
    await status("workspace not trusted");
    await status("Review mode: ");
    await window.screenshot("trust 01 read-only");
  });

  step("the extension host has one connection, to the test", () => {
    // Without a test it has none (`state.test.mjs`).
    assert.deepEqual(processes("extension host").flatMap(connectionsOf), [statePort()]);
  });

  step("without a script there is no model, so a task does not start", async () => {
    const original = await readFile(join(workspace, "src/cart.mjs"), "utf8");
    await task("Find out why the tests fail, and fix it");
    await asked("Model");
    await window.page.keyboard.press("Escape");
    await edits(0);
    assert.deepEqual(now().approvals, []);
    assert.equal(await readFile(join(workspace, "src/cart.mjs"), "utf8"), original);
    await assert.rejects(access(join(workspace, "cairn-demo.md")), "no demonstration plays unasked");
  });

  step("trust is granted from the status bar, and the agent works without a restart", async () => {
    await window.clickStatus("read-only");
    await window.button("Trust").first().click();
    await status("sample.json");
    await state(({ status }) => !status["cairn.status"].text.includes("read-only"), "a status that is not read-only");
    await task("Find out why the tests fail, and fix it");
    await state(({ edits }) => edits.some(({ path }) => path.endsWith("cart.mjs")), "edits of the cart");
    await window.screenshot("trust 02 at work");
  });
});
