// The conversation view: the user writes in it, reads the answer in it, and answers approvals in it.
// One editor and one window for all; each test goes on where the one before it ended.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";
import { DRAFTS, EDITORS } from "./window.mjs";

let window;
let view;
let model;
let workspace;
let requested;
const { step } = cairn({
  model: true,
  conversation: true,
  ready: (it) => {
    ({ window, workspace, model } = it);
    view = window.conversation();
    requested = new Set();
    window.page.on("request", (request) => requested.add(request.url()));
  },
});
const card = (text) => view.locator("[role=alertdialog]", { hasText: text });
const button = (name, within = view) => within.getByRole("button", { name, exact: true });
const said = ({ body }) =>
  body.messages.filter(({ role }) => role === "user").map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
const bash = (command) => ({ name: "bash", arguments: { command } });

const TRACEBACK = [
  "Traceback (most recent call last):",
  ...Array.from({ length: 58 }, (_, n) =>
    n % 2 === 0 ? `  File "src/app/part_${n}.py", line ${n + 1}, in <module>` : `\tvalue = compute(${n})  # ünï`,
  ),
  "ValueError: no value",
].join("\n");

step("a task from the palette opens the view and leaves the focus in the editor", async () => {
  await window
    .status()
    .first()
    .waitFor({ timeout: 60 * SECOND });
  await window.open("src/cart.mjs");
  await window.command("Agent: run task");
  await window.answer("New Task", "Is the cart thread safe?");
  const request = await model.next();
  await window.article("Is the cart thread safe?").waitFor();
  assert.equal(await window.page.locator(".monaco-editor.focused").count(), 1, "the editor keeps the focus");
  await request.say("It is **not**: see `src/cart.mjs:4`.");
  await window.article("It is not: see src/cart.mjs:4.").waitFor();
  await window.article("Done").waitFor();
  await window.screenshot("30 conversation answer");
});

step("a question is asked and its answer read in the view, by keyboard alone", async () => {
  await window.command("Cairn: Show Conversation");
  await window.composer().and(view.locator(":focus")).waitFor();
  await window.page.keyboard.type("And the prices?");
  await window.page.keyboard.press("Enter");
  const request = await model.next();
  await window.article("And the prices?").waitFor();
  assert.equal(await window.composer().inputValue(), "");
  assert.ok(said(request).at(-1).includes("And the prices?"));
  assert.ok(JSON.stringify(request.body).includes("cart.mjs"), "the active file is named");
  await request.say("They are constants.");
  await window.article("They are constants.").waitFor();
});

step("an answer is copied and a message edited and sent again, by keyboard alone", async () => {
  const { keyboard } = window.page;
  await window.article("Done").last().focus();
  await keyboard.press("Control+c");
  await until(
    async () => (await window.page.evaluate(() => navigator.clipboard.readText())) === "They are constants.",
    5 * SECOND,
    "the copied answer",
  );
  await window.article("And the prices?").first().focus();
  await keyboard.press("Tab");
  await button("Edit and Resend").and(view.locator(":focus")).waitFor();
  await window.screenshot("30b conversation item actions");
  await keyboard.press("Enter");
  await window.composer().and(view.locator(":focus")).waitFor();
  assert.equal(await window.composer().inputValue(), "And the prices?");
  await view.getByText("Sent as a new message.").waitFor();
  await window.screenshot("30c conversation resend");
  await keyboard.type(" In euros?");
  await keyboard.press("Enter");
  const request = await model.next();
  assert.ok(said(request).at(-1).includes("And the prices? In euros?"));
  const first = said(request).filter((text) => text.includes("And the prices?") && !text.includes("In euros?"));
  assert.equal(first.length, 1, "the first message stays");
  await request.say("In cents.");
  await window.article("In cents.").waitFor();
  await view.getByText("Sent as a new message.").waitFor({ state: "hidden" });
});

step("a path in an answer leads to its line", async () => {
  await view.locator("a", { hasText: "src/cart.mjs:4" }).click();
  await window.page.locator(".statusbar-item", { hasText: "Ln 4, Col 1" }).waitFor();
});

