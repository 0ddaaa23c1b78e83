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
const conversation = () => window.page.locator('.tab[data-resource-name="Cairn Conversation"]');
const said = (text) => window.page.locator(".editor-instance .view-line", { hasText: text }).first();

async function task(text) {
  await window.command("Agent: run task");
  await window.answer("What should be done?", text);
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
  await until(async () => {
    await list();
    await row("ago").or(row("just now")).first().waitFor();
    const found = await row(text).count();
    await window.page.keyboard.press("Escape");
    return found === count;
  }, 20 * SECOND, `${count} sessions with ${text}`);
}

step("two tasks are two sessions", async () => {
  await window.status().filter({ hasText: "replay" }).waitFor({ timeout: 30 * SECOND });
  await task("Explain the discount");
  await plan("Plan, 1 of 2 done").waitFor();
  await until(async () => (await window.spinning("Plan").count()) === 0, 10 * SECOND, "the end of the first task");
  await task("Look once more");
  await listed("Look once more", 1);
  await until(async () => (await window.spinning("Plan").count()) === 0, 10 * SECOND, "the end of the second task");
  await list();
  await row("Explain the discount").filter({ hasText: "1/2 done" }).waitFor();
  await window.screenshot("sessions-01 list");
});

step("an earlier one is opened: its plan and its conversation", async () => {
  await row("Explain the discount").first().click();
  await plan("Plan, 1 of 2 done").waitFor();
  await conversation().waitFor();
  await said("Its discount looks wrong").waitFor();
  await window.screenshot("sessions-02 opened");
});

step("a fork of it is a session of its own", async () => {
  await list();
  await button("Explain the discount", "Fork Session");
  await window.page.locator(".statusbar-item", { hasText: "this is a fork" }).waitFor();
  await listed("Explain the discount", 2);
  await plan("Plan, 1 of 2 done").waitFor();
});

step("it is exported as Markdown", async () => {
  await window.command("Cairn: Export Session as Markdown");
  await said("# Session").waitFor();
  await said("Forked from").waitFor();
  await window.screenshot("sessions-03 markdown");
});

step("a second window on the folder says so, and can only look at it", async () => {
  const page = await window.context.newPage();
  page.setDefaultTimeout(20 * SECOND);
  await page.goto(window.page.url());
  const second = new Window(page, window.context);
  try {
    await second.status().filter({ hasText: "replay" }).waitFor({ timeout: 60 * SECOND });
    await second.notification("another window").waitFor();
    await second.command("Cairn: Open Session");
    await page.locator(".quick-input-list .monaco-list-row", { hasText: "open in another window" }).first().click();
    await second.row("Plan", "Plan, 1 of 2 done").waitFor();
    await second.status().filter({ hasText: /read.only/i }).waitFor();
    await second.screenshot("sessions-05 second window");
  } finally {
    await page.close();
  }
});

step("it is deleted when that was meant", async () => {
  await list();
  await button("Look once more", "Delete Session");
  await window.page.locator(".monaco-dialog-box", { hasText: "Delete this session?" }).waitFor();
  await window.screenshot("sessions-04 delete");
  await window.button("Delete", window.page.locator(".monaco-dialog-box")).click();
  await listed("Look once more", 0);
  assert.equal(await window.notification("cannot").count(), 0);
});
