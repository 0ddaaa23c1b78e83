// The composer: a message while there is no model, and what can be attached to a message.

import assert from "node:assert/strict";
import { after } from "node:test";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";
import { openModel } from "./model.mjs";
import { DRAFTS } from "./window.mjs";

let window;
const model = await openModel();
const { step } = cairn({
  conversation: true,
  prepare: () => ({ "terminal.integrated.gpuAcceleration": "off" }),
  ready: (it) => {
    ({ window } = it);
  },
});

after(() => model.close());

const chip = (name) => window.conversation().locator(".composer [data-chip]", { hasText: name });
const option = (name) => window.conversation().getByRole("option", { name });
const said = ({ body }) => JSON.stringify(body.messages.filter(({ role }) => role === "user").at(-1).content);
const keys = () => window.page.keyboard;
const LINES = Array.from({ length: 60 }, (_, n) => `  File "src/part_${n}.py", line ${n + 1}`).join("\n");
/** PNG of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The same, followed by bytes that no reader needs: larger than what the editor keeps in memory. */
const LARGER = Buffer.concat([Buffer.from(PIXEL, "base64"), Buffer.alloc(30_000)]).toString("base64");

const picker = () => window.page.locator(".quick-input-widget:visible");

step("a message without a model returns to the composer, and is sent once a model is set up", async () => {
  await window
    .status()
    .filter({ hasText: "no model" })
    .waitFor({ timeout: 60 * SECOND });
  await window.command("Cairn: Show Conversation");
  await window.composer().fill("Is the total safe?");
  await window.composer().press("Enter");
  await picker().locator(".quick-input-title", { hasText: "The agent needs a model" }).waitFor();
  await window.page.keyboard.press("Escape");
  await until(async () => (await window.composer().inputValue()) === "Is the total safe?", 5 * SECOND, "the text is back");
  await window.screenshot("37 conversation no model");
  await window.addSettings(model.settings);
  const toast = window.notification("Your task is kept");
  await window.button("Continue with the Task", toast).click();
  await window.composer().and(window.conversation().locator(":focus")).waitFor();
  await window.composer().press("Enter");
  await (await model.next()).say("It is.");
  await window.article("It is.").waitFor();
});

/** Gives the box what a browser gives when the user pastes or drops. */
const give = (type, files, texts = {}) =>
  window.composer().evaluate(
    (box, given) => {
      const data = new DataTransfer();
      for (const [kind, text] of Object.entries(given.texts)) {
        data.setData(kind, text);
      }
      for (const { name, base64 } of given.files) {
        data.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
      }
      const options = { bubbles: true, cancelable: true };
      box.dispatchEvent(
        given.type === "paste"
          ? new ClipboardEvent("paste", { ...options, clipboardData: data })
          : new DragEvent("drop", { ...options, dataTransfer: data }),
      );
    },
    { type, files, texts },
  );

step("the active file is a chip that one key leaves out", async () => {
  await window.open("src/cart.mjs");
  await window.command("Cairn: Show Conversation");
  await chip("cart.mjs").waitFor();
  await window.composer().and(window.conversation().locator(":focus")).waitFor();
  await keys().press("Backspace");
  await chip("cart.mjs").and(window.conversation().locator(":focus")).waitFor();
  await keys().press("Delete");
  await window.conversation().locator('.chip[aria-pressed="false"]').waitFor();
  await keys().press("Escape");
  await keys().type("Is it on?");
  await keys().press("Enter");
  const request = await model.next();
  assert.ok(!said(request).includes("Open in the active editor"), said(request));
  await request.say("No file came along.");
  await window.article("No file came along.").waitFor();
});

