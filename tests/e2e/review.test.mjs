// Deciding on edits in several files, and steering what runs: next and previous, by row, by file,
// reply, cancel, restart, models, and a daemon that is not there.

import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

let window;
let workspace;
const it = cairn({
  script: "sample",
  ready: async () => {
    ({ window, workspace } = it);
  },
});
const { step } = it;

const exists = (path) =>
  access(join(workspace, path)).then(
    () => true,
    () => false,
  );
const edit = (text) => window.row("Proposed Edits", text);
const zone = (text) => window.page.locator(".review-widget", { hasText: text }).filter({ visible: true });
const CART = ["discount, format, toCents", "const cents =", "format(price)"];

/** Texts of the pending edits of the cart. */
async function cart() {
  const waiting = [];
  for (const text of CART) {
    if ((await edit(text).count()) > 0) {
      waiting.push(text);
    }
  }
  return waiting;
}

step("a task changes several files", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await window.open("src/cart.mjs");
  await window.command("Agent: run task");
  await window.answer("New Task", "Fix the totals");
  await it.armed();
  await window.button("Allow Once", window.notification("node --test")).click();
  await window.status().filter({ hasText: "edits to review" }).waitFor();
  // The plan collapses when the task is over, which is what is loaded anew below.
  await window.row("Plan", "5 of 5 done").and(window.page.locator('[aria-expanded="false"]')).waitFor();
  assert.deepEqual(await cart(), CART);
});

step("removed lines are shown in each file, also after switching back", async () => {
  await zone("let sum = 0;").waitFor();
  await window.open("src/pricing.mjs");
  await zone("console.error").waitFor();
  await window.screenshot("09 second file");
  await window.open("src/cart.mjs");
  await zone("let sum = 0;").waitFor();
});

step("a reloaded window restores every edit", async () => {
  const before = await window.rows("Proposed Edits").allInnerTexts();
  await window.reload();
  await window
    .status()
    .filter({ hasText: "edits to review" })
    .waitFor({ timeout: 30 * SECOND });
  // Which tab is in front the editor remembers a moment later, and may have forgotten.
  await window.open("src/cart.mjs");
  await zone("let sum = 0;").waitFor();
  let after;
  await until(
    async () => {
      after = await window.rows("Proposed Edits").allInnerTexts();
      return after.join("\n") === before.join("\n");
    },
    10 * SECOND,
    "the same edits",
  ).catch(() => assert.deepEqual(after, before));
});

step("next and previous edit move through all files", async () => {
  await window.goTo(1);
  await window.command("Cairn: Previous Edit");
  await window.page.locator('.tab.active[data-resource-name="pricing.test.mjs"]').waitFor();
  await window.command("Cairn: Next Edit");
  await window.page.locator('.tab.active[data-resource-name="cart.mjs"]').waitFor();
});

