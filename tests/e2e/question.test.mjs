// Questions of the agent in the conversation view, answered by keyboard, in words, and withdrawn with the task.

import assert from "node:assert/strict";

import { SECOND, cairn } from "./harness.mjs";

let window;
let view;
let model;
const { step } = cairn({
  model: true,
  conversation: true,
  ready: (it) => {
    ({ window, model } = it);
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
  while (request === undefined) {
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