step("a mention finds a file by a few letters, and attaches it", async () => {
  await window.composer().click();
  await keys().type("Round the sums of @prc");
  await option("pricing.mjs, src/pricing.mjs").waitFor();
  await window.screenshot("38 composer mention");
  await keys().press("Enter");
  assert.equal(await window.composer().inputValue(), "Round the sums of @pricing.mjs ");
  await chip("src/pricing.mjs").waitFor();
  await keys().press("Enter");
  const request = await model.next();
  assert.ok(said(request).includes("[cairn] attached file src/pricing.mjs"), said(request));
  await request.say("They are rounded.");
  await window.article("Round the sums").locator(".chip", { hasText: "src/pricing.mjs" }).waitFor();
  await window.article("They are rounded.").waitFor();
});

step("a long paste and an image become chips, and reach the model", async () => {
  await window.page.evaluate((text) => navigator.clipboard.writeText(text), LINES);
  await window.composer().click();
  await keys().press("Control+v");
  await chip("Pasted text (60 lines)").waitFor();
  await give("paste", [{ name: "shot.png", base64: PIXEL }]);
  await chip("shot.png").waitFor();
  await keys().type("What went wrong?");
  await window.screenshot("39 composer chips");
  await keys().press("Enter");
  const request = await model.next();
  assert.ok(said(request).includes(JSON.stringify(LINES).slice(1, -1)), said(request));
  assert.ok(said(request).includes(`data:image/png;base64,${PIXEL}`));
  await request.say("Part 59 failed.");
  await window.article("What went wrong?").locator(".chip", { hasText: "shot.png" }).waitFor();
  assert.equal(await window.conversation().locator(".composer .chip.added").count(), 0, "the chips went with the message");
  await window.screenshot("40 composer sent chips");
});

step("a step of the plan is mentioned by its number or its words", async () => {
  await window.composer().click();
  await keys().type("Make a plan");
  await keys().press("Enter");
  let request = await model.next();
  const todo = (content, status) => ({ content, activeForm: content, status });
  await request.call({ name: "TodoWrite", arguments: { todos: [todo("Round the sums", "completed"), todo("Tell the shop", "pending")] } });
  request = await model.next();
  await request.say("A plan of two steps.");
  await window.article("A plan of two steps.").waitFor();
  await window.composer().click();
  await keys().type("Why @shop");
  await option("Step 2, Tell the shop").waitFor();
  await window.row("Plan", "A plan of two steps.").waitFor();
  await window.screenshot("40a composer mention of a step");
  await option("Step 2, Tell the shop").click();
  await chip("Step 2").waitFor();
  assert.equal(await window.composer().inputValue(), "Why @Step 2 ");
  await window.composer().press("Enter");
  request = await model.next();
  assert.ok(said(request).includes("[cairn] attached text Step 2, 1 line:"), said(request));
  assert.ok(said(request).includes("Tell the shop"));
  await request.say("It asked.");
  await window.article("It asked.").waitFor();
});

step("a text of several lines moves into an editor, and is sent from there to the same session", async () => {
  await window.composer().click();
  await keys().type("First line");
  await keys().press("Shift+Enter");
  await keys().type("second line");
  await window.conversation().getByRole("button", { name: "Write in an Editor" }).waitFor();
  await window.screenshot("40b composer two lines");
  await keys().press("Control+Shift+Enter");
  await window.page.locator(".editor-instance .view-line", { hasText: "second line" }).waitFor();
  assert.equal(await window.composer().inputValue(), "");
  await keys().type(", and more");
  await keys().press("Control+Enter");
  const request = await model.next();
  assert.ok(said(request).includes("First line\\nsecond line, and more"), said(request));
  assert.ok(JSON.stringify(request.body.messages).includes("Part 59 failed."), "the session goes on");
  await request.say("Both lines came.");
  await window.article("Both lines came.").waitFor();
});

/** Chooses from a menu that is open, also from a menu in it. */
async function chooseFrom(...path) {
  for (const entry of path) {
    await window.page.locator(".monaco-menu .action-item", { hasText: entry }).last().hover();
  }
  await keys().press("Enter");
  await window.page.locator(".monaco-menu").first().waitFor({ state: "hidden" });
}

