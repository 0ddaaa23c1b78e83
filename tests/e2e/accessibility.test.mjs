// The conversation for people who use no mouse or no screen: axe finds no serious fault in any state
// and theme, the names that a screen reader says are recorded, and a task is done by keyboard alone.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

import { repository, until } from "./editor.mjs";
import { SECOND, model, scene, step, setTheme, view, window } from "./harness.mjs";
import { edits, inFront } from "./look.mjs";
import { editFile } from "./model.mjs";

const THEMES = ["Light Modern", "Dark High Contrast", "Light High Contrast", "Dark Modern"];
const NAMES = join(repository, "tests/e2e/names.txt");
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const key = (name) => window.page.keyboard.press(name);
const card = () => view.locator("[role=alertdialog]");
const armedCard = () => card().first().locator("button:not([aria-disabled])").first();
const focused = (locator) => locator.and(view.locator(":focus"));

/** Serious faults that axe finds in the page of the conversation. */
async function faults() {
  const handle = await view.locator("body").elementHandle();
  const frame = await handle.ownerFrame();
  // As an expression of the debugger: the page itself may not evaluate text.
  await frame.evaluate(axe);
  const { violations } = await frame.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`));
}

async function assertClean(state) {
  for (const theme of THEMES) {
    await setTheme(theme);
    assert.deepEqual(await faults(), [], `${state} in ${theme}`);
  }
}

/** Leaves the view by its key and comes back, which puts the focus into the composer. */
async function backToComposer() {
  if ((await view.locator("body:focus-within").count()) > 0) {
    await key("Control+Alt+a");
    await window.focusedEditor().waitFor();
  }
  await key("Control+Alt+a");
  await focused(window.composer()).waitFor();
}

/** Presses Tab until the focus is in the element. */
async function tabTo(locator, name = "Tab") {
  await until(
    async () => {
      const isThere = (await locator.and(view.locator(":focus-within")).count()) > 0;
      return isThere || (await key(name));
    },
    20 * SECOND,
    `the focus in ${locator}`,
  );
}

scene("the conversation without a mouse, and without a screen", { model: true }, () => {
  step("axe finds nothing in an empty view, and the key leads there and back", async () => {
    await window.open("src/cart.mjs");
    await key("Control+Alt+a");
    await focused(window.composer()).waitFor();
    await key("Control+Alt+a");
    await window.focusedEditor().waitFor();
    await assertClean("the empty view");
  });

  step("a task, two approvals, a question, a review and its undo take eight presses beside the words", async () => {
    const pressed = [];
    const press = async (name) => {
      pressed.push(name);
      await key(name);
    };
    await press("Control+Alt+a");
    await focused(window.composer()).waitFor();
    await window.page.keyboard.type("Tidy the prices");
    await press("Enter");
    let request = await model.next();
    await request.call({ name: "bash", arguments: { command: "rm -rf build" } }, { name: "bash", arguments: { command: "echo done" } });
    await card().first().waitFor();
    assert.ok(await focused(window.composer()).isVisible(), "news do not move the focus");
    await assertClean("an approval");
    await backToComposer();
    await tabTo(card().first());
    await backToComposer();
    await armedCard().waitFor();
    await press("Alt+n");
    await window.article("rm -rf build").filter({ hasText: "denied" }).waitFor();
    await card().filter({ hasText: "echo done" }).waitFor();
    await armedCard().waitFor();
    await press("Alt+y");
    request = await model.next();
    assert.ok(await focused(window.composer()).isVisible(), "the focus stays where the words are written");
    await request.call({ name: "ask_user", arguments: { question: "In cents?", options: ["Yes", "No"] } });
    await view.locator(".ask .choice:not([aria-disabled])").first().waitFor();
    await press("Alt+1");
    request = await model.next();
    assert.match(request.results.at(-1), /answer of the user:\nYes\n/u);
    await request.call(editFile("src/pricing.mjs", "/** Returns the", "// Prices in cents.\n/** Returns the"));
    request = await model.next();
    await request.say("The prices are **tidy**: see `src/pricing.mjs`.");
    await window.article("The prices are tidy").waitFor();
    await press("Alt+F5");
    await inFront("src/pricing.mjs");
    await window.focusedEditor().waitFor();
    await press("Control+Alt+Enter");
    await edits(0);
    await view.locator(".edits").waitFor({ state: "hidden" });
    await press("Control+Alt+z");
    await edits(1);
    assert.equal(pressed.length, 8, pressed.join(", "));
    await key("Control+Alt+Enter");
    await edits(0);
  });

  step("the items are reached with the arrow keys", async () => {
    await backToComposer();
    await tabTo(view.locator(".item"), "Shift+Tab");
    await key("Home");
    // The checkpoint of the first turn, which unfolds.
    await focused(view.locator(".item").first().locator(".fold")).waitFor();
    await key("End");
    await focused(view.locator(".item").last()).waitFor();
  });

  step("axe finds nothing in a conversation with every kind of item", async () => {
    const todo = (status) => ({ name: "TodoWrite", arguments: { todos: [{ content: "Look", activeForm: "Looking", status }] } });
    await window.composer().fill("Look around");
    await key("Enter");
    await (await model.next()).call({ name: "read_file", arguments: { path: "src/cart.mjs" } }, todo("in_progress"));
    await (await model.next()).call(todo("completed"));
    await (
      await model.next()
    ).say("# Heading\n\n- a list\n- of two\n\n```js\nconst a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSee https://example.invalid/x.");
    await window.article("Heading").waitFor();
    await window.composer().fill("Fail");
    await key("Enter");
    (await model.next()).refuse("Incorrect API key.");
    await window.article("Failed").last().waitFor();
    const folds = view.locator(".fold[aria-expanded=false]:visible");
    for (let left = await folds.count(); left > 0; left -= 1) {
      await folds.first().press("Enter");
    }
    await assertClean("all items");
  });

  step("the names that a screen reader says are the recorded ones", async () => {
    const names = (await view.locator("body").ariaSnapshot())
      .replace(/\d+(\.\d+)? (s|ms|min)\b/gu, "N s")
      .replace(/\d+(\.\d+)? (seconds?|minutes?)\b/gu, "N seconds")
      .replace(/[\d.]+k? tokens/gu, "N tokens")
      .replace(/\d{1,2}:\d{2}( [AP]M)?/gu, "TIME");
    if (process.env.UPDATE_EXPECT !== undefined) {
      await writeFile(NAMES, `${names}\n`);
    }
    assert.equal(`${names}\n`, await readFile(NAMES, "utf8"), "UPDATE_EXPECT=1 writes the names again");
  });
});
