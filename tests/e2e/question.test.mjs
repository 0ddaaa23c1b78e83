// Questions of the agent in the conversation view, answered by keyboard, in words, and withdrawn with the task;
// and edits that it waits for.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, model, now, scene, send, state, step, setTheme, view, window, workspace } from "./harness.mjs";
import { edits, message, nothingCut, status } from "./look.mjs";
import { editFile } from "./model.mjs";

const card = (text) => view.locator(".ask", { hasText: text });
const ask = (question, options) => ({ name: "ask_user", arguments: { question, ...(options && { options }) } });
const decision = () => view.locator(".card", { hasText: "Change README.md?" });

scene("questions of the agent", { model: true, conversation: "shown" }, () => {
  step("a question is a card whose answers are chosen by keyboard", async () => {
    await (await send("Paint the cart")).call(ask("Which **colour** shall it have?", ["Blue", "Red, as the wheels"]));
    await card("Which colour shall it have?").waitFor();
    await view.locator(".strip", { hasText: "Answer the question" }).waitFor();
    assert.equal(await view.locator(".ask :focus").count(), 0, "the focus stays where it was");
    await window.screenshot("45 question");
    await card("Which").locator(".choice:not([aria-disabled])").first().waitFor();
    await card("Which").press("Alt+2");
    await state(({ questions }) => questions.length === 0, "no question");
    let request = await model.next();
    assert.match(request.results.at(-1), /answer of the user:\nRed, as the wheels\n/u);
    await card("Which").waitFor({ state: "detached" });
    await window.article("Ask Which").waitFor();
    await request.call(ask("Shall I sign it?"));
    const box = card("Shall I sign it?").getByLabel("Your answer · Enter sends");
    await box.fill("Only on the back");
    await box.press("Enter");
    request = await model.next();
    assert.match(request.results.at(-1), /Only on the back/u);
    await request.say("Painted.");
    await window.article("Painted.").waitFor();
  });

  step("a question survives a view that is put away, and goes with its task", async () => {
    await (await send("Paint it again")).call(ask("Really?", ["Yes", "No"]));
    await card("Really?").waitFor();
    await window.command("View: Toggle Secondary Side Bar Visibility");
    await message("Cairn asks: Really?");
    await window.command("View: Toggle Secondary Side Bar Visibility");
    await card("Really?").waitFor();
    await window.sideBarWidth(240);
    await nothingCut(view, "nothing is wider than the view");
    await setTheme("Dark Modern");
    await window.screenshot("46 question narrow");
    await window.command("Notifications: Clear All Notifications");
    await view.getByRole("button", { name: "Stop" }).click();
    await card("Really?").waitFor({ state: "detached" });
    await window.article("Cancelled").waitFor();
  });

  step("in Ask mode an edit of a closed file is a card with its lines", async () => {
    await window.command("Cairn: Choose Mode");
    await window.choose("Ask");
    await (await send("Say hello in the readme")).call(editFile("README.md", "# A small shop", "# Hello"));
    await view.locator(".card .plus", { hasText: "+ # Hello" }).waitFor();
    await status("Decide on README.md");
    assert.ok(!now().messages.some(({ text }) => text.includes("The agent waits until")), "what is in view needs no message");
    await window.badge("1").waitFor();
    await window.screenshot("47 edit to decide");
    await decision().locator(".primary:not([aria-disabled])").waitFor();
    await decision().press("Alt+y");
    await edits(0);
    await (await model.next()).call(editFile("README.md", "# Hello", "# Hello, shop"));
  });

  step("an edit is rejected with a reason, which the agent reads", async () => {
    await view.locator(".card .plus", { hasText: "+ # Hello, shop" }).waitFor();
    await decision().getByRole("button", { name: "Reject with a Reason…" }).press("Enter");
    await decision().getByLabel("Reason for the agent").fill("Keep it short.");
    await window.screenshot("48 reason");
    await decision().getByRole("button", { name: "Reject and Send" }).press("Enter");
    await edits(0);
    const request = await model.next();
    assert.match(JSON.stringify(request.body.messages.slice(-2)), /Keep it short\./u);
    await decision().waitFor({ state: "detached" });
    await window.composer().and(view.locator(":focus")).waitFor();
    await request.say("Short.");
    await window.article("Short.").waitFor();
    await until(async () => (await readFile(join(workspace, "README.md"), "utf8")).startsWith("# Hello\n"), 10 * SECOND, "the accepted edit");
  });

  step("a session out of view with a follow-up is named, and one click away", async () => {
    await send("Paint the wheels");
    await window.composer().fill("And the bell");
    await window.page.keyboard.press("Alt+Enter");
    await state(({ queue }) => queue.items.length === 1, "a follow-up");
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
});
