// Questions of the agent in the conversation view, answered by keyboard, in words, and withdrawn with the task;
// and edits that it waits for.

import assert from "node:assert/strict";
import { on } from "node:events";
import { watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";
import { editFile } from "./model.mjs";

let window;
let view;
let model;
let workspace;
const { step } = cairn({
  model: true,
  conversation: true,
  ready: (it) => {
    ({ window, model, workspace } = it);
    view = window.conversation();
  },
});
const card = (text) => view.locator(".ask", { hasText: text });
const ask = (question, options) => ({
  name: "ask_user",
  arguments: { question, ...(options && { options }) },
});

step("a question is a card whose answers are chosen by keyboard", async () => {
  await window
    .status()
    .first()
    .waitFor({ timeout: 60 * SECOND });
  await window.command("Cairn: Show Conversation");
  await window.composer().fill("Paint the cart");
  await window.composer().press("Enter");
  await (await model.next()).call(ask("Which **colour** shall it have?", ["Blue", "Red, as the wheels"]));
  await card("Which colour shall it have?").waitFor();
  await view.locator(".strip", { hasText: "Answer the question" }).waitFor();
  assert.equal(await view.locator(".ask :focus").count(), 0, "the focus stays where it was");
  await window.screenshot("45 question");
  // The answer counts once the card was in sight for a moment.
  const choice = card("Which").getByRole("button", {
    name: "Red, as the wheels",
  });
  await choice.focus();
  const answered = model.next();
  let request;
  void answered.then((next) => (request = next));
  for (const end = Date.now() + 30 * SECOND; request === undefined && Date.now() < end;) {
    await choice.press("Alt+2", { timeout: SECOND }).catch(() => undefined);
  }
  assert.match(request.results.at(-1), /answer of the user:\nRed, as the wheels\n/u);
  await card("Which").waitFor({ state: "detached" });
  await window.article("Ask Which").waitFor();
  await request.call(ask("Shall I sign it?"));
  await card("Shall I sign it?").getByLabel("Your answer · Enter sends").fill("Only on the back");
  await card("Shall I sign it?").getByLabel("Your answer · Enter sends").press("Enter");
  request = await model.next();
  assert.match(request.results.at(-1), /Only on the back/u);
  await request.say("Painted.");
  await window.article("Painted.").waitFor();
});

step("a question survives a view that is put away, and goes with its task", async () => {
  await window.composer().fill("Paint it again");
  await window.composer().press("Enter");
  await (await model.next()).call(ask("Really?", ["Yes", "No"]));
  await card("Really?").waitFor();
  await window.command("View: Toggle Secondary Side Bar Visibility");
  await window.notification("Cairn asks: Really?").waitFor();
  await window.command("View: Toggle Secondary Side Bar Visibility");
  await card("Really?").waitFor();
  await window.sideBarWidth(240);
  assert.ok((await view.locator("body").evaluate((body) => body.scrollWidth - innerWidth)) <= 0, "nothing is wider than the view");
  await window.theme("Dark Modern");
  await window.screenshot("46 question narrow");
  await view.getByRole("button", { name: "Stop" }).click();
  await card("Really?").waitFor({ state: "detached" });
  await window.article("Cancelled").waitFor();
});

const decision = (text) => view.locator(".card", { hasText: text });

step("in Ask mode an edit of a closed file is a card with its lines, 300 ms later at most", async () => {
  await window.command("Cairn: Choose Mode");
  await window.choose("Ask");
  await window.composer().fill("Say hello in the readme");
  await window.composer().press("Enter");
  const times = [];
  let request = await model.next();
  const headings = ["# A small shop", "# Hello", "# Hello, shop", "# Hello, small shop"];
  for (const [index, heading] of headings.slice(0, -1).entries()) {
    const next = headings[index + 1];
    const made = written("README.md", next);
    const shown = view.locator("body").evaluate(shownAt, next);
    await request.call(editFile("README.md", heading, next));
    times.push((await shown) - (await made));
    await window.status().filter({ hasText: "Decide on README.md" }).waitFor();
    if (index < 2) {
      await answer("Alt+y");
      request = await model.next();
    }
  }
  // A busy machine may be late once, but not each time.
  assert.ok(Math.min(...times) <= 300, `the card came after ${times.map(Math.round)} ms`);
  assert.equal(await window.notification("The agent waits until").count(), 0, "what is in view needs no notification");
  await window.page.locator('.part.auxiliarybar .action-item:has([aria-label^="Cairn"]) .badge', { hasText: "1" }).waitFor();
  await window.screenshot("47 edit to decide");
});

step("an edit is rejected with a reason, which the agent reads", async () => {
  const card = decision("Change README.md?");
  await card.getByRole("button", { name: "Reject with a Reason…" }).press("Enter");
  await card.getByLabel("Reason for the agent").fill("Keep it short.");
  await window.screenshot("48 reason");
  const answered = model.next();
  await card.getByRole("button", { name: "Reject and Send" }).press("Enter");
  const request = await answered;
  assert.match(JSON.stringify(request.body.messages.slice(-2)), /Keep it short\./u);
  await card.waitFor({ state: "detached" });
  await window.composer().and(view.locator(":focus")).waitFor();
  await request.say("Short.");
  await window.article("Short.").waitFor();
  await until(async () => (await readFile(join(workspace, "README.md"), "utf8")).startsWith("# Hello, shop\n"), 10 * SECOND, "the accepted edits");
});

step("a session out of view with a follow-up is named, and one click away", async () => {
  const { keyboard } = window.page;
  await window.composer().fill("Paint the wheels");
  await keyboard.press("Enter");
  await model.next();
  await window.composer().fill("And the bell");
  await keyboard.press("Alt+Enter");
  await view.locator(".queued", { hasText: "And the bell" }).waitFor();
  await view.getByRole("button", { name: "Stop" }).click();
  await window.article("Cancelled").last().waitFor();
  await window.command("Cairn: New Task");
  const banner = view.locator(".banner", { hasText: "has a follow-up in its queue" });
  await banner.waitFor();
  await window.screenshot("49 another session");
  await banner.getByRole("button", { name: "Open" }).press("Enter");
  await view.locator(".queued", { hasText: "And the bell" }).waitFor();
  await banner.waitFor({ state: "detached" });
});

/** Time at which the edit was on the disk, from when on the agent waits. */
async function written(name, beginning) {
  const path = join(workspace, name);
  const watcher = watch(path);
  const limit = AbortSignal.timeout(20 * SECOND);
  for await (const _ of on(watcher, "change", { signal: limit })) {
    const now = Date.now();
    if ((await readFile(path, "utf8")).startsWith(`${beginning}\n`)) {
      watcher.close();
      return now;
    }
  }
}

/** Time at which the page shows the card of an edit with this line. Runs in the page. */
function shownAt(_, line) {
  return new Promise((done) => {
    const look = () => {
      const lines = [...document.querySelectorAll(".card .plus")];
      if (lines.some(({ textContent }) => textContent.trim() === `+ ${line}`)) {
        done(Date.now());
      } else {
        requestAnimationFrame(look);
      }
    };
    look();
  });
}

/** Presses a key on the card until the agent goes on: the card counts once it was in sight for a moment. */
async function answer(key) {
  const card = decision("Change README.md?");
  await card.focus();
  for (const end = Date.now() + 30 * SECOND; (await card.isVisible()) && Date.now() < end;) {
    await card.press(key, { timeout: SECOND }).catch(() => undefined);
  }
}
