// Another session is opened while a task runs, in a real VS Code: the running one goes on, is named above the
// conversation, and comes back with all its words. Its question waits until it is in view.

import assert from "node:assert/strict";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

let window;
let view;
let model;
let running;
const { step } = cairn({
  model: true,
  conversation: true,
  ready: (it) => {
    ({ window, model } = it);
    view = window.conversation();
  },
});
const keys = () => window.page.keyboard;
const banner = (words) => view.locator(".banner", { hasText: words });
const row = (words) => window.page.locator(".quick-input-list .monaco-list-row", { hasText: words });

async function send(text) {
  await window.composer().fill(text);
  await window.composer().press("Enter");
}

async function openSession(words) {
  await window.command("Cairn: Open Session");
  await row(words).first().waitFor();
  await keys().type(words);
  await until(
    async () =>
      (await row(words).count()) > 0 && (await window.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: words }).count()) > 0,
    10 * SECOND,
    words,
  );
  await keys().press("Enter");
}

step("a session is opened while the task of another one runs", async () => {
  await window.command("Cairn: Show Conversation");
  await send("First of all");
  await (await model.next()).say("First answer.");
  await window.article("First answer.").waitFor();
  await window.command("Cairn: New Task");
  await view.locator(".empty h2").waitFor();
  await send("Count to ten");
  running = await model.next();
  running.begin(running.eventsOfWords("One, two, ", "three, "));
  await window.article("One, two, three,").waitFor();
  await openSession("First of all");
  await window.article("First answer.").waitFor();
  assert.equal(await window.article("One, two").count(), 0, "nothing of the running session");
  await banner("“Count to ten” is running.").waitFor();
  await window.screenshot("background-01 another session runs");
  await window.sideBarWidth(240);
  await window.theme("Dark Modern");
  await window.screenshot("background-02 narrow");
});

step("the list shows the running session with its sign", async () => {
  await window.command("Cairn: Open Session");
  await row("Count to ten").filter({ hasText: "Running" }).first().waitFor();
  await window.screenshot("background-03 list");
  await keys().press("Escape");
});

step("a task of the session in view runs beside it", async () => {
  await send("Once more");
  await (await model.next()).say("Second answer.");
  await window.article("Second answer.").waitFor();
  await banner("“Count to ten” is running.").waitFor();
});

step("the running session comes back with the words so far, and goes on", async () => {
  await banner("“Count to ten” is running.").getByRole("button", { name: "Open" }).press("Enter");
  await window.article("One, two, three,").waitFor();
  await banner("is running").waitFor({ state: "detached" });
  await running.end(running.eventsOfEnd("four."));
  await window.article("Done").waitFor();
  assert.equal(await window.article("One, two, three,").count(), 1, "the answer once");
});

step("a session is deleted from the menu of the view, and Undo brings it back", async () => {
  await window.command("Cairn: Delete Session");
  await window.notification("“Count to ten” was deleted").waitFor();
  await window.article("One, two").waitFor({ state: "detached" });
  await window.screenshot("background-04 deleted");
  await window.button("Undo", window.notification("was deleted")).click();
  await window.article("One, two, three").waitFor();
});
