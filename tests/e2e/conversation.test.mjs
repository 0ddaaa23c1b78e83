// The conversation view: the user writes in it, reads the answer in it, and answers approvals in it.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, model, now, scene, send, state, step, setTheme, task, view, window, workspace } from "./harness.mjs";
import { cursor, nothingCut, noTab, said as saidByStatus, tab, text as textInFront } from "./look.mjs";
import { editFile } from "./model.mjs";
import { DRAFTS, EDITORS } from "./window.mjs";

const card = (text) => view.locator("[role=alertdialog]", { hasText: text });
const button = (name, within = view) => within.getByRole("button", { name, exact: true });
const said = ({ body }) =>
  body.messages.filter(({ role }) => role === "user").map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
const bash = (command) => ({ name: "bash", arguments: { command } });
const key = (name) => window.page.keyboard.press(name);
const focused = (locator) => locator.and(view.locator(":focus"));
const draft = (text) => until(async () => (await window.composer().inputValue()) === text, 20 * SECOND, `the draft ${text}`);

const TRACEBACK = [
  "Traceback (most recent call last):",
  ...Array.from({ length: 58 }, (_, n) =>
    n % 2 === 0 ? `  File "src/app/part_${n}.py", line ${n + 1}, in <module>` : `\tvalue = compute(${n})  # ünï`,
  ),
  "ValueError: no value",
].join("\n");

scene("writing and reading", { model: true }, () => {
  step("a task from the palette opens the composer, which keeps the focus", async () => {
    await window.open("src/cart.mjs");
    const request = await task("Is the cart thread safe?");
    await window.article("Is the cart thread safe?").waitFor();
    await view.locator("textarea:focus").waitFor();
    await request.say("It is **not**: see `src/cart.mjs:4`.");
    await window.article("It is not: see src/cart.mjs:4.").waitFor();
    await window.article("Done").waitFor();
    await window.screenshot("30 conversation answer");
    await view.locator("a", { hasText: "src/cart.mjs:4" }).click();
    await cursor("src/cart.mjs", 4);
  });

  step("a question is asked and its answer read and copied in the view, by keyboard alone", async () => {
    await key("Control+Alt+a");
    await focused(window.composer()).waitFor();
    await window.page.keyboard.type("And the prices?");
    await key("Enter");
    const request = await model.next();
    await window.article("And the prices?").waitFor();
    await draft("");
    assert.ok(said(request).at(-1).includes("And the prices?"));
    assert.ok(JSON.stringify(request.body).includes("cart.mjs"), "the active file is named");
    await request.say("They are constants.");
    await window.article("They are constants.").waitFor();
    await window.article("Done").last().focus();
    await key("Control+c");
    await until(async () => (await window.clipboard()) === "They are constants.", 5 * SECOND, "the copied answer");
  });

  step("a message is edited and sent again, by keyboard alone", async () => {
    await window.article("And the prices?").first().focus();
    await key("Tab");
    await focused(button("Edit and Resend")).waitFor();
    await window.screenshot("30b conversation item actions");
    await key("Enter");
    await focused(window.composer()).waitFor();
    await draft("And the prices?");
    await view.getByText("Sent as a new message.").waitFor();
    await window.screenshot("30c conversation resend");
    await window.page.keyboard.type(" In euros?");
    await key("Enter");
    const request = await model.next();
    assert.ok(said(request).at(-1).includes("And the prices? In euros?"));
    const first = said(request).filter((text) => text.includes("And the prices?") && !text.includes("In euros?"));
    assert.equal(first.length, 1, "the first message stays");
    await request.say("In cents.");
    await window.article("In cents.").waitFor();
    await view.getByText("Sent as a new message.").waitFor({ state: "hidden" });
  });

  step("a traceback of sixty lines is pasted, seen and sent as it is, and the arrow keys recall it", async () => {
    await window.copy(TRACEBACK);
    await window.composer().click();
    await key("Control+v");
    await view.getByRole("button", { name: /^Pasted text \(60 lines\)/ }).waitFor();
    await draft("");
    await key("Backspace");
    await key("Enter");
    await draft(TRACEBACK);
    await window.screenshot("31 conversation traceback");
    await key("Enter");
    const request = await model.next();
    assert.ok(said(request).at(-1).includes(TRACEBACK), "every character arrives");
    assert.equal(await window.article("Traceback").last().locator(".bubble").textContent(), TRACEBACK);
    await request.say("A value is missing.");
    await window.article("A value is missing.").waitFor();
    await window.composer().click();
    await window.page.keyboard.type("one");
    await key("Shift+Enter");
    await window.page.keyboard.type("two");
    await draft("one\ntwo");
    await window.composer().fill("");
    await key("ArrowUp");
    await draft(TRACEBACK);
    await key("ArrowUp");
    await draft("And the prices? In euros?");
    await key("ArrowDown");
    await key("ArrowDown");
    await draft("");
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
    await key("Enter");
    assert.deepEqual((await window.composer().evaluate(() => globalThis.composing)).at(-1), ["Enter", true], "the key came while composing");
    await devtools.send("Input.insertText", { text: "你好" });
    assert.match(await window.composer().inputValue(), /你好/u);
    assert.equal(await window.article("nihao").or(window.article("你好")).count(), 0);
  });
});