/** Waits for a text in the composer, and empties it. */
async function draft(text) {
  await until(async () => (await window.composer().inputValue()) === text, 10 * SECOND, `the draft ${text}`);
  await window.composer().and(window.conversation().locator(":focus")).waitFor();
}

step("menus open the composer with a draft and what they are about, and send nothing", async () => {
  await window.open("src/cart.mjs");
  await window.goTo(4);
  await keys().press("Shift+ArrowDown");
  await keys().press("Shift+ArrowDown");
  await window.page.locator(".editor-instance .view-line", { hasText: "let sum = 0" }).click({ button: "right" });
  await window.page.locator(".monaco-menu .action-item", { hasText: "Cairn" }).last().hover();
  await window.page.locator(".monaco-menu .action-item", { hasText: "Write Tests" }).last().waitFor();
  await window.screenshot("44 editor menu");
  await chooseFrom("Write Tests");
  await draft("Write tests for src/cart.mjs:4–5.");
  await chip("src/cart.mjs:4–5").waitFor();
  assert.equal(await window.conversation().locator(".composer [data-chip]").count(), 1, "the selection is there once");
  await window.screenshot("45 draft from the editor");

  await window.command("View: Show Explorer");
  const row = (name) => window.page.locator(`.explorer-folders-view [role=treeitem][aria-label^="${name}"]`);
  await row("src").first().click({ button: "right" });
  await chooseFrom("Task with This Folder");
  await chip("src/cart.mjs:4–5").waitFor();
  await window
    .conversation()
    .locator(".composer .chip.added", { hasText: /^\s*src\s*$/ })
    .waitFor();
  await draft("Write tests for src/cart.mjs:4–5.");
  await window.composer().fill("");

  await window.open("package.json");
  await window.goTo(1);
  await keys().type("x");
  await window.page
    .locator(".squiggly-error")
    .first()
    .waitFor({ timeout: 30 * SECOND });
  const fix = await window.codeAction("Fix with Cairn");
  await window.screenshot("46 lightbulb");
  await fix.click();
  await until(
    async () => /^Fix (this problem|these problems) in package.json:1/.test(await window.composer().inputValue()),
    10 * SECOND,
    "the problem",
  );
  await window.screenshot("47 draft about a problem");
  assert.equal(await window.article("Fix this problem").count(), 0, "nothing was sent");
  await window.command("File: Revert File");
  await window.composer().fill("");

  await window.command("Terminal: Create New Terminal");
  await window.page.locator(".terminal-wrapper.active .xterm-helper-textarea").focus();
  await keys().type("echo out of stock");
  await keys().press("Enter");
  // Once as typed, and once as printed.
  await window.page
    .locator(".terminal-wrapper.active .xterm-rows")
    .filter({ hasText: /out of stock.*out of stock/su })
    .waitFor();
  await window.command("Terminal: Select All");
  await window.page.evaluate(() => navigator.clipboard.writeText("mine"));
  await window.command("Cairn: Task with Terminal Selection");
  await chip("Terminal selection").waitFor();
  assert.equal(await window.clipboard(), "mine", "the clipboard has its text again");
  await window.screenshot("48 draft from the terminal");
  await window.composer().click();
  await keys().type("@Term");
  await option("Terminal, selected text of the terminal").waitFor();
  await keys().press("Enter");
  await until(async () => (await chip("Terminal selection").count()) === 2, 10 * SECOND, "the selection once more, by a mention");
  assert.equal(await window.clipboard(), "mine", "the clipboard has its text again");
  await window.composer().fill("");
  await window.command("View: Toggle Panel Visibility");
  const added = window.conversation().locator(".composer .chip.added");
  await until(
    async () => {
      // The page may still show a chip that was removed: then there is nothing to click.
      await added
        .first()
        .locator(".chip-remove")
        .click({ timeout: SECOND })
        .catch(() => undefined);
      return (await added.count()) === 0;
    },
    20 * SECOND,
    "no chip",
  );
  await window.conversation().getByRole("button", { name: "Back to the Conversation" }).click();
  await window.article("Both lines came.").waitFor();
});