step("a traceback of sixty lines is pasted, seen and sent as it is", async () => {
  await window.page.evaluate((text) => navigator.clipboard.writeText(text), TRACEBACK);
  await window.composer().click();
  await window.page.keyboard.press("Control+v");
  await view.getByRole("button", { name: /^Pasted text \(60 lines\)/ }).waitFor();
  assert.equal(await window.composer().inputValue(), "", "it is a chip, until it is put into the box");
  await window.page.keyboard.press("Backspace");
  await window.page.keyboard.press("Enter");
  await until(async () => (await window.composer().inputValue()) === TRACEBACK, 5 * SECOND, "the pasted text");
  const [box, all] = [await window.composer().boundingBox(), await window.page.locator("iframe.webview").first().boundingBox()];
  assert.ok(box.height > 100 && box.height <= all.height * 0.41, `the box grows to 40 % of the view: ${box.height} of ${all.height}`);
  await window.screenshot("31 conversation traceback");
  await window.page.keyboard.press("Enter");
  const request = await model.next();
  assert.ok(said(request).at(-1).includes(TRACEBACK), "every character arrives");
  assert.equal(await window.article("Traceback").last().locator(".bubble").textContent(), TRACEBACK.replaceAll("\t", "\t"));
  await request.say("A value is missing.");
  await window.article("A value is missing.").waitFor();
});

step("Shift+Enter starts a line, and the arrow keys recall sent messages", async () => {
  await window.composer().click();
  await window.page.keyboard.type("one");
  await window.page.keyboard.press("Shift+Enter");
  await window.page.keyboard.type("two");
  assert.equal(await window.composer().inputValue(), "one\ntwo");
  await window.composer().fill("");
  await window.page.keyboard.press("ArrowUp");
  assert.equal(await window.composer().inputValue(), TRACEBACK);
  await window.page.keyboard.press("ArrowUp");
  assert.equal(await window.composer().inputValue(), "And the prices? In euros?");
  await window.page.keyboard.press("ArrowDown");
  await window.page.keyboard.press("ArrowDown");
  assert.equal(await window.composer().inputValue(), "");
});

step("Enter that ends a composition does not send", async () => {
  await window.composer().click();
  const devtools = await window.page.context().newCDPSession(window.page);
  await window.composer().evaluate((box) => {
    globalThis.composing = [];
    box.addEventListener("keydown", (event) => globalThis.composing.push([event.key, event.isComposing]));
  });
  await devtools.send("Input.imeSetComposition", { text: "nihao", selectionStart: 5, selectionEnd: 5 });
  await devtools.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "Process", code: "Enter", windowsVirtualKeyCode: 229 });
  await window.page.keyboard.press("Enter");
  assert.deepEqual((await window.composer().evaluate(() => globalThis.composing)).at(-1), ["Enter", true], "the key came while composing");
  await devtools.send("Input.insertText", { text: "你好" });
  assert.match(await window.composer().inputValue(), /你好/u);
  assert.equal(await window.article("nihao").or(window.article("你好")).count(), 0);
  await window.composer().fill("");
});

step("a running task shows its step, accepts a message, and queues follow-ups", async () => {
  await window.composer().fill("Round the prices");
  await window.page.keyboard.press("Enter");
  let request = await model.next();
  await view.locator(".strip", { hasText: "Working" }).waitFor();
  await view.getByPlaceholder("Message the running task · Alt+Enter queues").waitFor();
  await window.composer().fill("Then write a test");
  await window.page.keyboard.press("Alt+Enter");
  await view.locator(".queued", { hasText: "Then write a test" }).waitFor();
  await window.composer().fill("Only to the cent");
  await window.page.keyboard.press("Enter");
  await until(async () => (await window.composer().inputValue()) === "", 5 * SECOND, "the box is empty");
  await request.call({ name: "read_file", arguments: { path: "src/pricing.mjs" } }, { name: "grep", arguments: { pattern: "price" } });
  request = await model.next();
  await window.article(/Read 1 file, searched price \(\d+\)/u).waitFor();
  await window.article("Only to the cent").waitFor();
  await window.screenshot("32 conversation running");
  await button("Remove", view.locator(".queued")).click();
  await view.locator(".queued").waitFor({ state: "hidden" });
  await request.call({
    name: "edit_file",
    arguments: { path: "src/pricing.mjs", old_text: "/** Returns the", new_text: "// Prices in cents.\n/** Returns the" },
  });
  request = await model.next();
  await view.locator("[role=article][aria-label^='Edited src/pricing.mjs, 1 added, 0 removed, to review']").waitFor();
  await view.locator(".edits", { hasText: "1 edit in 1 file +1 −0" }).waitFor();
  await request.say("Done so.");
  await window.article("Done so.").waitFor();
});