scene("a task in the conversation", { model: true, conversation: "shown" }, () => {
  step("a running task shows its step, accepts a message, and queues follow-ups", async () => {
    let request = await send("Round the prices");
    await view.locator(".strip", { hasText: "Working" }).waitFor();
    await view.getByPlaceholder("Message the running task · Alt+Enter queues").waitFor();
    await window.composer().fill("Then write a test");
    await key("Alt+Enter");
    await view.locator(".queued", { hasText: "Then write a test" }).waitFor();
    await window.composer().fill("Only to the cent");
    await key("Enter");
    await draft("");
    await window.article("Only to the cent").filter({ hasText: "not read yet" }).waitFor();
    await window.screenshot("31 words not read");
    await request.call({ name: "read_file", arguments: { path: "src/pricing.mjs" } }, { name: "grep", arguments: { pattern: "price" } });
    request = await model.next();
    await window.article(/Read 1 file, searched price \(\d+\)/u).waitFor();
    await view.locator("[role=article]:has-text('Read 1 file') ~ [role=article]:has-text('Only to the cent')", { hasText: /read \d/u }).waitFor();
    await window.screenshot("32 conversation running");
    await button("Remove", view.locator(".queued")).click();
    await view.locator(".queued").waitFor({ state: "hidden" });
    await request.call(editFile("src/pricing.mjs", "/** Returns the", "// Prices in cents.\n/** Returns the"));
    request = await model.next();
    await view.locator("[role=article][aria-label^='Edited src/pricing.mjs, 1 added, 0 removed, to review']").waitFor();
    await view.locator(".edits", { hasText: "1 edit in 1 file +1 −0" }).waitFor();
    await request.say("Done so.");
    await window.article("Done so.").waitFor();
  });

  step("a second approval is not given by the click that was meant for the first", async () => {
    await (await send("Clean up")).call(bash("echo first > first.txt"), bash("echo second > second.txt"));
    await card("echo first > first.txt").waitFor();
    assert.ok(!now().messages.some(({ text }) => text.includes("Run a command")), "the view asks, and no message");
    assert.equal(await view.locator("button:focus").count(), 0, "no button has the focus");
    const allow = button("Allow Once", card("echo first > first.txt"));
    await allow.and(view.locator(":not([aria-disabled])")).waitFor();
    await window.screenshot("33 conversation approval");
    // The second click of a quick hand, as soon as the next question is there, in the page itself.
    await view.locator("body").evaluate((body) => {
      new MutationObserver((_, observer) => {
        const next = [...body.querySelectorAll("[role=alertdialog]")].find((card) => card.textContent.includes("echo second > second.txt"));
        if (next !== undefined) {
          observer.disconnect();
          next.querySelector("button.primary").click();
          body.dataset.clicked = "yes";
        }
      }).observe(body, { subtree: true, childList: true });
    });
    await allow.click();
    await view.locator("body[data-clicked=yes]").waitFor();
    await window.article("$ echo first > first.txt").filter({ hasText: "allowed once" }).waitFor();
    await card("echo second > second.txt").waitFor();
    await assert.rejects(readFile(join(workspace, "second.txt")), "nothing ran");
    assert.match(await readFile(join(workspace, "first.txt"), "utf8"), /first/);
  });

  step("a denial with feedback reaches the model", async () => {
    const second = card("echo second > second.txt");
    await button("Deny with a Message…", second).and(view.locator(":not([aria-disabled])")).click();
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
    const requested = [];
    window.page.on("request", (request) => requested.push(request.url()));
    const attack = [
      "![pixel](https://evil.example/pixel.png) <img src=https://evil.example/x.png onerror=\"document.title='run'\">",
      "<script>document.title='run'</script><style>@import 'https://evil.example/s.css';</style>",
      "[quit](command:workbench.action.quit) [js](javascript:document.title='run') [out](../../etc/passwd)",
      "<iframe src=https://evil.example></iframe> [reversed\u202e](https://evil.example/a)",
      `${"- ".repeat(10)}deep`,
      "The end of the attack.",
    ].join("\n\n");
    await (await send("Attack me")).say(attack);
    await window.article("The end of the attack.").waitFor();
    assert.equal(await view.locator(".log").locator("img, iframe, script, style, object, embed, form, svg").count(), 0);
    assert.notEqual(await view.locator("body").evaluate(() => document.title), "run");
    for (const words of ["quit", "js", "out"]) {
      await view.locator("a", { hasText: new RegExp(`^${words}$`) }).click();
    }
    await saidByStatus("Not found in the workspace: ../../etc/passwd");
    await view.locator("a", { hasText: "Image: pixel" }).click();
    const dialog = window.dialog("https://evil.example/pixel.png");
    await dialog.waitFor();
    await window.button("Cancel", dialog).click();
    await dialog.waitFor({ state: "hidden" });
    assert.deepEqual(
      requested.filter((url) => url.includes("evil.example")),
      [],
      "no request",
    );
  });

  step("a failed task shows the reason, and can be tried again", async () => {
    (await send("Fail once")).refuse("Incorrect API key.");
    const failed = window.article("Failed").last();
    await failed.filter({ hasText: "Incorrect API key" }).waitFor();
    await window.screenshot("34 conversation failed");
    await button("Try Again", failed).click();
    await (await model.next()).say("This time it worked.");
    await window.article("This time it worked.").waitFor();
    (await send("Fail again")).refuse("Incorrect API key.");
    await button("Try Again", window.article("Failed").last()).waitFor();
    assert.equal(await button("Try Again").count(), 1, "only the newest end offers what can be done");
    await window.sideBarWidth(240);
    for (const theme of ["Dark Modern", "Light Modern", "Dark High Contrast", "Light High Contrast"]) {
      await setTheme(theme);
      await nothingCut(view, theme);
      await window.screenshot(`36 conversation ${theme}`);
    }
  });
});