step("an image that is none, and a paste that is too long, are refused in words", async () => {
  await window.composer().fill("Kept");
  await give("drop", [{ name: "evil.png", base64: btoa("<svg onload=alert(1)>") }]);
  await window.conversation().getByRole("alert").filter({ hasText: "evil.png is not a PNG, JPEG, WebP or GIF image" }).waitFor();
  await window.composer().evaluate((box) => {
    const data = new DataTransfer();
    data.setData("text/plain", "x".repeat(10_000_000));
    box.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
  });
  await window.conversation().getByRole("alert").filter({ hasText: "The pasted text has 10,000,000 characters" }).waitFor();
  assert.equal(await window.composer().inputValue(), "Kept");
  await window.screenshot("41 composer refused");
  await window.composer().fill("");
});

step("attachments of a draft and of the conversation are there after a reload", async () => {
  await window.page.evaluate((text) => navigator.clipboard.writeText(text), LINES);
  await window.composer().click();
  await keys().press("Control+v");
  await chip("Pasted text (60 lines)").waitFor();
  await give("paste", [{ name: "later.png", base64: LARGER }]);
  await chip("later.png").waitFor();
  await window.stored(DRAFTS, "later.png");
  await window.reload();
  await chip("Pasted text (60 lines)").waitFor({ timeout: 60 * SECOND });
  await chip("later.png").waitFor();
  await window.article("What went wrong?").locator(".chip", { hasText: "shot.png" }).waitFor();
  await window.composer().click();
  await keys().type("And this?");
  await keys().press("Enter");
  const request = await model.next();
  assert.ok(said(request).includes(`data:image/png;base64,${LARGER}`), "the image of the draft is sent");
  assert.ok(said(request).includes(JSON.stringify(LINES).slice(1, -1)));
  await request.say("Larger than before.");
  await window.article("Larger than before.").waitFor();
});

step("a message that is edited and sent again takes its attachments along", async () => {
  await window.article("What went wrong?").focus();
  await keys().press("Enter");
  await chip("shot.png").waitFor();
  await chip("Pasted text (60 lines)").waitFor();
  await window.screenshot("41b composer resend with attachments");
  assert.equal(await window.composer().inputValue(), "What went wrong?");
  await window.composer().press("Enter");
  const request = await model.next();
  assert.ok(said(request).includes(`data:image/png;base64,${PIXEL}`));
  assert.ok(said(request).includes(JSON.stringify(LINES).slice(1, -1)));
  await request.say("Still part 59.");
  await window.article("Still part 59.").waitFor();
});

step("at 240 pixels, and in a light theme, no chip is cut off", async () => {
  await window.theme("Light Modern");
  await window.sideBarWidth(240);
  await give("paste", [{ name: "a-screenshot-with-a-name-that-is-far-too-long-for-the-view.png", base64: PIXEL }]);
  await chip("a-screenshot").waitFor();
  await window.composer().click();
  await keys().type("See @");
  await option(/^Problems/).waitFor();
  await window.screenshot("42 composer narrow light");
  const width = await window.page
    .locator("iframe.webview")
    .first()
    .evaluate((frame) => frame.clientWidth);
  for (const box of await window
    .conversation()
    .locator(".composer .chip, .mention")
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right))) {
    assert.ok(box <= width, `${box} of ${width}`);
  }
  await keys().press("Escape");
  await option(/^Problems/).waitFor({ state: "hidden" });
  assert.equal(await window.composer().inputValue(), "See @", "Escape closes the list, and nothing else");
  await window.theme("Dark Modern");
  await window.composer().click();
  await keys().press("End");
  await keys().type(" and @c");
  await option("cart.mjs, src/cart.mjs").waitFor();
  await window.screenshot("43 composer narrow dark");
});