step("rejecting edits of one file keeps those of other files", async () => {
  await window.rowAction(edit("Whole cents"), "Reject Edit");
  await until(async () => (await edit("Whole cents").count()) === 0, 10 * SECOND, "one edit less");
  assert.deepEqual(await cart(), CART);
  await window.open("src/pricing.mjs");
  const text = await window.text();
  assert.doesNotMatch(text, /export function toCents/);
  assert.match(text, /return toCents\(/, "the other edit of the file stays");
});

step("accepting edits of one file keeps those of other files", async () => {
  await window.rowAction(edit("return toCents("), "Accept Edit");
  await until(async () => (await edit("return toCents(").count()) === 0, 10 * SECOND, "one edit less");
  assert.deepEqual(await cart(), CART);
  assert.match(await window.text(), /return toCents\(/);
});

step("a file is decided as a whole", async () => {
  await window.rowAction(edit("pricing.test.mjs, "), "Reject Edits in File");
  await until(async () => !(await exists("test/pricing.test.mjs")), 10 * SECOND, "a created file that is rejected is gone");
  assert.deepEqual(await cart(), CART);
  await window.open("src/cart.mjs");
  await window.command("Cairn: Accept Edits in File");
  await until(async () => (await window.rows("Proposed Edits").count()) === 0, 10 * SECOND, "no edits");
  assert.match(await window.text(), /const cents =/);
});

step("undo restores the edits, and the light high contrast theme shows them", async () => {
  await window.command("Cairn: Undo Last Decision");
  await window.lens("Accept").first().waitFor();
  await window.theme("Light High Contrast");
  await zone("let sum = 0;").waitFor();
  await window.screenshot("10 light high contrast");
  await window.theme("Dark Modern");
  await window.command("Cairn: Accept Edits in File");
  await until(async () => (await window.rows("Proposed Edits").count()) === 0, 10 * SECOND, "no edits");
});

step("a second task continues the conversation below the first", async () => {
  await it.play("plan-blocked");
  await window.command("Agent: run task");
  await window.answer("New Task", "Another one");
  await window.button("Allow Once", window.notification("node --version")).waitFor();
});

step("a running task can be steered, and no second one starts next to it", async () => {
  await window.command("Agent: run task");
  await window.choose("Send to the Running Task");
  await window.answer("Send to the Running Task", "Be quick");
  await window.command("Cairn: Open Conversation as Text");
  await conversation(/❯ Fix the totals[^]*I'll look at the tests[^]*■ Done[^]*❯ Another one[^]*\? /);
});

step("cancelling ends the task and withdraws its question", async () => {
  await window.command("Cairn: Cancel Task");
  await window.row("Plan", "Approval needed").waitFor({ state: "detached" });
  await window.notification("node --version").waitFor({ state: "hidden" });
  await conversation(/■ Cancelled/);
});

step("a reply continues the same session", async () => {
  await window.command("Cairn: Reply");
  await window.answer("Reply", "Go on then");
  await conversation(/■ Cancelled[^]*❯ Go on then[^]*That is as far as it goes[^]*■/);
});

step("a checkpoint restores the files from before a task", async () => {
  const before = await readFile(join(workspace, "src/cart.mjs"), "utf8");
  await window.command("Cairn: Restore Checkpoint");
  await window.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: "Restore checkpoint" }).waitFor();
  await window.screenshot("12 checkpoints");
  await window.page.locator(".quick-input-list .monaco-list-row").last().click();
  await window.notification("as before").waitFor();
  await until(async () => (await window.rows("Proposed Edits").count()) === 0, 10 * SECOND, "nothing is proposed any more");
  await until(async () => !(await readFile(join(workspace, "src/cart.mjs"), "utf8")).includes("toCents"), 10 * SECOND, "the text is the old one");
  await window.command("Cairn: Undo Last Decision");
  await until(async () => (await readFile(join(workspace, "src/cart.mjs"), "utf8")) === before, 10 * SECOND, "and back again");
});

step("a restart starts a new daemon and keeps the conversation", async () => {
  await window.command("Cairn: Restart Cairn");
  await window
    .status()
    .filter({ hasText: /starting|not running/ })
    .waitFor({ state: "hidden" });
  await window.status().filter({ hasText: "replay" }).waitFor();
  await conversation(/❯ Go on then/);
  await window.command("Agent: run task");
  await window.answer("New Task", "After the restart");
  await conversation(/❯ After the restart[^]*\? /);
  await window.command("Cairn: Cancel Task");
  await conversation(/❯ After the restart[^]*■ Cancelled/);
});

step("the list of models gives the reason for an unusable one", async () => {
  await window.command("Cairn: Choose Model");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Add Key…" }).first().waitFor();
  await window.choose("Automatic");
  await window.status().filter({ hasText: "replay" }).waitFor();
});

step("a missing daemon is reported with a remedy", async () => {
  await it.configure({ "cairn.daemon.path": join(workspace, "no-such-daemon") });
  await window.notification("no-such-daemon, which is not an executable file").waitFor();
  await window.status().filter({ hasText: "not running" }).waitFor();
  await window.screenshot("11 no daemon");
  await it.configure({});
  await window.status().filter({ hasText: "replay" }).waitFor();
});

/** Waits until the conversation, which is the active editor, contains the text. */
async function conversation(expected) {
  let text = "";
  await until(async () => expected.test((text = await window.text())), 20 * SECOND, `${expected}`).catch((error) => {
    throw new Error(`${error.message}, in:\n${text}`);
  });
}
