// How full the model's window is: the meter of the composer, its warning, the status bar, and compacting by hand.

import assert from "node:assert/strict";

import { SECOND, cairn } from "./harness.mjs";

const it = cairn({
  model: true,
  prepare: () => ({
    "cairn.model.contextTokens": 8_000,
    "cairn.model.price": { input: 3, cachedInput: 0.3, output: 15 },
  }),
  ready: () =>
    it.window
      .status()
      .first()
      .waitFor({ timeout: 60 * SECOND }),
});
const status = (text) => it.window.page.locator(`.statusbar-item[id*="cairn.status"] [aria-label*="${text}"]`);

it.step("the status bar says context use and cost", async () => {
  const { window } = it;
  await window.command("Agent: run task");
  await window.answer("New Task", "Read the cart");
  await (await it.model.next()).say("It has two functions. Shall I go on?", { prompt_tokens: 3_400, completion_tokens: 100 });
  await status("Context: 44 % of 8k tokens").waitFor({ timeout: 20 * SECOND });
  await status("about $0.01").hover();
  await window.page.locator(".monaco-hover", { hasText: "Review mode: " }).waitFor();
  await window.screenshot("40 meter");
});

it.step("the meter warns before the context window is full", async () => {
  const { window } = it;
  await window.command("Cairn: Reply");
  await window.answer("Reply", "Go on");
  await (await it.model.next()).say("Done so far. More?", { prompt_tokens: 6_500, completion_tokens: 100 });
  await status("Context: 83 % of 8k tokens").waitFor();
  await window.command("Cairn: Show Conversation");
  await window.conversation().locator(".meter.warning", { hasText: "7k/8k" }).waitFor();
  await window.screenshot("41 meter warns");
});

it.step("compaction frees context and is shown in the conversation", async () => {
  const { window } = it;
  await window.command("Cairn: Compact Conversation");
  const wish = await it.model.next();
  assert.match(JSON.stringify(wish.body.messages.at(-1)), /is going to be compacted/u);
  await wish.say("The cart has two functions.", { prompt_tokens: 6_700, completion_tokens: 10 });
  await window.command("Cairn: Open Conversation as Text");
  await window.page
    .getByText("Conversation compacted: 7k →")
    .first()
    .waitFor({ timeout: 20 * SECOND });
  await window.screenshot("42 compacted");
});