step("a second approval is not given by the click that was meant for the first", async () => {
  await window.composer().fill("Clean up");
  await window.page.keyboard.press("Enter");
  await (await model.next()).call(bash("echo first > first.txt"), bash("echo second > second.txt"));
  await card("echo first > first.txt").waitFor();
  assert.equal(await window.notification("Run a command").count(), 0, "the view asks, and no notification");
  assert.equal(await view.locator("button:focus").count(), 0, "no button has the focus");
  const allow = button("Allow Once", card("echo first > first.txt"));
  await allow.and(view.locator(":not([aria-disabled])")).waitFor();
  await window.screenshot("33 conversation approval");
  // A second click of a quick hand, 400 ms after the next question came, in the page itself: it is exact.
  await view.locator("body").evaluate((body) => {
    new MutationObserver((_, observer) => {
      const next = [...body.querySelectorAll("[role=alertdialog]")].find((card) => card.textContent.includes("echo second > second.txt"));
      if (next !== undefined) {
        observer.disconnect();
        setTimeout(() => {
          next.querySelector("button.primary").click();
          body.dataset.clicked = "yes";
        }, 400);
      }
    }).observe(body, { subtree: true, childList: true });
  });
  await allow.click();
  await card("echo second > second.txt").waitFor();
  await view.locator("body[data-clicked=yes]").waitFor();
  await window.article("$ echo first > first.txt").filter({ hasText: "allowed once" }).waitFor();
  await card("echo second > second.txt").waitFor();
  await assert.rejects(readFile(join(workspace, "second.txt")), "nothing ran");
  assert.match(await readFile(join(workspace, "first.txt"), "utf8"), /first/);
});

step("a denial with feedback reaches the model", async () => {
  const second = card("echo second > second.txt");
  await button("Deny with a Message…", second).and(view.locator(":not([aria-disabled])")).waitFor();
  await button("Deny with a Message…", second).click();
  await second.getByLabel("Message to the agent: why not, or what instead").fill("One file is enough.");
  await button("Deny and Send", second).click();
  const request = await model.next();
  assert.ok(
    request.results.some((text) => text.includes("One file is enough.")),
    "the words are in the result",
  );
  await request.say("Then only one.");
  await window.article("Then only one.").waitFor();
});

step("a hostile answer loads no image, runs nothing and requests nothing", async () => {
  const before = new Set(requested);
  await window.composer().fill("Attack me");
  await window.page.keyboard.press("Enter");
  const attack = [
    "![pixel](https://evil.example/pixel.png) <img src=https://evil.example/x.png onerror=\"document.title='run'\">",
    "<script>document.title='run'</script><style>@import 'https://evil.example/s.css';</style>",
    "[quit](command:workbench.action.quit) [js](javascript:document.title='run') [out](../../etc/passwd)",
    "<iframe src=https://evil.example></iframe> [reversed\u202e](https://evil.example/a)",
    `${"- ".repeat(10)}deep`,
    "The end of the attack.",
  ].join("\n\n");
  await (await model.next()).say(attack);
  await window.article("The end of the attack.").waitFor();
  assert.equal(await view.locator(".log").locator("img, iframe, script, style, object, embed, form, svg").count(), 0);
  assert.notEqual(await view.locator("body").evaluate(() => document.title), "run");
  for (const words of ["quit", "js", "out"]) {
    await view.locator("a", { hasText: new RegExp(`^${words}$`) }).click();
  }
  await window.page.locator(".statusbar-item", { hasText: "Not found in the workspace: ../../etc/passwd" }).waitFor();
  await view.locator("a", { hasText: "Image: pixel" }).click();
  const dialog = window.page.locator(".monaco-dialog-box", { hasText: "https://evil.example/pixel.png" });
  await dialog.waitFor();
  await window.button("Cancel", dialog).click();
  await dialog.waitFor({ state: "hidden" });
  const asked = [...requested].filter((url) => !before.has(url) && url.includes("evil.example"));
  assert.deepEqual(asked, [], "no request");
});

step("a failed task shows the reason, and can be tried again", async () => {
  await window.composer().fill("Fail once");
  await window.page.keyboard.press("Enter");
  const request = await model.next();
  request.response.writeHead(401, { "content-type": "application/json" });
  request.response.end(JSON.stringify({ error: { message: "Incorrect API key." } }));
  const failed = window.article("Failed").last();
  await failed.filter({ hasText: "Incorrect API key" }).waitFor();
  await window.screenshot("34 conversation failed");
  await button("Try Again", failed).click();
  await (await model.next()).say("This time it worked.");
  await window.article("This time it worked.").waitFor();
});

