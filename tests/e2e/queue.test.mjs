// What is to be done next: queued while a task runs, changed, dropped, begun by itself.

import assert from "node:assert/strict";

import { scene, state, step, task, view, window } from "./harness.mjs";
import { answer } from "./look.mjs";

scene("follow-ups", { script: "queue", conversation: "shown" }, () => {
  const queued = (words) => view.getByRole("list", { name: "Queue" }).getByRole("listitem").filter({ hasText: words });
  const press = (words, name) => queued(words).getByRole("button", { name }).click();
  const queue = async (text) => {
    await window.composer().fill(text);
    await window.composer().press("Alt+Enter");
    await queued(text).waitFor();
  };
  const order = async () => (await queued("").allTextContents()).map((text) => text.trim());
  const ended = (text, reason) => state(({ turn }) => turn.text === text && turn.phase.reason === reason, `the task ${text}: ${reason}`);

  step("a follow-up queued during a task waits in the composer", async () => {
    await task("Do the first");
    await state(({ approvals }) => approvals.length > 0, "the question");
    await queue("Do the secnd");
    await queue("Do the third");
    await queue("Do what nobody wants");
    assert.deepEqual(await order(), ["Do the secnd", "Do the third", "Do what nobody wants"]);
  });

  step("a follow-up can be changed and removed", async () => {
    await press("Do what nobody wants", "Remove");
    await queued("Do what nobody wants").waitFor({ state: "detached" });
    await press("Do the third", "Remove");
    await press("Do the secnd", "Edit");
    await queued("Do the secnd").waitFor({ state: "detached" });
    await queue("Do the second");
    await queue("Do the third");
    await window.screenshot("queue-01 waits");
  });

  step("a follow-up starts after a completed task, and waits after a cancelled one", async () => {
    await answer("node --version");
    await queued("Do the second").waitFor({ state: "detached" });
    await state(({ turn, approvals }) => turn.text === "Do the second" && approvals.length > 0, "the question of the second");
    await window.command("Cairn: Cancel Task");
    await state(({ queue }) => queue?.held && queue.items.length === 1, "a queue that waits for the user");
    await ended("Do the second", "cancelled");
    await view.getByText("Paused: the last task did not complete.").waitFor();
    await window.screenshot("queue-02 held");
  });

  step("a reloaded window restores the follow-up, which runs when the user starts it", async () => {
    await window.reload();
    // VS Code may have forgotten which views were in sight.
    await window.showConversation();
    await state(({ queue }) => queue?.items[0]?.text === "Do the third", "the restored follow-up");
    await view.getByText("Paused: the last task did not complete.").waitFor();
    await press("Do the third", "Send Now");
    await ended("Do the third", "completed");
    await queued("").first().waitFor({ state: "detached" });
  });
});
