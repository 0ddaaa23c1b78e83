// What is to be done next: queued while a task runs, changed, dropped, begun by itself.

import assert from "node:assert/strict";

import { inConversation, now, scene, state, step, task, window } from "./harness.mjs";
import { answer } from "./look.mjs";

scene("follow-ups", { script: "queue", conversation: "folded" }, () => {
  const plan = (spoken) => window.row("Plan", spoken);
  const queued = (words) => plan(`To be done next: ${words}`);

  async function queue(text) {
    await window.command("Cairn: Queue Follow-Up");
    await window.answer("New Follow-Up", text);
  }

  step("a follow-up queued during a task waits in the plan view", async () => {
    await task("Do the first");
    await plan("Do the first. Plan, 0 of 1 done, waits for you").waitFor();
    await queue("Do the secnd");
    await queue("Do the third");
    // A message to the running task can be queued, too.
    await inConversation(async () => {
      await window.composer().fill("Do what nobody wants");
      await window.composer().press("Alt+Enter");
    });
    await queued("Do the secnd, next").waitFor();
    await queued("Do the third, queued").waitFor();
    await queued("Do what nobody wants, queued").waitFor();
  });

  step("a follow-up can be changed and removed", async () => {
    await window.rowAction(queued("Do the secnd"), "Change", async () => now().input?.title === "Change Follow-Up");
    await window.answer("Change Follow-Up", "Do the second");
    await queued("Do the second, next").waitFor();
    await window.rowAction(queued("Do what nobody wants"), "Remove from Queue");
    await queued("Do what nobody wants").waitFor({ state: "hidden" });
    await window.screenshot("queue-01 waits");
  });

  step("a follow-up starts after a completed task, and waits after a cancelled one", async () => {
    await answer("node --version");
    await queued("Do the third, next").waitFor();
    await plan("Do the second: waits for you").waitFor();
    await window.command("Cairn: Cancel Task");
    await state(({ queue }) => queue?.held && queue.items.length === 1, "a queue that waits for the user");
    await plan("Do the second: cancelled").waitFor();
    await queued("Do the third, paused").waitFor();
    await window.screenshot("queue-02 held");
  });

  step("a reloaded window restores the follow-up, which runs when the user starts it", async () => {
    await window.reload();
    // VS Code may have forgotten which views were in sight.
    await window.showConversation();
    await state(({ queue }) => queue?.items[0]?.text === "Do the third", "the restored follow-up");
    await queued("Do the third, paused").waitFor();
    await window.rowAction(queued("Do the third"), "Start Now");
    await plan("Do the third: done").waitFor();
    assert.equal(await queued("Do the third").count(), 0);
  });
});
