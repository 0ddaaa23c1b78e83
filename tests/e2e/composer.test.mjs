// The composer: what can be attached to a message, and drafts that come from elsewhere.

import assert from "node:assert/strict";

import { tryUntil, until } from "./editor.mjs";
import { SECOND, model, scene, state, step, setTheme, view, window } from "./harness.mjs";
import { asked, nothingCut, press, status, text, unasked } from "./look.mjs";
import { DRAFTS } from "./window.mjs";

const chip = (name) => view.locator(".composer [data-chip]", { hasText: name });
const added = () => view.locator(".composer .chip.added");
const option = (name) => view.getByRole("option", { name });
const said = ({ body }) => JSON.stringify(body.messages.filter(({ role }) => role === "user").at(-1).content);
const key = (name) => window.page.keyboard.press(name);
const type = (words) => window.page.keyboard.type(words);
const focused = (locator) => locator.and(view.locator(":focus"));
const draft = (words) => until(async () => (await window.composer().inputValue()) === words, 20 * SECOND, `the draft ${words}`);

const LINES = Array.from({ length: 60 }, (_, n) => `  File "src/part_${n}.py", line ${n + 1}`).join("\n");
/** PNG of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** The same, followed by bytes that no reader needs: larger than what the editor keeps in memory. */
const LARGER = Buffer.concat([Buffer.from(PIXEL, "base64"), Buffer.alloc(30_000)]).toString("base64");

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

/** Sends the text of the box; returns the request. */
async function send(words) {
  if (words !== undefined) {
    await window.composer().click();
    await type(words);
  }
  await window.composer().press("Enter");
  return await model.next();
}

async function answer(request, words) {
  await request.say(words);
  await window.article(words).waitFor();
}

/** Pastes the long text and an image. */
async function pasteBoth(image, base64) {
  await window.copy(LINES);
  await window.composer().click();
  await key("Control+v");
  await chip("Pasted text (60 lines)").waitFor();
  await give("paste", [{ name: image, base64 }]);
  await chip(image).waitFor();
}

