// What a user sees of the walls: nothing of the sandbox's own, every letter of a command, and the
// change of a protected file before it is one.

import assert from "node:assert/strict";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

let window;
let workspace;
const it = cairn({
  script: "safety",
  // One that is really there.
  prepare: async (folder) => {
    await mkdir(join(folder, ".github"));
    await writeFile(join(folder, ".github/CODEOWNERS"), "* @someone\n");
    return {};
  },
  ready: () => {
    ({ window, workspace } = it);
  },
});
const { step } = it;

const onDisk = (path) => readFile(join(workspace, path), "utf8");
const entries = () => window.page.locator(".explorer-folders-view .monaco-list-row").allInnerTexts();
const picker = () => window.page.locator(".quick-input-widget:visible");

step("a running command shows no placeholder of Cairn in the Explorer", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await window.command("Agent: run task");
  await window.answer("New Task", "Add a script that checks the cart");
  await it.armed();
  await window.button("Allow Once", window.notification("until")).click();
  await window.command("View: Show Explorer");
  await until(async () => (await readdir(workspace)).includes("seen"), 10 * SECOND, "the command runs");
  // A file that comes later: when the Explorer shows it, it has heard of everything before.
  await writeFile(join(workspace, "later.txt"), "");
  await window.page.locator(".explorer-folders-view .monaco-list-row", { hasText: "later.txt" }).waitFor();
  assert.deepEqual(
    (await entries()).map((text) => text.trim()),
    [".github", "src", "test", "later.txt", "package.json", "README.md", "seen"],
  );
  await window.screenshot("safety-01 explorer");
  await writeFile(join(workspace, "go"), "");
  await window.notification("printf").waitFor();
  assert.doesNotMatch(await onDisk("seen"), /^\.envrc$/mu);
  assert.deepEqual(
    (await readdir(workspace)).filter((name) => name.startsWith(".")),
    [".github"],
  );
});

step("every character of a wide command is shown in a narrow window", async () => {
  await window.page.setViewportSize({ width: 700, height: 700 });
  await window.command("Cairn: Show Waiting Approval");
  await picker().locator(".monaco-list-row", { hasText: "the end of it" }).waitFor();
  const rows = await picker()
    .locator(".monaco-list-row")
    .evaluateAll((rows) =>
      rows.map((row) => {
        const label = row.querySelector(".monaco-icon-label-container, .label-name");
        // Both what is drawn and the place it has, in parts of a pixel.
        const range = document.createRange();
        range.selectNodeContents(row.querySelector(".label-name"));
        return {
          text: row.innerText.trim(),
          drawn: range.getBoundingClientRect().right,
          ends: label.getBoundingClientRect().right,
          room: row.getBoundingClientRect().right,
        };
      }),
    );
  assert.ok(rows.length >= 10, JSON.stringify(rows));
  for (const { text, drawn, ends, room } of rows) {
    assert.ok(drawn <= ends + 1 && drawn <= room, `cut: ${text} (${drawn} of ${ends}, ${room})`);
  }
  const said = rows.map(({ text }) => text.replace("↪ ", "").replaceAll("\u00a0", " ")).join("");
  assert.match(said, /W{68} i{78} > ﷽﷽﷽ && echo the end of it/u);
  await window.screenshot("safety-02 every letter");
  await window.page.setViewportSize({ width: 1280, height: 800 });
  // On "Allow Once", where the question begins.
  await it.answerList();
});

step("the change of a protected file is previewed in a read-only editor", async () => {
  const before = await onDisk("package.json");
  // The status bar says so of the question before, too.
  await window.notification("Change a protected file? Change package.json").waitFor();
  await window.command("Cairn: Show Waiting Approval");
  // The first thing to do is to look.
  await picker().locator(".monaco-list-row.focused", { hasText: "Show Change" }).waitFor();
  await picker().locator(".monaco-list-row", { hasText: "any change of this file" }).waitFor();
  await window.page.keyboard.press("Enter");
  await picker().waitFor({ state: "hidden" });
  const right = window.page.locator(".monaco-diff-editor .editor.modified .view-line", { hasText: "node --check src/cart.mjs" });
  await right.waitFor();
  assert.equal(await window.page.locator(".monaco-diff-editor .editor.original .view-line", { hasText: "--check" }).count(), 0);
  await window.screenshot("safety-03 the change");
  // Nobody can write in it.
  await right.click();
  await window.page.keyboard.type("x");
  assert.doesNotMatch(await right.innerText(), /x$/u);
  assert.equal(await onDisk("package.json"), before);
});

step("the question is answered from the preview, which then closes", async () => {
  const diff = window.page.locator(".tab", { hasText: "Change package.json (not applied)" });
  await diff.waitFor();
  await window.page.locator(".editor-actions .action-label[aria-label^='Allow Once']").first().click();
  await diff.waitFor({ state: "detached" });
  await window.status().filter({ hasText: "1 edit to review" }).waitFor();
  await window.open("package.json");
  await window.lens("Edit 1/1 (+3 −1)").waitFor();
});

step("editor settings written by a command are in quarantine until the user restores them", async () => {
  const tasks = "src/.vscode/tasks.json";
  await window.notification("mkdir").waitFor();
  await window.command("Cairn: Show Waiting Approval");
  await it.answerList("Allow Once");
  const question = window.notification("Move a quarantined file back to the workspace");
  await question.waitFor();
  assert.deepEqual(
    (await readdir(join(workspace, "src"))).filter((name) => name.startsWith(".")),
    [],
  );
  await window.command("Cairn: Show Waiting Approval");
  await picker().locator(".monaco-list-row.focused", { hasText: "Leave in Quarantine" }).waitFor();
  await picker()
    .locator(".monaco-list-row", { hasText: tasks.slice(0, 11) })
    .waitFor();
  await window.screenshot("safety-04 quarantine");
  await it.answerList("Move to Workspace");
  await until(async () => (await readdir(join(workspace, "src"))).includes(".vscode"), 10 * SECOND, "it is back");
  assert.match(await onDisk(tasks), /2\.0\.0/u);
});
