// Sessions, in a real VS Code: one is left for another, and opened, forked, exported and deleted.

import assert from "node:assert/strict";

import { tryUntil, until } from "./editor.mjs";
import { SECOND, now, scene, state, step, task, view, window } from "./harness.mjs";
import { asked, press, said, text } from "./look.mjs";
import { Window } from "./window.mjs";

const plan = (spoken) => window.row("Plan", spoken);
/** Rows of the list with these words. */
const rows = (words) => (now().input?.rows ?? []).filter((row) => JSON.stringify(row).includes(words));
const key = (name) => window.page.keyboard.press(name);
const atRest = () => state(({ turn }) => turn?.phase.kind === "ended", "the end of the task");

async function list() {
  await window.command("Cairn: Open Session");
  await asked("Open session");
  await state(() => rows("ago").length + rows("just now").length > 0, "the sessions");
}

async function leaveList() {
  await tryUntil(
    () => key("Escape"),
    async () => now().input === null,
    "the end of the list",
  );
}

/** Looks at the list again and again until so many of its rows have these words. */
async function listed(words, count) {
  await until(
    async () => {
      await list();
      const found = rows(words).length;
      await leaveList();
      return found === count;
    },
    20 * SECOND,
    `${count} sessions with ${words}`,
  );
}

scene("sessions", { script: "sessions", conversation: "folded" }, () => {
  step("two tasks are two sessions, and the earlier one is found and opened by keyboard", async () => {
    await task("Explain the discount");
    await plan("Plan, 1 of 2 done").waitFor();
    await atRest();
    await task("Look once more");
    await listed("Look once more", 1);
    await atRest();
    await list();
    const [first] = rows("Explain the discount");
    assert.match(JSON.stringify(first), /1\/2 done/u);
    assert.match(JSON.stringify(first), /Done · /u);
    await window.screenshot("sessions-01 list");
    await window.page.keyboard.type("explain");
    await window.focusedRow("Explain the discount").waitFor();
    await key("Enter");
    await window.article("Its discount looks wrong").first().waitFor();
    await plan("Plan, 1 of 2 done").waitFor();
    assert.equal(await window.article("Look once more").count(), 0, "nothing of another session");
    await window.screenshot("sessions-02 opened");
  });

  step("a session is found by the text of its conversation", async () => {
    await list();
    await window.page.keyboard.type("look at the discount");
    await state(() => rows("I look at the discount first.").length > 0, "the session by its text");
    await window.screenshot("sessions-09 found by its text");
    // Another text: the search before it is dropped.
    for (let n = 0; n < 8; n += 1) {
      await key("Backspace");
    }
    await window.page.keyboard.type("nowhere to be found");
    await state(() => rows("I look at the discount first.").length === 0, "no session with the other text");
    await leaveList();
  });

  step("the buttons of a row are reached by keyboard: a fork is a separate session, exported as Markdown", async () => {
    await list();
    await window.page.keyboard.type("explain");
    await window.focusedRow("Explain the discount").waitFor();
    await tryUntil(() => key("Tab"), window.focusedAction("Rename Session"), "the focus on the buttons");
    await key("ArrowRight");
    await window.focusedAction("Fork Session").waitFor();
    await key("Enter");
    await said("this is a fork");
    await listed("Explain the discount", 2);
    await plan("Plan, 1 of 2 done").waitFor();
    await window.command("Cairn: Export Session as Markdown");
    await text(/# Session[^]*Forked from/u);
    await window.screenshot("sessions-03 markdown");
  });

  step("a session gets a name, which the list and the header of the view show", async () => {
    await list();
    await window.listAction("Look once more", "Rename Session");
    await window.answer("Rename session", "The second look");
    // The list is back, and shows it.
    await state(() => rows("The second look").length > 0, "the new name");
    await window.screenshot("sessions-07 renamed");
    await leaveList();
    await window.command("Cairn: Rename Session");
    await window.answer("Rename session", "Discount, explained");
    await window.viewDescription("Discount, explained").waitFor();
    await window.screenshot("sessions-08 name in the header");
    await listed("Discount, explained", 1);
  });

  step("a deleted session comes back by Undo", async () => {
    await list();
    await window.listAction("The second look", "Delete Session");
    await state(({ messages }) => messages.some(({ text }) => text.includes("The session “The second look” was deleted")), "the report");
    await window.screenshot("sessions-04 deleted");
    await leaveList();
    await listed("The second look", 0);
    await press("The session “The second look” was deleted", "Undo");
    await said("is back");
    await listed("The second look", 1);
    assert.ok(!now().messages.some(({ text }) => text.includes("cannot")));
  });
});

scene("two windows on one folder", { script: "sessions", conversation: "shown" }, () => {
  step("a second window on the folder opens the session read-only, with the reason, and forks it", async () => {
    await window.composer().fill("Explain the discount");
    await window.composer().press("Enter");
    await atRest();
    const page = await window.context.newPage();
    page.setDefaultTimeout(20 * SECOND);
    const second = new Window(page, window.context);
    // From here on, the state is that of the second window.
    await second.load(() => page.goto(window.page.url()));
    await state(({ messages, model }) => model && messages.some(({ text }) => /another window/iu.test(text)), "the reason");
    await second.command("Cairn: Open Session");
    await second.choose("open in another window");
    await state(({ status }) => /read.only/iu.test(status["cairn.status"].spoken), "a session that is only read");
    await state(({ plan }) => plan?.items.length === 2, "the plan of the session");
    await second.screenshot("sessions-05 second window");
    await second.conversation().getByRole("button", { name: "Fork Session" }).press("Enter");
    await said("this is a fork");
    await second.conversation().getByText("Read-only.").waitFor({ state: "hidden" });
    await second.conversation().locator("textarea:enabled").waitFor();
    await second.screenshot("sessions-06 forked in the second window");
  });
});