scene("attachments of a message", { model: true, conversation: "shown" }, () => {
  step("the active file is a chip that one key leaves out", async () => {
    await window.open("src/cart.mjs");
    await key("Control+Alt+a");
    await chip("cart.mjs").waitFor();
    await focused(window.composer()).waitFor();
    await key("Backspace");
    await focused(chip("cart.mjs")).waitFor();
    await key("Delete");
    await view.locator('.chip[aria-pressed="false"]').waitFor();
    await key("Escape");
    await focused(window.composer()).waitFor();
    const request = await send("Is it on?");
    assert.ok(!said(request).includes("Open in the active editor"), said(request));
    await answer(request, "No file came along.");
  });

  step("a mention finds a file by a few letters, and attaches it", async () => {
    await window.composer().click();
    await type("Round the sums of @prc");
    await option("pricing.mjs, src/pricing.mjs").waitFor();
    await window.screenshot("38 composer mention");
    await key("Enter");
    await draft("Round the sums of @pricing.mjs ");
    await chip("src/pricing.mjs").waitFor();
    const request = await send();
    assert.ok(said(request).includes("[cairn] attached file src/pricing.mjs"), said(request));
    await answer(request, "They are rounded.");
    await window.article("Round the sums").locator(".chip", { hasText: "src/pricing.mjs" }).waitFor();
  });

  step("a long paste and an image become chips, and reach the model; a file that is not an image is refused with a reason", async () => {
    await window.composer().fill("Kept");
    await give("drop", [{ name: "evil.png", base64: btoa("<svg onload=alert(1)>") }]);
    await view.getByRole("alert").filter({ hasText: "evil.png is not a PNG, JPEG, WebP or GIF image" }).waitFor();
    await window.composer().evaluate((box) => {
      const data = new DataTransfer();
      data.setData("text/plain", "x".repeat(10_000_000));
      box.dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData: data }));
    });
    await view.getByRole("alert").filter({ hasText: "The pasted text has 10,000,000 characters" }).waitFor();
    await draft("Kept");
    await window.screenshot("41 composer refused");
    await window.composer().fill("");
    await pasteBoth("shot.png", PIXEL);
    await window.screenshot("39 composer chips");
    const request = await send("What went wrong?");
    assert.ok(said(request).includes(JSON.stringify(LINES).slice(1, -1)), said(request));
    assert.ok(said(request).includes(`data:image/png;base64,${PIXEL}`));
    await answer(request, "Part 59 failed.");
    await window.article("What went wrong?").locator(".chip", { hasText: "shot.png" }).waitFor();
    // The chips go with the message.
    await added().first().waitFor({ state: "detached" });
    await window.screenshot("40 composer sent chips");
  });

  step("attachments of a draft and of the conversation are there after a reload, and again in a message sent once more", async () => {
    await pasteBoth("later.png", LARGER);
    await window.stored(DRAFTS, "later.png");
    await window.reload();
    // VS Code may have forgotten which views were in sight.
    await window.showConversation();
    await chip("Pasted text (60 lines)").waitFor({ timeout: 60 * SECOND });
    await chip("later.png").waitFor();
    await window.article("What went wrong?").locator(".chip", { hasText: "shot.png" }).waitFor();
    let request = await send("And this?");
    assert.ok(said(request).includes(`data:image/png;base64,${LARGER}`), "the image of the draft is sent");
    assert.ok(said(request).includes(JSON.stringify(LINES).slice(1, -1)));
    await answer(request, "Larger than before.");
    await window.article("What went wrong?").focus();
    await key("Enter");
    await chip("shot.png").waitFor();
    await chip("Pasted text (60 lines)").waitFor();
    await window.screenshot("41b composer resend with attachments");
    await draft("What went wrong?");
    request = await send();
    assert.ok(said(request).includes(`data:image/png;base64,${PIXEL}`));
    assert.ok(said(request).includes(JSON.stringify(LINES).slice(1, -1)));
    await answer(request, "Still part 59.");
  });

  step("at 240 pixels, and in a light theme, no chip is cut off", async () => {
    await setTheme("Light Modern");
    await window.sideBarWidth(240);
    await give("paste", [{ name: "a-screenshot-with-a-name-that-is-far-too-long-for-the-view.png", base64: PIXEL }]);
    await chip("a-screenshot").waitFor();
    await window.composer().click();
    await type("See @");
    await option(/^Problems/).waitFor();
    await window.screenshot("42 composer narrow light");
    await nothingCut(view, "chips");
    await window.composer().press("Escape");
    await option(/^Problems/).waitFor({ state: "hidden" });
    // Escape closes the list, and nothing else.
    await draft("See @");
    await setTheme("Dark Modern");
    await window.composer().click();
    await key("End");
    await type(" and @c");
    await option("cart.mjs, src/cart.mjs").waitFor();
    await window.screenshot("43 composer narrow dark");
  });
});

/** Empties the composer. */
async function clear() {
  await window.composer().fill("");
  await tryUntil(
    async () => (await added().count()) > 0 && added().first().locator(".chip-remove").click({ timeout: SECOND }),
    async () => (await added().count()) === 0,
    "no chip",
  );
}

// Drawn as text that a test can read.
const prepare = () => ({ "terminal.integrated.gpuAcceleration": "off" });

