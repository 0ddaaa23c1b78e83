// From the first task of a newcomer to the answer: no task starts without a model, no text gets lost,
// and the answer is where one looks.

import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";

import { tryUntil, until } from "./editor.mjs";
import { SECOND, model, now, scene, state, step, setTheme, task, view, window, workspace } from "./harness.mjs";
import { asked, edits, listed, message, noTab, press, status, text } from "./look.mjs";
import { editFile } from "./model.mjs";

const KEY = "key-of-the-tests";
const QUESTION = "Is the total of the cart safe?";
const TRACE = 'Traceback (most recent call last):\n  File "cart.py", line 3\n    total(  1)\nValueError: x';
const add = (a, b) => ({ name: "add", arguments: { a, b } });
const key = (name) => window.page.keyboard.press(name);
const words = (request) =>
  request.body.messages
    .filter(({ role }) => role === "user")
    .map(({ content }) => JSON.stringify(content))
    .at(-1);

/** Opens the walkthrough. */
async function walkthrough() {
  await window.command("Welcome: Open Walkthrough...");
  await window.choose("Get started with Cairn");
  await window.walkthroughStep(3).waitFor();
}

scene("the first task", { model: { key: KEY, isChosen: false } }, () => {
  step("the walkthrough has a picture for each step, in the colors of the theme", async () => {
    // A narrow window shows the text alone.
    await window.page.setViewportSize({ width: 1600, height: 800 });
    await walkthrough();
    for (const theme of ["Light Modern", "Dark High Contrast", "Dark Modern"]) {
      await setTheme(theme);
      for (const [at, name] of ["model", "run", "review", "keys"].entries()) {
        // The frame of the picture is drawn anew with the theme.
        const background = window.walkthroughPicture(name).locator("rect").first();
        const fill = () => background.evaluate((rect) => getComputedStyle(rect).fill, undefined, { timeout: 2 * SECOND });
        const isRight = async () => ((await fill()) === "rgb(255, 255, 255)") === theme.startsWith("Light");
        await tryUntil(
          () => window.walkthroughStep(at).click(),
          () => isRight().catch(() => false),
          `the picture ${name} in the colors of ${theme}`,
        );
        await window.screenshot(`asking-00 walkthrough ${name} ${theme}`);
      }
    }
    assert.equal(await window.walkthroughMarks().count(), 0, "a look at a step does not complete it");
    await window.closeEditors();
    await window.page.setViewportSize({ width: 1280, height: 800 });
  });

  step("without a model a task does not start, the user can set one up, and no file is written", async () => {
    await status("no model");
    const before = await readdir(workspace);
    await window.command("Agent: run task");
    await window.composer().fill(QUESTION);
    await key("Enter");
    await asked("Model");
    await listed("Demo");
    await window.screenshot("asking-01 no model");
    assert.deepEqual(await readdir(workspace), before);
  });

  step("from there a server is chosen by its address, with a key that it takes, and one of its models", async () => {
    await listed("OpenRouter");
    await listed("Anthropic");
    assert.match(JSON.stringify(now().input.rows), /Anthropic[^}]*Add Key…/u);
    await window.screenshot("asking-02 servers");
    await window.choose("Other Server…");
    // The box stays, with the reason.
    await window.refused("Address of a server", "models.example", "This is no http or https address.");
    await window.answer("Address of a server", model.baseUrl);
    await asked("named no models");
    await window.screenshot("asking-03 no key");
    await window.choose("Set API Key…");
    await window.answer("API key for", "wrong");
    await asked("named no models");
    await window.choose("Set API Key…");
    await window.answer("API key for", KEY);
    await asked("works: 2 models");
    await listed("another");
    await window.screenshot("asking-04 models");
    await window.choose("scripted");
    // The table fills as the server answers.
    await asked("Check of scripted");
    await (await model.next()).call(add(2, 3));
    await listed("the call is complete");
    await window.screenshot("asking-10 a check begins");
    await (await model.next()).call(add(2, 3), add(4, 5));
    await (await model.next()).say("I added two and three with the tool, which gave five.", { prompt_tokens: 90, completion_tokens: 12 });
    await state(({ input }) => input?.placeholder === "The agent can work with this model", "the verdict");
    await listed("2 calls in one answer");
    await listed("the server accepts its own answers");
    await window.screenshot("asking-11 a checked model");
    await key("Escape");
  });

  step("once a model is set up, the task is still in the composer", async () => {
    await state(({ model }) => model.name === "scripted", "the model that was chosen");
    const isKept = async () => (await window.composer().inputValue()) === QUESTION;
    await until(isKept, 10 * SECOND, "the text in the composer");
    await window.screenshot("asking-05 the text is kept");
    // Left and opened again, it is still there.
    await window.command("View: Hide Secondary Side Bar");
    await window.command("Agent: run task");
    await until(isKept, 10 * SECOND, "the text after the view was hidden");
    await window.composer().press("Enter");
  });

  step("the conversation comes into view, the Explorer stays, and the walkthrough marks its first steps", async () => {
    const request = await model.next();
    assert.ok(words(request).includes(QUESTION));
    await window.article(QUESTION).waitFor();
    await request.call({ name: "TodoWrite", arguments: { todos: [{ content: "Look", status: "in_progress", activeForm: "Looking" }] } });
    const next = await model.next();
    assert.ok(await window.explorerRows().first().isVisible(), "the Explorer keeps its place");
    await window.screenshot("asking-03 the Explorer stays");
    await next.call({ name: "TodoWrite", arguments: { todos: [{ content: "Look", status: "completed", activeForm: "Looking" }] } });
    // The plan takes the focus from nobody.
    await view.locator("textarea:focus").waitFor();
    await (await model.next()).say("**Yes**, `total` is safe: it keeps no state.\n\n## More\n\nIt only reads its arguments.");
    await window.article("It only reads its arguments.").waitFor();
    // The root of the plan shows the text of the task.
    await window.row("Plan", `${QUESTION}. Plan, 1 of 1 done`).waitFor();
    await window.screenshot("asking-04 the answer");
    await walkthrough();
    await window.walkthroughMarks().nth(1).waitFor();
    assert.equal(await window.walkthroughMarks().count(), 2, "a model and a task");
    await window.screenshot("asking-07 walkthrough done");
  });
});