step("in a narrow side bar and in each theme no button is cut", async () => {
  await window.composer().fill("Fail again");
  await window.page.keyboard.press("Enter");
  const request = await model.next();
  request.response.writeHead(401, { "content-type": "application/json" });
  request.response.end(JSON.stringify({ error: { message: "Incorrect API key." } }));
  await button("Try Again", window.article("Failed").last()).waitFor();
  await window.command("Notifications: Clear All Notifications");
  assert.equal(await button("Try Again").count(), 1, "only the newest end offers what can be done");
  await window.sideBarWidth(240);
  await until(async () => (await window.page.locator("iframe.webview").first().boundingBox()).width <= 250, 5 * SECOND, "the width");
  for (const theme of ["Dark Modern", "Light Modern", "Dark High Contrast", "Light High Contrast"]) {
    await window.theme(theme);
    const cut = await view.locator("body").evaluate((body) =>
      [...body.querySelectorAll("button, a, textarea")]
        .filter((element) => element.checkVisibility())
        .filter((element) => element.getBoundingClientRect().right > innerWidth || element.getBoundingClientRect().left < 0)
        .map((element) => element.textContent),
    );
    assert.deepEqual(cut, [], theme);
    assert.ok((await view.locator("body").evaluate((body) => body.scrollWidth - innerWidth)) <= 0, "nothing is wider than the view");
    await window.screenshot(`36 conversation ${theme}`);
  }
  await window.theme("Dark Modern");
  await window.sideBarWidth(300);
});

step("a reload in the middle of an answer keeps the conversation and the draft", async () => {
  await window.composer().fill("Tell me a long story");
  await window.page.keyboard.press("Enter");
  const request = await model.next();
  request.begin(request.eventsOfWords("Once upon a time, ", "there was a cart."));
  await window.article("there was a cart.").waitFor();
  await window.composer().fill("a half-written repl");
  await window.stored(DRAFTS, "a half-written repl");
  await window.reload();
  await window.article("Tell me a long story").waitFor({ timeout: 60 * SECOND });
  await until(async () => (await window.composer().inputValue()) === "a half-written repl", 10 * SECOND, "the draft");
  await window.screenshot("35 conversation reloaded");
  await window.composer().fill("");
});

step("the conversation moves into a tab among the editors, with its draft, and back", async () => {
  const tab = window.page.locator(".tab", { hasText: /Tell me a long story|Is it a wide page/ });
  const viewHeader = window.page.locator('.pane-header[aria-label^="Conversation"]');
  await window.composer().fill("Is it a wide");
  await window.command("Cairn: Open Conversation in Editor");
  await tab.waitFor();
  await viewHeader.waitFor({ state: "detached" });
  await window.composer().and(view.locator(":focus")).waitFor();
  assert.equal(await window.composer().inputValue(), "Is it a wide", "the draft came along");
  await window.page.keyboard.type(" page?");
  await window.page.keyboard.press("Enter");
  await (await model.next()).say("The page has its **own** column.");
  await window.article("The page has its own column.").waitFor();
  await view.locator("body[data-place=tab]").waitFor();
  await window.screenshot("37 conversation in a tab");

  await window.composer().fill("kept in the tab");
  await window.stored(DRAFTS, "kept in the tab");
  await window.stored(EDITORS, "cairn.conversation");
  await window.reload();
  await tab.waitFor({ timeout: 60 * SECOND });
  await window.article("The page has its own column.").waitFor({ timeout: 60 * SECOND });
  await until(async () => (await window.composer().inputValue()) === "kept in the tab", 10 * SECOND, "the draft");
  await viewHeader.waitFor({ state: "detached" });

  await window.open("src/cart.mjs");
  await window.page.keyboard.press("Control+Alt+a");
  await window.composer().and(view.locator(":focus")).waitFor();
  await window.page.keyboard.press("Control+Alt+a");
  await window.page.locator('.tab.active[data-resource-name="cart.mjs"]').waitFor();
  await window.page.locator(".monaco-editor.focused").waitFor();

  await window.page.keyboard.press("Control+Alt+a");
  await window.composer().and(view.locator(":focus")).waitFor();
  await window.command("View: Close Editor");
  await tab.waitFor({ state: "detached" });
  await viewHeader.waitFor();
  await window.article("The page has its own column.").waitFor();
  assert.equal(await window.composer().inputValue(), "kept in the tab", "the draft came back");
  await window.composer().fill("");
});

step("the text form is still there", async () => {
  await window.command("Cairn: Open Conversation as Text");
  await window.page.locator(".view-line", { hasText: "❯ Tell me a long story" }).waitFor();
});
