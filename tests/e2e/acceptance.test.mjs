// The page of the conversation, the daemon and the extension host are killed in turn, each in the middle
// of an answer, with an edit to review and a half-written message: nothing is lost. Then a narrow side bar
// with everything that asks in it, and 123 edits that are rejected at once and come back.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";
import { DRAFTS } from "./window.mjs";

/** Files of the bulk decision, with the edits in each. One more is in the readme. */
const BULK = { "one.txt": 41, "two.txt": 41, "three.txt": 40 };

let window;
let view;
let model;
let workspace;
const { step, processes } = cairn({
  model: true,
  conversation: true,
  prepare: async (folder) => {
    for (const [name, count] of Object.entries(BULK)) {
      await writeFile(join(folder, name), lines(count, "old"));
    }
  },
  ready: (it) => {
    ({ window, workspace, model } = it);
    view = window.conversation();
  },
});
const keys = () => window.page.keyboard;
const onDisk = (path) => readFile(join(workspace, path), "utf8");

/** Lines far enough apart that each is an edit of its own. */
function lines(count, word) {
  return Array.from({ length: count }, (_, index) => `${word} ${index}\nkept\nkept\nkept\n`).join("");
}

/** Writes a message by keyboard, and keeps it as a draft or sends it. */
async function write(text) {
  const focused = window.composer().and(view.locator(":focus"));
  if (!(await focused.isVisible())) {
    await keys().press("Control+Alt+a");
    await focused.waitFor();
  }
  await keys().type(text);
}

/** A task in the middle of its answer, with a half-written message. */
async function inMidStream(task, draft) {
  await write(task);
  await keys().press("Enter");
  const request = await model.next();
  request.begin(request.eventsOfWords("Once upon a time, ", "there was a cart."));
  await window.article("there was a cart.").last().waitFor();
  await keys().type(draft);
  return request;
}

async function isThere(...texts) {
  for (const text of texts) {
    await window
      .article(text)
      .last()
      .waitFor({ timeout: 30 * SECOND });
  }
}

const hasDraft = (text) =>
  until(
    async () =>
      (await window
        .composer()
        .inputValue()
        .catch(() => "")) === text,
    30 * SECOND,
    `the draft ${text}`,
  );

function kill(kind) {
  const [pid, ...others] = processes(kind);
  assert.deepEqual([typeof pid, others], ["number", []], `one ${kind}`);
  process.kill(pid, "SIGKILL");
}

step("the page of the conversation is killed: it comes back with the answer so far and the draft", async () => {
  await window
    .status()
    .first()
    .waitFor({ timeout: 60 * SECOND });
  await window.open("src/cart.mjs");
  await write("Say hello in the readme");
  await keys().press("Enter");
  await (await model.next()).call({ name: "edit_file", arguments: { path: "README.md", old_text: "# A small shop", new_text: "# Hello, shop" } });
  await (await model.next()).say("Hello is said.");
  await isThere("Hello is said.");
  const request = await inMidStream("Tell me a story", "half a repl");
  await hasDraft("half a repl");
  await window.stored(DRAFTS, "half a repl");
  await window.command("View: Focus Active Editor Group");
  await window.page.locator("iframe.webview").evaluate((frame) => frame.contentWindow.location.replace("about:blank"));
  await window.screenshot("acceptance 01 page killed");
  await window.command("Cairn: Show Conversation");
  await window.notification("The conversation view had stopped and was loaded again.").waitFor();
  await isThere("Hello is said.", "Tell me a story", "there was a cart.");
  await hasDraft("half a repl");
  await window.screenshot("acceptance 02 page loaded again");
  await request.end(request.eventsOfEnd(" It had four wheels."));
  await isThere("It had four wheels.");
});

step("the daemon is killed: the next one says so, and has the conversation, the edits and the draft", async () => {
  await window.composer().fill("");
  await inMidStream("Tell me another", "half a thought");
  await window.stored(DRAFTS, "half a thought");
  kill("daemon");
  await view.getByRole("button", { name: "Try Again" }).waitFor();
  await isThere("Hello is said.", "It had four wheels.", "Tell me another", "The daemon ended while");
  await hasDraft("half a thought");
  await window.edits(1);
  await window.screenshot("acceptance 03 daemon killed");
  assert.equal(await window.notification("daemon").count(), 0, "the view says it, and the daemon runs again");
  await view.getByRole("button", { name: "Try Again" }).press("Enter");
  const request = await model.next();
  assert.match(JSON.stringify(request.body.messages.at(-1)), /Tell me another/u);
  await request.say("There was another cart.");
  await isThere("There was another cart.");
});