scene("drafts from menus, editors, and terminals", { model: true, conversation: "shown", prepare }, () => {
  step("a step of the plan is mentioned by its number or its words", async () => {
    const todo = (content, status) => ({ content, activeForm: content, status });
    const plan = { name: "TodoWrite", arguments: { todos: [todo("Round the sums", "completed"), todo("Tell the shop", "pending")] } };
    await (await send("Make a plan")).call(plan);
    await answer(await model.next(), "A plan of two steps.");
    await state(({ plan }) => plan?.items.length === 2, "the plan");
    await window.composer().click();
    await type("Why @shop");
    await option("Step 2, Tell the shop").waitFor();
    await window.screenshot("40a composer mention of a step");
    await option("Step 2, Tell the shop").click();
    await chip("Step 2").waitFor();
    await draft("Why @Step 2 ");
    const request = await send();
    assert.ok(said(request).includes("[cairn] attached text Step 2, 1 line:"), said(request));
    assert.ok(said(request).includes("Tell the shop"));
    await answer(request, "It asked.");
  });

  step("a text of several lines moves into an editor, and is sent from there to the same session", async () => {
    await window.composer().click();
    await type("First line");
    await key("Shift+Enter");
    await type("second line");
    await view.getByRole("button", { name: "Write in an Editor" }).waitFor();
    await window.screenshot("40b composer two lines");
    await key("Control+Shift+Enter");
    await text("second line");
    await draft("");
    await window.focusedEditor().waitFor();
    await type(", and more");
    await text("second line, and more");
    await key("Control+Enter");
    const request = await model.next();
    assert.ok(said(request).includes("First line\\nsecond line, and more"), said(request));
    assert.ok(JSON.stringify(request.body.messages).includes("It asked."), "the session goes on");
    await answer(request, "Both lines came.");
  });

  step("menus of the editor and the Explorer open the composer with a draft and what they are about", async () => {
    await window.open("src/cart.mjs");
    await window.goTo(4);
    await key("Shift+ArrowDown");
    await key("Shift+ArrowDown");
    await state(({ editor }) => editor.selected > 0, "a selection");
    await window.editorMenu("let sum = 0", "Cairn", "Write Tests");
    await draft("Write tests for src/cart.mjs:4–5.");
    await chip("src/cart.mjs:4–5").waitFor();
    assert.equal(await view.locator(".composer [data-chip]").count(), 1, "the selection is there once");
    await window.screenshot("45 draft from the editor");
    await window.command("View: Show Explorer");
    await window.menu(window.explorerRow("src").first(), "Task with This Folder");
    await added()
      .filter({ hasText: /^\s*src\s*$/ })
      .waitFor();
    await chip("src/cart.mjs:4–5").waitFor();
    await draft("Write tests for src/cart.mjs:4–5.");
    await focused(window.composer()).waitFor();
    await clear();
  });

  step("a problem of the editor is a draft, and nothing is sent", async () => {
    await window.open("package.json");
    await window.goTo(1);
    await type("x");
    await (await window.codeAction("Fix with Cairn")).click();
    await until(
      async () => /^Fix (this problem|these problems) in package.json:1/u.test(await window.composer().inputValue()),
      20 * SECOND,
      "the problem in the composer",
    );
    await window.screenshot("47 draft about a problem");
    assert.equal(await window.article("Fix this problem").count(), 0, "nothing was sent");
    await window.command("File: Revert File");
    await clear();
  });

  step("the selection of a terminal is attached, and the clipboard has its text again", async () => {
    await window.command("Terminal: Create New Terminal");
    await window.typeInTerminal("echo out of stock");
    // Once as typed, and once as printed.
    await window
      .terminal()
      .filter({ hasText: /out of stock.*out of stock/su })
      .waitFor();
    await window.command("Terminal: Select All");
    await window.copy("mine");
    await window.command("Cairn: Task with Terminal Selection");
    await chip("Terminal selection").waitFor();
    assert.equal(await window.clipboard(), "mine");
    await window.screenshot("48 draft from the terminal");
    await window.composer().click();
    await type("@Term");
    await option("Terminal, selected text of the terminal").waitFor();
    await key("Enter");
    await until(async () => (await chip("Terminal selection").count()) === 2, 10 * SECOND, "the selection once more, by a mention");
    assert.equal(await window.clipboard(), "mine");
    await clear();
    await view.getByRole("button", { name: "Back to the Conversation" }).click();
    await window.article("Both lines came.").waitFor();
    await unasked();
  });
});
