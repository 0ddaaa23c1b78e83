// A message while there is no model, and how full the model's window is: the meter of the composer, its warning, the
// status bar, and compacting by hand.

import assert from "node:assert/strict";

import { until } from "./editor.mjs";
import { SECOND, model, scene, send, state, step, view, window } from "./harness.mjs";
import { asked, press, status, text } from "./look.mjs";

const prepare = () => ({ "cairn.model.contextTokens": 8_000, "cairn.model.price": { input: 3, cachedInput: 0.3, output: 15 } });

scene("a model is set up, and its context fills", { model: { isChosen: false }, conversation: "shown", prepare }, () => {
  step("a message without a model returns to the composer, and is sent once a model is set up", async () => {
    await status("no model");
    await window.composer().fill("Is the total safe?");
    await window.composer().press("Enter");
    await asked("Model");
    await window.page.keyboard.press("Escape");
    await until(async () => (await window.composer().inputValue()) === "Is the total safe?", 20 * SECOND, "the message in the box");
    await window.screenshot("37 conversation no model");
    await window.addSettings(model.settings);
    await state(({ model }) => model.name === "scripted", "the model");
    await window.composer().press("Enter");
    await (await model.next()).say("It is.");
    await window.article("It is.").waitFor();
  });

  step("the status bar says context use and cost", async () => {
    await (await send("Read the cart")).say("It has two functions. Shall I go on?", { prompt_tokens: 3_400, completion_tokens: 100 });
    const { tooltip } = await status("Context: 44 % of 8k tokens");
    assert.match(tooltip, /about \$0\.01/u);
    assert.match(tooltip, /Review mode: /u);
    await window.screenshot("40 meter");
  });

  step("the meter warns before the context window is full", async () => {
    await (await send("Go on")).say("Done so far. More?", { prompt_tokens: 6_500, completion_tokens: 100 });
    await status("Context: 83 % of 8k tokens");
    await view.locator(".meter.warning", { hasText: "7k/8k" }).waitFor();
    await window.screenshot("41 meter warns");
  });

  step("compaction frees context and is shown in the conversation", async () => {
    await window.command("Cairn: Compact Conversation");
    const wish = await model.next();
    assert.match(JSON.stringify(wish.body.messages.at(-1)), /is going to be compacted/u);
    await wish.say("The cart has two functions.", { prompt_tokens: 6_700, completion_tokens: 10 });
    await window.command("Cairn: Open Conversation as Text");
    await text("Conversation compacted: 7k →");
    await window.screenshot("42 compacted");
  });
});
