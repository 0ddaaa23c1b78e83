// The agent waits for the user: seen everywhere at once, and answered by nobody else's click.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

let window;
let workspace;
let model;
const it = cairn({
  model: true,
  ready: (started) => {
    ({ window, workspace, model } = started);
  },
});
const { step } = it;

const run = (command) => ({ name: "bash", arguments: { command } });
const plan = (spoken) => window.row("Plan", spoken);
const status = (text) => window.status().filter({ hasText: text });
const amber = (text) => status(text).and(window.page.locator(".warning-kind"));

async function task(text) {
  await window.command("Agent: run task");
  await window.answer("New Task", text);
  return await model.next();
}

step("a waiting command is shown in the status bar and first in the plan", async () => {
  const request = await task("Clean up");
  await request.call(run("touch first"), run("touch second"));
  await window.notification("touch first").waitFor();
  await amber("Allow? touch first").waitFor();
  const row = plan("Approval needed. Run a command: touch first");
  await row.waitFor();
  assert.match(await row.innerText(), /^Allow\? touch first/u);
  await plan("Clean up: waits for you").waitFor();
  await window.screenshot("waiting-01 a command");
});

step("a second click in the place of the first does not answer the next question", async () => {
  await it.armed();
  await window.button("Allow Once", window.notification("touch first")).click();
  // At once, as the second half of a double-click would.
  await window.button("Allow Once", window.notification("touch second")).click();
  await window.page.locator(".statusbar-item", { hasText: "did not count" }).waitFor();
  // It is asked again, and nothing ran.
  await window.notification("touch second").waitFor();
  await plan("Approval needed. Run a command: touch second").waitFor();
  await window.screenshot("waiting-02 not answered");
  assert.deepEqual(
    (await readdir(workspace)).filter((name) => ["first", "second"].includes(name)),
    ["first"],
  );
});

step("the list of answers ignores a key that was pressed before it was in view", async () => {
  const picker = window.page.locator(".quick-input-widget:visible");
  // In the page itself, as soon as the list is there: on a busy machine a key from here could come late enough to count.
  const pressed = window.page.evaluate(
    () =>
      new Promise((done) => {
        const look = () => {
          const row = document.querySelector('.quick-input-list .monaco-list-row[aria-label*="Allow Once"]');
          if (row === null) {
            requestAnimationFrame(look);
            return;
          }
          const box = document.querySelector(".quick-input-box input");
          for (const [key, keyCode] of Object.entries({ ArrowDown: 40, ArrowUp: 38, Enter: 13 })) {
            box.dispatchEvent(new KeyboardEvent("keydown", { key, code: key, keyCode, bubbles: true, cancelable: true }));
          }
          done(true);
        };
        look();
      }),
  );
  await status("Allow? touch second").first().click();
  assert.ok(await pressed);
  assert.ok(await picker.isVisible());
  await it.answerList("Deny");
  const next = await model.next();
  assert.match(next.results[1], /declined/u);
  await next.say("Cleaned up.");
  await plan("Clean up: done").waitFor();
});

step("in Ask mode an edit of a hidden file is announced like a command", async () => {
  await window.command("Cairn: Choose Mode");
  await window.choose("Ask");
  const request = await task("Say hello in the readme");
  await request.call({ name: "edit_file", arguments: { path: "README.md", old_text: "# A small shop", new_text: "# Hello, shop" } });
  await amber("Decide on README.md").waitFor();
  await window.notification("The agent waits until you have decided on the edits in README.md.").waitFor();
  await plan("Decision needed. README.md, 1 edit").waitFor();
  await plan("Say hello in the readme: waits for you").waitFor();
  await window.page.locator('.part.auxiliarybar .action-item:has([aria-label^="Cairn"]) .badge', { hasText: "1" }).waitFor();
  await window.screenshot("waiting-03 an edit");
});

step("one click leads to the edit, and the agent continues after the decision", async () => {
  await status("Decide on README.md").first().click();
  await window.page.locator('.tab.active[data-resource-name="README.md"]').waitFor();
  await window.page.locator(".monaco-editor.focused").waitFor();
  await window.clickLens("Accept");
  const next = await model.next();
  await window.notification("The agent waits until").waitFor({ state: "hidden" });
  await next.say("Hello is said.");
  await plan("Say hello in the readme: done").waitFor();
  const badge = window.page.locator('.part.auxiliarybar .action-item:has([aria-label^="Cairn"]) .badge .badge-content:visible');
  await until(async () => (await badge.count()) === 0, 10 * SECOND, "the badge to go");
  await until(async () => (await readFile(join(workspace, "README.md"), "utf8")).startsWith("# Hello, shop"), 10 * SECOND, "the edit is on disk");
});
