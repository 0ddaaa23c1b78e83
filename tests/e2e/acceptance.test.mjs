// The page of the conversation, the daemon and the extension host are killed in turn, each in the middle
// of an answer, with an edit to review and a half-written message: nothing is lost. Then a narrow side bar
// with everything that asks in it, and 123 edits that are rejected at once and come back.

import assert from "node:assert/strict";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { tryUntil, until } from "./editor.mjs";
import { SECOND, home, model, now, processes, scene, send, step, setTheme, view, window, workspace } from "./harness.mjs";
import { countOf, edits, message, nothingCut } from "./look.mjs";
import { editFile } from "./model.mjs";
import { DRAFTS } from "./window.mjs";

/** Files of the bulk decision, with the edits in each. One more is in the readme. */
const BULK = { "one.txt": 41, "two.txt": 41, "three.txt": 40 };

const key = (name) => window.page.keyboard.press(name);
const onDisk = (path) => readFile(join(workspace, path), "utf8");
const draft = (text) =>
  until(
    async () =>
      (await window
        .composer()
        .inputValue({ timeout: SECOND })
        .catch(() => "")) === text,
    30 * SECOND,
    `the draft ${text}`,
  );

/** Lines far enough apart that each is an edit of its own. */
function lines(count, word) {
  return Array.from({ length: count }, (_, index) => `${word} ${index}\nkept\nkept\nkept\n`).join("");
}

async function prepare(folder) {
  for (const [name, count] of Object.entries(BULK)) {
    await writeFile(join(folder, name), lines(count, "old"));
  }
  return {};
}

/** The answer so far is in the journal of its session. */
async function isWritten() {
  const folder = join(home, ".local/state/cairn/workspaces");
  const isLast = (text) => text.lastIndexOf('{"streamed":') > text.lastIndexOf('{"turn":');
  const written = async () => {
    const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".log") && name.includes("sessions"));
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    return texts.some(isLast);
  };
  await until(written, 30 * SECOND, "the answer so far in the journal");
}

/** A task in the middle of its answer, with a half-written message; both are stored. */
async function inMidStream(task, half) {
  const request = await send(task);
  request.begin(request.eventsOfWords("Once upon a time, ", "there was a cart."));
  await window.article("there was a cart.").last().waitFor();
  await window.composer().fill(half);
  await window.stored(DRAFTS, half);
  await isWritten();
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

async function tryAgain() {
  await view.getByRole("button", { name: "Try Again" }).press("Enter");
  return await model.next();
}

function kill(kind) {
  const [pid, ...others] = processes(kind);
  assert.deepEqual([typeof pid, others], ["number", []], `one ${kind}`);
  process.kill(pid, "SIGKILL");
}

scene("what a crash leaves", { model: true, conversation: "shown", prepare }, () => {
  step("the page of the conversation is killed: it comes back with the answer so far and the draft", async () => {
    await window.open("src/cart.mjs");
    await (await send("Say hello in the readme")).call(editFile("README.md", "# A small shop", "# Hello, shop"));
    await (await model.next()).say("Hello is said.");
    await isThere("Hello is said.");
    const request = await inMidStream("Tell me a story", "half a repl");
    await window.command("View: Focus Active Editor Group");
    await window.killConversation();
    await window.screenshot("acceptance 01 page killed");
    await window.command("Cairn: Show Conversation");
    await message("The conversation view had stopped and was loaded again.");
    await isThere("Hello is said.", "Tell me a story", "there was a cart.");
    await draft("half a repl");
    await window.screenshot("acceptance 02 page loaded again");
    await request.end(request.eventsOfEnd(" It had four wheels."));
    await isThere("It had four wheels.");
  });

  step("the daemon is killed: the next one says so, and has the conversation, the edits and the draft", async () => {
    await inMidStream("Tell me another", "half a thought");
    kill("daemon");
    await view.getByRole("button", { name: "Try Again" }).waitFor();
    await isThere("Hello is said.", "It had four wheels.", "Tell me another", "there was a cart.", "The daemon ended while");
    await draft("half a thought");
    await edits(1);
    await window.screenshot("acceptance 03 daemon killed");
    assert.ok(!now().messages.some(({ text }) => text.includes("daemon")), "the view says it, and the daemon runs again");
    const request = await tryAgain();
    assert.match(JSON.stringify(request.body.messages.at(-1)), /Tell me another/u);
    await request.say("There was another cart.");
    await isThere("There was another cart.");
  });

  step("the extension host is killed: the next one says so, and has the conversation, the edits and the draft", async () => {
    await inMidStream("Tell me a third", "half a sentence");
    kill("extension host");
    await window.statusText("extension host terminated unexpectedly").waitFor();
    await view.getByRole("button", { name: "Try Again" }).waitFor({ timeout: 60 * SECOND });
    await isThere("Hello is said.", "It had four wheels.", "There was another cart.", "Tell me a third");
    await isThere("Stopped because the window was closed or reloaded, or it crashed.");
    assert.equal(await window.article("there was a cart.").count(), 3, "each answer so far, in its place");
    await draft("half a sentence");
    await edits(1);
    await window.screenshot("acceptance 04 extension host killed");
    await (await tryAgain()).say("The third cart was red.");
    await isThere("The third cart was red.");
  });

  step("in four themes and 240 pixels no button of an approval, of edits, of a follow-up and of a draft is cut", async () => {
    await (
      await send("Tidy up")
    ).call({
      name: "bash",
      arguments: { command: `node --test --test-reporter=spec ${"test/a-long-name.mjs ".repeat(6)}` },
    });
    await view.locator("[role=alertdialog]").waitFor();
    await window.composer().fill("And then the tests");
    await window.composer().press("Alt+Enter");
    await view.locator(".queued").waitFor();
    await window.composer().fill("half a word");
    await window.sideBarWidth(240);
    for (const theme of ["Dark Modern", "Light Modern", "Dark High Contrast", "Light High Contrast"]) {
      await setTheme(theme);
      await nothingCut(view, theme);
      await window.screenshot(`acceptance 05 ${theme}`);
    }
    await view.locator(".queued").getByRole("button", { name: "Remove" }).click();
    await view.locator(".queued").waitFor({ state: "hidden" });
    await view.getByRole("button", { name: "Stop" }).click();
    await view.locator("[role=alertdialog]").waitFor({ state: "hidden" });
  });

  step("123 edits are rejected by one command, and Undo brings all of them back, by keyboard", async () => {
    await (
      await send("Change all lines")
    ).call(...Object.entries(BULK).map(([path, count]) => ({ name: "write_file", arguments: { path, content: lines(count, "new") } })));
    await (await model.next()).say("All changed.");
    await isThere("All changed.");
    await edits(123);
    const contents = () => Promise.all([...Object.keys(BULK), "README.md"].map(onDisk));
    const proposed = await contents();
    await window.runByKeys("Cairn: Reject All Edits");
    await message("123 edits rejected.");
    await edits(0);
    for (const [path, count] of Object.entries(BULK)) {
      assert.equal(await onDisk(path), lines(count, "old"), path);
    }
    assert.match(await onDisk("README.md"), /# A small shop/u);
    await window.screenshot("acceptance 06 all rejected");
    await window.runByKeys("Notifications: Show Notifications");
    await tryUntil(() => key("Tab"), window.focusedButton("Undo"), "the focus on Undo");
    await tryUntil(
      () => key("Enter"),
      async () => countOf(now()) === 123,
      "all edits again",
    );
    await until(async () => (await contents()).join() === proposed.join(), 20 * SECOND, "the proposed texts");
    await window.screenshot("acceptance 07 all back");
  });
});
