// Another session is opened while a task runs, in a real VS Code: the running one goes on, is named above the
// conversation, and comes back with all its words.

import assert from "node:assert/strict";

import { model, scene, send, step, setTheme, view, window } from "./harness.mjs";
import { asked, listed, press, unasked } from "./look.mjs";

const banner = (words) => view.locator(".banner", { hasText: words });
let running;

async function openSession(words) {
  await window.command("Cairn: Open Session");
  await asked("Open session");
  await listed(words);
  await window.page.keyboard.type(words);
  await window.focusedRow(words).waitFor();
  await window.page.keyboard.press("Enter");
}

scene("a session in the background", { model: true, conversation: "shown" }, () => {
  step("a session is opened while the task of another one runs", async () => {
    await (await send("First of all")).say("First answer.");
    await window.article("First answer.").waitFor();
    await window.command("Cairn: New Task");
    await view.locator(".empty h2").waitFor();
    running = await send("Count to ten");
    running.begin(running.eventsOfWords("One, two, ", "three, "));
    await window.article("One, two, three,").waitFor();
    await openSession("First of all");
    await window.article("First answer.").waitFor();
    assert.equal(await window.article("One, two").count(), 0, "nothing of the running session");
    await banner("“Count to ten” is running.").waitFor();
    await window.sideBarWidth(240);
    await setTheme("Dark Modern");
    await window.screenshot("background-02 narrow");
  });

  step("the list shows the running session with its sign", async () => {
    await window.command("Cairn: Open Session");
    const row = await listed("Count to ten");
    assert.match(JSON.stringify(row), /Running/u);
    await window.screenshot("background-03 list");
    await window.page.keyboard.press("Escape");
    await unasked();
  });

  step("a task of the session in view runs beside it", async () => {
    await (await send("Once more")).say("Second answer.");
    await window.article("Second answer.").waitFor();
    await banner("“Count to ten” is running.").waitFor();
  });

  step("the running session is reopened with the answer so far, and continues", async () => {
    await banner("“Count to ten” is running.").getByRole("button", { name: "Open" }).press("Enter");
    await window.article("One, two, three,").waitFor();
    await banner("is running").waitFor({ state: "detached" });
    await running.end(running.eventsOfEnd("four."));
    await window.article("Done").waitFor();
    assert.equal(await window.article("One, two, three,").count(), 1, "the answer once");
  });

  step("a session is deleted from the menu of the view, and Undo brings it back", async () => {
    await window.command("Cairn: Delete Session");
    await window.article("One, two").waitFor({ state: "detached" });
    await window.screenshot("background-04 deleted");
    await press("“Count to ten” was deleted", "Undo");
    await window.article("One, two, three").waitFor();
  });
});