scene("a model server without encryption", { model: { key: KEY }, conversation: "folded" }, () => {
  step("is asked after a yes, and gets a key after a second one", async () => {
    await window.command("Cairn: Choose Model");
    await listed("OpenRouter");
    await window.choose("Other Server…");
    // An address of this machine that does not say so.
    await window.answer("Address of a server", model.baseUrl.replace("127.0.0.1", "0.0.0.0"));
    const first = window.dialog("Ask 0.0.0.0 without encryption?");
    await first.waitFor();
    await window.screenshot("asking-08 without encryption");
    await window.button("Allow Plain HTTP", first).click();
    await asked("named no models");
    assert.match(JSON.stringify(now().input), /Incorrect API key/u);
    await window.choose("Set API Key…");
    const second = window.dialog("Send an API key to 0.0.0.0 without encryption?");
    await second.waitFor();
    await window.screenshot("asking-09 a key without encryption");
    await window.button("Enter Key", second).click();
    await window.answer("API key for", KEY);
    await asked("works: 2 models");
    await key("Escape");
  });

  step("keeps the first answer", async () => {
    await window.command("Cairn: Choose Model");
    await listed("OpenRouter");
    await window.choose("Other Server…");
    await window.answer("Address of a server", model.baseUrl.replace("127.0.0.1", "0.0.0.0"));
    await asked("works: 2 models");
    await window.choose("another");
  });

  step("is checked, and what it breaks is named", async () => {
    await asked("Check of another");
    await (await model.next()).say('<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>');
    await listed("broken: the call came as text");
    (await model.next()).refuse("No parallel calls here.", 400);
    await listed("No parallel calls here.");
    const unanswered = await model.next();
    await window.screenshot("asking-12 a model that breaks rules");
    const ended = once(unanswered.response, "close");
    await key("Escape");
    await ended;
  });

  step("can be checked again", async () => {
    await window.command("Cairn: Choose Model");
    await window.choose("Check the Model…");
    await asked("Check of another");
    (await model.next()).refuse("Incorrect API key.");
    await state(({ input }) => input?.placeholder === "The agent cannot work with this model as it is", "the verdict");
    await window.screenshot("asking-13 no answer");
    await key("Escape");
  });
});

scene("the ends of tasks", { model: true, conversation: "folded", prepare: () => ({ "cairn.plan.endReminder": true }) }, () => {
  step("a question is shown by its last sentence", async () => {
    await (await task()).say("I looked at `cart.mjs`.\n\n- one thing\n- another\n\nBoth work. **Shall I add a test?**");
    await message("Shall I add a test?");
    await window.screenshot("asking-05 a question");
  });

  step("a text of several lines is sent from an editor, unchanged", async () => {
    await window.command("Agent: run task");
    await window.composer().fill("Mend it:");
    await key("Control+Shift+Enter");
    await text("Mend it:");
    await window.focusedEditor().waitFor();
    await window.copy(`\n${TRACE}`);
    await key("Control+v");
    await text("total(  1)");
    await window.screenshot("asking-06 a prompt in an editor");
    await key("Control+Enter");
    const request = await model.next();
    assert.ok(words(request).includes(JSON.stringify(`Mend it:\n${TRACE}`).slice(1, -1)), words(request));
    await noTab("Mend it");
    await request.say("Seen.");
  });

  step("an answer that leaves work is asked about once, and the end says what is left", async () => {
    const request = await task("Mend the discount");
    const item = (content, status) => ({ content, status, activeForm: `${content}…` });
    const todos = [item("Mend it", "in_progress"), item("Add a test", "pending")];
    const edit = editFile("src/pricing.mjs", "/** Returns the", "/** Gives the");
    await request.call({ name: "TodoWrite", arguments: { todos } }, edit);
    await (await model.next()).say("All done!");
    const asked = await model.next();
    assert.match(words(asked), /would end the turn.*\[>\] #1 Mend it.*checked your last edit/);
    await asked.say("The discount is mended. I could not run the tests.");
    await edits(1);
    const left = "no successful check since the last edit";
    await window.row("Plan", `Mend the discount. Plan, 0 of 2 done, 2 open, ${left}`).waitFor();
    await window.command("Cairn: Show Conversation");
    await window
      .conversation()
      .getByRole("article", { name: `Ended, 2 plan items open · ${left}` })
      .waitFor();
    await window.screenshot("asking-14 an end with work left");
  });
});