scene("the conversation in a view, after a reload, and in a tab", { model: true, conversation: "shown" }, () => {
  const header = () => window.viewHeader("Conversation");

  step("a reload in the middle of an answer keeps the conversation and the draft", async () => {
    const request = await send("Tell me a long story");
    request.begin(request.eventsOfWords("Once upon a time, ", "there was a cart."));
    await window.article("there was a cart.").waitFor();
    await window.composer().fill("a half-written repl");
    await window.stored(DRAFTS, "a half-written repl");
    await window.reload();
    // VS Code may have forgotten which views were in sight.
    await window.showConversation();
    await window.article("Tell me a long story").waitFor();
    await draft("a half-written repl");
    await window.screenshot("35 conversation reloaded");
    await window.command("Cairn: Open Conversation as Text");
    await textInFront("❯ Tell me a long story");
    await window.closeEditors();
  });

  step("the conversation moves into a tab among the editors, with its draft", async () => {
    await window.composer().fill("Is it a wide");
    await window.command("Cairn: Open Conversation in Editor");
    await tab("Tell me a long story", { isActive: true });
    await header().waitFor({ state: "detached" });
    await focused(window.composer()).waitFor();
    await draft("Is it a wide");
    await window.page.keyboard.type(" page?");
    await key("Enter");
    await (await model.next()).say("The page has its **own** column.");
    await window.article("The page has its own column.").waitFor();
    await view.locator("body[data-place=tab]").waitFor();
    await window.screenshot("37 conversation in a tab");
  });

  step("the tab is there after a reload", async () => {
    await window.composer().fill("kept in the tab");
    await window.stored(DRAFTS, "kept in the tab");
    await window.stored(EDITORS, "cairn.conversation");
    await window.reload();
    await window.article("The page has its own column.").waitFor();
    await draft("kept in the tab");
    await header().waitFor({ state: "detached" });
  });

  step("one key leads into the tab and back", async () => {
    await window.open("src/cart.mjs");
    await key("Control+Alt+a");
    await focused(window.composer()).waitFor();
    await key("Control+Alt+a");
    await tab("cart.mjs", { isActive: true });
    await window.focusedEditor().waitFor();
  });

  step("a tab that is closed goes back into the view", async () => {
    await key("Control+Alt+a");
    await focused(window.composer()).waitFor();
    await window.command("View: Close Editor");
    await noTab(/long story|wide page/u);
    await header().waitFor();
    await window.article("The page has its own column.").waitFor();
    await draft("kept in the tab");
    await state(({ turn }) => turn.phase.kind === "ended", "the end of the task");
  });
});
