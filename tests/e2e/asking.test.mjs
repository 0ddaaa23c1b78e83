// From the first task of a newcomer to the answer: no task starts without a model, no text gets lost,
// and the answer is where one looks.

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after } from "node:test";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";
import { openModel } from "./model.mjs";

let window;
const KEY = "key-of-the-tests";
const model = await openModel(KEY);
const it = cairn({
  sideBar: false,
  ready: () => {
    window = it.window;
  },
});
const { step } = it;

after(() => model.close());

const TRACE = 'Traceback (most recent call last):\n  File "cart.py", line 3\n    total(  1)\nValueError: x';
const box = () => window.page.locator(".quick-input-widget:visible input[type=text]");
const picker = () => window.page.locator(".quick-input-widget:visible");
const words = (request) =>
  request.body.messages
    .filter(({ role }) => role === "user")
    .map(({ content }) => JSON.stringify(content))
    .at(-1);

/** Opens the walkthrough, and returns the marks of its steps. */
async function walkthrough() {
  await window.command("Welcome: Open Walkthrough...");
  await window.choose("Get started with Cairn");
  await window.page.locator(".getting-started-step").nth(3).waitFor();
  return window.page.locator(".getting-started-step .codicon.complete");
}

step("the walkthrough has a picture for each step, in the colours of the theme", async () => {
  // A narrow window shows the text alone.
  await window.page.setViewportSize({ width: 1600, height: 800 });
  const done = await walkthrough();
  for (const theme of ["Light Modern", "Dark High Contrast", "Dark Modern"]) {
    await window.theme(theme);
    for (const [at, name] of ["model", "run", "review", "keys"].entries()) {
      await window.page.locator(".getting-started-step").nth(at).click();
      const picture = window.page.frameLocator("iframe.webview").frameLocator("#active-frame").locator(`svg#${name}`);
      await picture.waitFor();
      assert.ok((await picture.boundingBox()).width > 200, name);
      const fill = await picture
        .locator("rect")
        .first()
        .evaluate((rect) => getComputedStyle(rect).fill);
      assert.equal(fill === "rgb(255, 255, 255)", theme.startsWith("Light"), `${theme}: ${fill}`);
      await window.screenshot(`asking-00 walkthrough ${name} ${theme}`);
    }
  }
  assert.equal(await done.count(), 0, "a look at a step does not complete it");
  await window.closeEditors();
  await window.page.setViewportSize({ width: 1280, height: 800 });
});

step("without a model a task does not start, the user can set one up, and no file is written", async () => {
  await window
    .status()
    .filter({ hasText: "no model" })
    .waitFor({ timeout: 30 * SECOND });
  const before = await readdir(it.workspace);
  await window.command("Agent: run task");
  await window.answer("New Task", "Is the total of the cart safe?");
  await picker().locator(".quick-input-title", { hasText: "The agent needs a model" }).waitFor();
  for (const way of ["Choose Model", "Try the Demo"]) {
    await picker().locator(".monaco-list-row", { hasText: way }).waitFor();
  }
  await window.screenshot("asking-01 no model");
  assert.deepEqual(await readdir(it.workspace), before);
});

step("from there a server is chosen by its address, with a key that it takes, and one of its models", async () => {
  await window.choose("Choose Model");
  const row = (text) => picker().locator(".monaco-list-row", { hasText: text });
  await row("Anthropic").filter({ hasText: "Add Key…" }).waitFor();
  await row("OpenRouter").waitFor();
  await window.screenshot("asking-02 servers");
  await window.choose("Other Server…");
  // The box stays, with the reason.
  await picker().locator(".quick-input-title", { hasText: "Address of a server" }).waitFor();
  await picker().locator("input[type=text]").fill("models.example");
  await picker().locator("input[type=text]").press("Enter");
  await picker().getByText("This is no http or https address.").waitFor();
  await window.answer("Address of a server", model.baseUrl);
  const refused = picker().locator(".quick-input-title", { hasText: "named no models" });
  await refused.waitFor();
  await window.screenshot("asking-03 no key");
  await window.choose("Set API Key…");
  await window.answer("API key for", "wrong");
  await refused.waitFor();
  await window.choose("Set API Key…");
  await window.answer("API key for", KEY);
  await picker().locator(".quick-input-title", { hasText: "works: 2 models" }).waitFor();
  await row("another").waitFor();
  await window.screenshot("asking-04 models");
  await window.choose("scripted");
});