step("the extension host is killed: the next one says so, and has the conversation, the edits and the draft", async () => {
  await window.composer().fill("");
  await inMidStream("Tell me a third", "half a sentence");
  await window.stored(DRAFTS, "half a sentence");
  kill("extension host");
  await window.page.locator(".statusbar-item", { hasText: "extension host terminated unexpectedly" }).waitFor();
  await view.getByRole("button", { name: "Try Again" }).waitFor({ timeout: 60 * SECOND });
  await isThere("Hello is said.", "It had four wheels.", "There was another cart.", "Tell me a third", "The daemon ended while");
  await hasDraft("half a sentence");
  await window.edits(1);
  await window.screenshot("acceptance 04 extension host killed");
  await view.getByRole("button", { name: "Try Again" }).press("Enter");
  await (await model.next()).say("The third cart was red.");
  await isThere("The third cart was red.");
});

step("in four themes and 240 pixels no button of an approval, of edits, of a follow-up and of a draft is cut", async () => {
  await window.composer().fill("");
  await write("Tidy up");
  await keys().press("Enter");
  await (await model.next()).call({ name: "bash", arguments: { command: `node --test --test-reporter=spec ${"test/a-long-name.mjs ".repeat(6)}` } });
  await view.locator("[role=alertdialog]").waitFor();
  await write("And then the tests");
  await keys().press("Alt+Enter");
  await view.locator(".queued").waitFor();
  await window.composer().fill("half a word");
  await window.command("Notifications: Clear All Notifications");
  await window.sideBarWidth(240);
  await until(async () => (await window.page.locator("iframe.webview").first().boundingBox()).width <= 250, 5 * SECOND, "the width");
  for (const theme of ["Dark Modern", "Light Modern", "Dark High Contrast", "Light High Contrast"]) {
    await window.theme(theme);
    assert.deepEqual(await view.locator("body").evaluate(cutButtons), [], theme);
    assert.deepEqual(await window.page.locator(".part.auxiliarybar").evaluate(cutButtons), [], `${theme}: around the page`);
    await window.screenshot(`acceptance 05 ${theme}`);
  }
  await window.theme("Light Modern");
  await window.sideBarWidth(300);
  await view.locator(".queued").getByRole("button", { name: "Remove" }).click();
  await view.locator(".queued").waitFor({ state: "hidden" });
  await view.getByRole("button", { name: "Stop" }).click();
  await view.locator("[role=alertdialog]").waitFor({ state: "hidden" });
});

/** Buttons below a root that are not wholly in sight, even when scrolled to: cut by an edge, covered, or with words cut. */
function cutButtons(root) {
  const document = root.ownerDocument;
  const shown = [...root.querySelectorAll("button, a[href], textarea, .action-label")].filter(
    (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && element.getBoundingClientRect().width > 0,
  );
  return shown.flatMap((element) => {
    element.scrollIntoView({ block: "nearest" });
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const covered = [left + 2, right - 2].some((x) => {
      const on = document.elementFromPoint(x, (top + bottom) / 2);
      return !element.contains(on) && !on?.contains(element);
    });
    const edges = root.getBoundingClientRect();
    const outside = left < edges.left - 1 || right > edges.right + 1;
    const words = element.tagName === "BUTTON" && element.scrollWidth > element.clientWidth + 1;
    const faults = [covered && "covered", outside && "outside", words && "words cut"].filter(Boolean);
    return faults.length === 0 ? [] : [`${element.getAttribute("aria-label") ?? element.textContent}: ${faults.join(", ")}`];
  });
}

step("123 edits are rejected by one command, and Undo brings all of them back, by keyboard", async () => {
  await window.composer().fill("");
  await write("Change all lines");
  await keys().press("Enter");
  await (
    await model.next()
  ).call(...Object.entries(BULK).map(([path, count]) => ({ name: "write_file", arguments: { path, content: lines(count, "new") } })));
  await (await model.next()).say("All changed.");
  await isThere("All changed.");
  await window.edits(123);
  const contents = () => Promise.all([...Object.keys(BULK), "README.md"].map(onDisk));
  const proposed = await contents();
  await run("Cairn: Reject All Edits");
  const toast = window.notification("123 edits rejected.");
  const undo = window.button("Undo", toast);
  await undo.waitFor();
  await window.status().filter({ hasText: "to review" }).waitFor({ state: "hidden" });
  for (const [path, count] of Object.entries(BULK)) {
    assert.equal(await onDisk(path), lines(count, "old"), path);
  }
  assert.match(await onDisk("README.md"), /# A small shop/u);
  await window.screenshot("acceptance 06 all rejected");
  await run("Notifications: Focus Notification Toast");
  const focused = undo.and(window.page.locator(":focus"));
  for (let left = 10; left > 0 && !(await focused.isVisible()); left -= 1) {
    await keys().press("Tab");
  }
  await keys().press("Enter");
  await window.edits(123);
  await until(async () => (await contents()).join() === proposed.join(), 20 * SECOND, "the proposed texts");
  await window.screenshot("acceptance 07 all back");
});

/** Runs a command by its title with the keyboard alone. */
async function run(title) {
  await keys().press("F1");
  await window.page.locator(".quick-input-widget:visible input[type=text]").fill(`>${title}`);
  await window.page.locator(`.quick-input-list .monaco-list-row.focused:is([aria-label="${title}"], [aria-label^="${title},"])`).waitFor();
  await keys().press("Enter");
}
