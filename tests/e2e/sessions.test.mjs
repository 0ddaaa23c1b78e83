// Sessions, in a real VS Code: one is left for another, and opened, forked, exported and deleted.

import assert from "node:assert/strict";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";
import { Window } from "./window.mjs";

let window;
const { step } = cairn({
  script: "sessions",
  ready: (it) => {
    window = it.window;
  },
});

const plan = (spoken) => window.row("Plan", spoken);
const row = (text) => window.page.locator(".quick-input-list .monaco-list-row", { hasText: text });
const said = (text) => window.page.locator(".editor-instance .view-line", { hasText: text }).first();

async function task(text) {
  await window.command("Agent: run task");
  await window.answer("New Task", text);
}

/** Folds the conversation once it has come, with the focus in it. */
async function fold() {
  const composer = window.composer();
  await composer.and(window.conversation().locator(":focus")).waitFor();
  await window.unfold("Conversation", false);
}

async function list() {
  await window.command("Cairn: Open Session");
  await window.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: "Open session" }).waitFor();
}

/** One of the buttons of a row in the list. */
async function button(text, title) {
  await row(text).first().hover();
  await row(text).first().locator(`.action-label[aria-label="${title}"]`).click();
}

/** Looks at the list again and again until so many of its rows have these words. */
async function listed(text, count) {
  await until(
    async () => {
      await list();
      await row("ago").or(row("just now")).first().waitFor();
      const found = await row(text).count();
      await window.page.keyboard.press("Escape");
      return found === count;
    },
    20 * SECOND,
    `${count} sessions with ${text}`,
  );
}

step("two tasks are two sessions", async () => {
  await window
    .status()
    .filter({ hasText: "replay" })
    .waitFor({ timeout: 30 * SECOND });
  await task("Explain the discount");
  await plan("Plan, 1 of 2 done").waitFor();
  await until(async () => (await window.spinning("Plan").count()) === 0, 10 * SECOND, "the end of the first task");
  await task("Look once more");
  await listed("Look once more", 1);
  await until(async () => (await window.spinning("Plan").count()) === 0, 10 * SECOND, "the end of the second task");
  await list();
  const first = row("Explain the discount").filter({ hasText: "1/2 done" });
  await first.filter({ hasText: /Done · / }).waitFor();
  await first.locator(".codicon-check").waitFor();
  await row("Today").first().waitFor();
  await window.screenshot("sessions-01 list");
});

step("an earlier session is found and opened by keyboard, with its plan and conversation", async () => {
  await window.page.keyboard.type("explain");
  await row("Look once more").first().waitFor({ state: "detached" });
  await row("Explain the discount").first().waitFor();
  await window.page.keyboard.press("Enter");
  await plan("Plan, 1 of 2 done").waitFor();
  const view = window.conversation();
  await view.locator("[role=article]", { hasText: "Its discount looks wrong" }).first().waitFor();
  assert.equal(await view.locator("[role=article]", { hasText: "Look once more" }).count(), 0, "nothing of another session");
  await window.screenshot("sessions-02 opened");
  await fold();
});

step("a session is found by the text of its conversation", async () => {
  await list();
  await window.page.keyboard.type("look at the discount");
  await row("I look at the discount first.").first().waitFor();
  await window.screenshot("sessions-09 found by its text");
  // Another text: the search before it is dropped.
  for (let n = 0; n < 8; n += 1) {
    await window.page.keyboard.press("Backspace");
  }
  await window.page.keyboard.type("nowhere to be found");
  await row("I look at the discount first.").first().waitFor({ state: "detached" });
  await window.page.keyboard.press("Escape");
});

step("the buttons of a row are reached by keyboard: a fork is a separate session", async () => {
  await list();
  await window.page.keyboard.type("explain");
  await row("Look once more").first().waitFor({ state: "detached" });
  const focused = (title) => row("Explain the discount").first().locator(`.action-label[aria-label="${title}"]:focus`);
  for (let n = 0; n < 6 && (await focused("Rename Session").count()) === 0; n += 1) {
    await window.page.keyboard.press("Tab");
  }
  await focused("Rename Session").waitFor();
  await window.page.keyboard.press("ArrowRight");
  await focused("Fork Session").waitFor();
  await window.page.keyboard.press("Enter");
  await window.page.locator(".statusbar-item", { hasText: "this is a fork" }).waitFor();
  await fold();
  await listed("Explain the discount", 2);
  await plan("Plan, 1 of 2 done").waitFor();
});

step("a session is exported as Markdown", async () => {
  await window.command("Cairn: Export Session as Markdown");
  await said("# Session").waitFor();
  await said("Forked from").waitFor();
  await window.screenshot("sessions-03 markdown");
});

step("a second window on the folder opens the session read-only, with the reason", async () => {
  const page = await window.context.newPage();
  page.setDefaultTimeout(20 * SECOND);
  await page.goto(window.page.url());
  const second = new Window(page, window.context);
  try {
    await second
      .status()
      .filter({ hasText: "replay" })
      .waitFor({ timeout: 60 * SECOND });
    await second.notification("another window").waitFor();
    await second.command("Cairn: Open Session");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "open in another window" }).first().click();
    await second.row("Plan", "Plan, 1 of 2 done").waitFor();
    await second
      .status()
      .filter({ hasText: /read.only/i })
      .waitFor();
    await second.screenshot("sessions-05 second window");
    await second.conversation().getByRole("button", { name: "Fork Session" }).press("Enter");
    await page.locator(".statusbar-item", { hasText: "this is a fork" }).waitFor();
    await second.conversation().getByText("Read-only.").waitFor({ state: "hidden" });
    await second.conversation().locator("textarea:enabled").waitFor();
    await second.screenshot("sessions-06 forked in the second window");
  } finally {
    await page.close();
  }
});

step("a session gets a name, which the list and the header of the view show", async () => {
  await list();
  await button("Look once more", "Rename Session");
  await window.answer("Rename session", "The second look");
  // The list is back, and shows it.
  await row("The second look").first().waitFor();
  await window.screenshot("sessions-07 renamed");
  await window.page.keyboard.press("Escape");
  await window.command("Cairn: Show Conversation");
  await window.composer().waitFor();
  await window.command("Cairn: Rename Session");
  await window.answer("Rename session", "Discount, explained");
  await window.page.locator(".pane-header .description", { hasText: "Discount, explained" }).waitFor();
  await window.screenshot("sessions-08 name in the header");
  await listed("Discount, explained", 1);
});

step("a deleted session comes back by Undo", async () => {
  await list();
  await button("The second look", "Delete Session");
  const message = window.notification("The session “The second look” was deleted");
  await message.waitFor();
  await window.screenshot("sessions-04 deleted");
  await listed("The second look", 0);
  await window.button("Undo", message).click();
  await window.page.locator(".statusbar-item", { hasText: "is back" }).waitFor();
  await listed("The second look", 1);
  assert.equal(await window.notification("cannot").count(), 0);
});