step("once a model is set up, the stored task is offered again", async () => {
  await window.status().filter({ hasText: "no model" }).waitFor({ state: "hidden" });
  const toast = window.notification("Your task is kept");
  await toast.waitFor();
  await window.button("Continue with the Task", toast).click();
  await until(async () => (await box().inputValue()) === "Is the total of the cart safe?", 5 * SECOND, "the kept text");
  await window.screenshot("asking-05 the text is kept");
  // Left and opened again, it is still there.
  await window.page.keyboard.press("Escape");
  await window.command("Agent: run task");
  await until(async () => (await box().inputValue()) === "Is the total of the cart safe?", 5 * SECOND, "the draft");
  await window.page.keyboard.press("Enter");
});

step("the conversation comes into view, the focus and the Explorer stay", async () => {
  const request = await model.next();
  assert.match(words(request), /Is the total of the cart safe\?/u);
  await window.article("Is the total of the cart safe?").waitFor();
  await window.page.locator(".explorer-folders-view").waitFor();
  await request.call({ name: "TodoWrite", arguments: { todos: [{ content: "Look", status: "in_progress", activeForm: "Looking" }] } });
  const next = await model.next();
  assert.equal(await window.page.locator(".explorer-folders-view:visible").count(), 1, "the Explorer keeps its place");
  await window.screenshot("asking-03 the Explorer stays");
  await next.call({ name: "TodoWrite", arguments: { todos: [{ content: "Look", status: "completed", activeForm: "Looking" }] } });
  await (await model.next()).say("**Yes**, `total` is safe: it keeps no state.\n\n## More\n\nIt only reads its arguments.");
  await window.article("It only reads its arguments.").waitFor();
});

step("the plan shows the answer, and its root the text of the task", async () => {
  // Out of sight of the conversation, tasks are typed into the box.
  await window.unfold("Conversation", false);
  await window.row("Plan", "Is the total of the cart safe?. Plan, 1 of 1 done").waitFor();
  await window.row("Plan", "Answer: Yes, total is safe: it keeps no state.").waitFor();
  await window.screenshot("asking-04 the answer");
});

step("a question is shown by its last sentence, also in the reply box", async () => {
  await window.command("Agent: run task");
  await window.answer("New Task", "Change it");
  const request = await model.next();
  await request.say("I looked at `cart.mjs`.\n\n- one thing\n- another\n\nBoth work. **Shall I add a test?**");
  await window.row("Plan", "Shall I add a test?").waitFor();
  const placeholder = async () => {
    await window.command("Cairn: Reply");
    return await box().getAttribute("placeholder");
  };
  assert.match(await placeholder(), /^Shall I add a test\?$/u);
  await window.screenshot("asking-05 a question");
  await window.page.keyboard.press("Escape");
});

step("pasted text of several lines opens in an editor, unchanged", async () => {
  await window.page.evaluate((text) => navigator.clipboard.writeText(text), TRACE);
  await window.command("Agent: run task");
  await box().fill("");
  await window.page.keyboard.press("Control+v");
  await window.page.locator(".view-line", { hasText: "total(  1)" }).waitFor();
  await window.screenshot("asking-06 a prompt in an editor");
  await window.page.keyboard.press("Control+Enter");
  const request = await model.next();
  assert.ok(words(request).includes(JSON.stringify(TRACE).slice(1, -1)), words(request));
  await window.page.locator('.tab:has([aria-label*="Untitled"])').waitFor({ state: "detached" });
  await request.say("Seen.");
});

step("an earlier text can be used again", async () => {
  await window.row("Plan", "Answer: Seen.").waitFor();
  await window.command("Agent: run task");
  await picker().locator('.action-label[aria-label^="Use an Earlier Text"]').click();
  await window.choose("Is the total of the cart safe?");
  await until(async () => (await box().inputValue()) === "Is the total of the cart safe?", 5 * SECOND, "the earlier text");
  await window.page.keyboard.press("Escape");
});

step("the walkthrough knows what was done", async () => {
  const done = await walkthrough();
  await until(async () => (await done.count()) === 2, 10 * SECOND, "a model and a task");
  await window.screenshot("asking-07 walkthrough done");
});
