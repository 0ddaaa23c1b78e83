// A window of the editor as a person uses it: keys, clicks, and what can be seen. Knows VS Code's page and
// where Cairn's parts are in it. Every wait is for something visible.

import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { chromium, errors } from "playwright-core";
import WebSocket from "ws";

import { artifacts } from "../runner/verdict.mjs";
import { findChromium, freePort, tryUntil, until } from "./editor.mjs";

const SECOND = 1_000;
/** Longest time of an action that comes again if its state does not hold. */
const ONE_TRY = { timeout: 2 * SECOND };

/** Entries of VS Code's storage: the open tabs, and the state of the extension, which has the drafts. */
export const EDITORS = "memento/workbench.parts.editor";
export const DRAFTS = "cairn-agent.cairn";

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Chromium compiles a script while it loads even if its code cache has it: 0.7 s for each window.
  "--disable-features=ScriptStreaming",
  // No page lives long enough to repay what its optimized code costs to compile: 6 % of the CPU time of a window.
  "--js-flags=--no-opt --no-maglev",
];
/** A page of the editor's server without a window. */
const NO_WINDOW = "/healthz";
/** Parts of a window that stay in the browser, apart from the cache of VS Code's own files. */
const LEFT_BEHIND = "local_storage,indexeddb,cookies,file_systems";

/** A browser for several processes: VS Code's own files are loaded and compiled once for all their windows. */
export async function startBrowser() {
  const port = await freePort();
  const browser = await openBrowser([`--remote-debugging-port=${port}`]);
  return { address: `http://127.0.0.1:${port}`, close: () => browser.close() };
}

/**
 * A connection to a browser that was started with `startBrowser`, also by another process.
 *
 * Playwright's own connection compresses each message and reads those about the network, among them a copy of each
 * message between a window and its server: 12 % of the CPU time of a run.
 */
export async function connectBrowser(address) {
  const { webSocketDebuggerUrl } = await (await fetch(`${address}/json/version`)).json();
  const socket = new WebSocket(webSocketDebuggerUrl, { perMessageDeflate: false });
  await once(socket, "open");
  const transport = {
    send({ id, sessionId, method, ...rest }) {
      if (method === "Network.enable") {
        setImmediate(() => transport.onmessage({ id, sessionId, result: {} }));
      } else {
        socket.send(JSON.stringify({ id, sessionId, method, ...rest }));
      }
    },
    close: () => socket.close(),
  };
  socket.on("message", (message) => transport.onmessage(JSON.parse(message)));
  socket.on("close", () => transport.onclose?.());
  const browser = await chromium.connectOverCDP(transport);
  return { context: browser.contexts()[0], close: () => browser.close() };
}

/** A browser of this process. */
export async function openBrowser(further = []) {
  return await chromium.launch({ executablePath: await findChromium(), args: [...ARGUMENTS, ...further] });
}

/** Parts of VS Code's page, which its versions may name otherwise. */
const LIST = ".quick-input-widget:visible";
const ROW = ".quick-input-list .monaco-list-row";
const MENU = ".monaco-menu";
const CODE_ACTIONS = ".action-widget .monaco-list-row";
const SIDE_BAR = ".part.auxiliarybar";
const STATUS = ".statusbar-item";
const LENS = ".codelens-decoration";
const MESSAGE = ".notification-list-item";
const BUTTON = ".monaco-button";
const TITLE = `${LIST} .quick-input-title`;
const TERMINAL = ".terminal-wrapper.active";
const STEP = ".getting-started-step";
const LINE = ".editor-instance .view-line";
const FRAME = "iframe.webview";
const labelled = (title) => `.action-label[aria-label^="${title}"]`;
const headerOf = (view) => `.pane-header[aria-label^="${view}"]`;
const rowsOf = (view) => `.pane:has(${headerOf(view)}) [role=treeitem]`;

/**
 * Opens a window of the editor without the state of an earlier one. It reuses the earlier page, whose process has already
 * compiled VS Code's code.
 */
export async function openWindow(context, url, { width = 1280, height = 800 } = {}) {
  const { origin } = new URL(url);
  const [page = await context.newPage(), ...others] = context.pages();
  await Promise.all(others.map((other) => other.close()));
  await page.goto(origin + NO_WINDOW);
  page.setDefaultTimeout(20 * SECOND);
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  const devtools = await context.newCDPSession(page);
  await devtools.send("Storage.clearDataForOrigin", { origin, storageTypes: LEFT_BEHIND });
  await devtools.detach();
  const window = new Window(page, context);
  await window.load(() => page.goto(url));
  return window;
}

export class Window {
  constructor(page, context) {
    this.page = page;
    this.context = context;
  }

  /** Leaves the editor, which ends what it runs for this window. */
  async leave() {
    await Promise.all(this.context.pages().map((page) => page.goto(new URL(page.url()).origin + NO_WINDOW).catch(() => {})));
  }

  /** The page goes and comes again: extension and daemon with it. */
  async reload() {
    await this.load(() => this.page.reload());
  }

  async load(go) {
    await go();
    await this.page
      .locator(STATUS)
      .first()
      .waitFor({ timeout: 60 * SECOND });
  }

  /** Waits until VS Code has written a text into an entry of its storage: `EDITORS` or `DRAFTS`. A reload restores both. */
  async stored(key, text) {
    await until(() => this.page.evaluate(readStorage, { key, text }), 30 * SECOND, `VS Code to store ${text} in ${key}`);
  }

  /** Runs a command by its title, as the palette shows it. */
  async command(title) {
    const row = this.page.locator(`${ROW}:is([aria-label="${title}"], [aria-label^="${title},"])`).first();
    // A click on the row itself: Enter might run whatever else has the focus.
    await this.#pick("F1", `>${title}`, row, () => row.click(ONE_TRY));
  }

  /** Answers an input box that has this title, which closes it. */
  async answer(title, text) {
    const box = this.page.locator(TITLE, { hasText: title });
    const input = this.inputBox();
    const value = () => input.evaluateAll(([shown]) => shown?.value);
    const asks = async () => (await box.isVisible()) && (await value()) === text;
    await box.waitFor();
    await input.fill(text);
    await tryUntil(
      async () => (await asks()) && input.press("Enter"),
      async () => !(await asks()),
      `the answer to ${title}`,
    );
  }

  /** Picks an entry of the list that is open, which closes it or opens another. */
  async choose(label) {
    const row = this.page.locator(ROW, { hasText: label }).first();
    const isFocused = () => row.evaluate((element) => element.classList.contains("focused"), undefined, ONE_TRY);
    await row.waitFor();
    await tryUntil(
      async () => {
        // By keys: a hover of the box above the list may cover the row.
        for (let left = await this.page.locator(ROW).count(); left > 0 && !(await isFocused()); left -= 1) {
          await this.inputBox().press("ArrowDown", ONE_TRY);
        }
        if (await isFocused()) {
          await this.inputBox().press("Enter", ONE_TRY);
        }
      },
      async () => !(await row.isVisible()),
      `the choice of ${label}`,
    );
  }

  /** Runs a command by its title with the keyboard alone. */
  async runByKeys(title) {
    const row = this.page.locator(`${ROW}.focused:is([aria-label="${title}"], [aria-label^="${title},"])`);
    await this.#pick("F1", `>${title}`, row, () => this.page.keyboard.press("Enter"));
  }

  async open(path) {
    const name = path.split("/").at(-1);
    const row = this.page.locator(`${ROW}.focused[aria-label^="${name}"]`);
    await this.#pick("Control+p", path, row, () => this.page.keyboard.press("Enter"));
    await this.page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
    await this.focusEditor();
  }

  /** Puts the cursor into a line of the active editor. */
  async goTo(line) {
    // The row that names the line: the one before would lead to another line.
    const row = this.focusedRow(new RegExp(`line ${line}\\b`));
    await this.#pick("Control+g", `:${line}`, row, () => this.page.keyboard.press("Enter"));
    await this.focusedEditor().waitFor();
  }

  /**
   * Opens a list by a key, types into it and chooses a row. Once more if the list closes before that: VS Code
   * closes a list when something else takes the focus, such as a view that has just been drawn.
   */
  async #pick(key, text, row, choose) {
    const input = this.inputBox();
    await until(
      async () => {
        try {
          await this.page.keyboard.press(key);
          await input.waitFor(ONE_TRY);
          if (text.startsWith(">") && !(await input.inputValue(ONE_TRY)).startsWith(">")) {
            throw new errors.TimeoutError("Another input box is open, in place of the list of commands.");
          }
          // Not with the keyboard: an editor that takes the focus at this moment would get the text.
          await input.evaluate(enter, text);
          await row.waitFor(ONE_TRY);
          await choose();
          return true;
        } catch (error) {
          if (error instanceof errors.TimeoutError) {
            await this.page.keyboard.press("Escape");
            return false;
          }
          throw error;
        }
      },
      30 * SECOND,
      `the row for ${text}`,
    );
  }

  async save(name) {
    await this.page.keyboard.press("Control+s");
    await this.page.locator(`.tab.active[data-resource-name="${name}"]:not(.dirty)`).waitFor();
  }

  /** Rows of a view, by the words a screen reader says. */
  rows(view) {
    return this.page.locator(rowsOf(view));
  }

  row(view, spoken) {
    return this.page.locator(`${rowsOf(view)}[aria-label*="${spoken}"]`);
  }

  /** The row at a place in a list, from 0. */
  rowAt(view, place) {
    return this.rows(view).and(this.page.locator(`[data-index="${place}"]`));
  }

  /** A row whose children are shown, or hidden. */
  opened(row) {
    return row.and(this.page.locator('[aria-expanded="true"]'));
  }

  closed(row) {
    return row.and(this.page.locator('[aria-expanded="false"]'));
  }

  /** A row that is selected. */
  selected(row) {
    return row.and(this.page.locator('[aria-selected="true"]'));
  }

  /** A row that the keys concern. */
  focused(row) {
    return row.and(this.page.locator(".focused"));
  }

  /** Selects a row with a click, until it is selected: VS Code ignores a click on a row that it draws again. */
  async select(row) {
    await tryUntil(() => row.click(ONE_TRY), this.selected(row), "the selection of a row");
  }

  /** Removed text as VS Code shows it. */
  zone(text) {
    return this.page.locator(".review-widget", { hasText: text }).filter({ visible: true });
  }

  /** Words of code that have the color of their kind. */
  coloredCode(within) {
    return within.locator(".monaco-tokenized-source span[class^=mtk]");
  }

  /** The editor in which the cursor is. */
  focusedEditor() {
    return this.page.locator(".monaco-editor.focused");
  }

  /** Puts the focus into the editor: a list that is still closing takes the key. */
  async focusEditor() {
    await tryUntil(() => this.page.keyboard.press("Control+1"), this.focusedEditor(), "the focus in the editor");
  }

  /** The badge of Cairn's icon with this text. */
  badge(text) {
    return this.page.locator(`${SIDE_BAR} .action-item:has([aria-label^="Cairn"]) .badge-content`, { hasText: text });
  }

  explorerRows() {
    return this.page.locator(".explorer-folders-view [role=treeitem]");
  }

  explorerRow(name) {
    return this.explorerRows().and(this.page.locator(`[aria-label^="${name}"]`));
  }

  /** Clicks an item of the status bar. */
  async clickStatus(text) {
    await this.status().filter({ hasText: text }).first().click();
  }

  /** The row of an open list that Enter would choose. */
  focusedRow(text) {
    return this.page.locator(`${ROW}.focused`, { hasText: text });
  }

  /** One of the buttons of a row in an open list. */
  async listAction(text, title) {
    const row = this.page.locator(ROW, { hasText: text }).first();
    await row.hover();
    await row.locator(labelled(title)).click();
  }

  /** Chooses from the context menu of a row. */
  async menu(row, entry) {
    const item = this.menuEntry(entry);
    await this.#openMenu(row, item);
    // Not with a second click: VS Code takes one that comes soon for the end of the first.
    await item.hover();
    await item.and(this.page.locator(".focused")).waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(MENU).waitFor({ state: "hidden" });
  }

  /** Closes all editors. The list of commands is gone before the command is done. */
  async closeEditors() {
    await this.command("View: Close All Editors");
    await this.page.locator(".tab").first().waitFor({ state: "detached" });
  }

  /** The row of a code action at the cursor. The list is opened again until it has it: a provider may answer late. */
  async codeAction(label) {
    const row = this.page.locator(CODE_ACTIONS, { hasText: label });
    await tryUntil(
      async () => {
        if (await this.page.locator(CODE_ACTIONS).first().isVisible()) {
          await this.page.keyboard.press("Escape");
        }
        await this.page.keyboard.press("Control+.");
      },
      row,
      `the code action ${label}`,
    );
    return row;
  }

  /** The entries of the context menu of a row, which is closed again. */
  async menuEntries(row) {
    const labels = this.page.locator(`${MENU} .action-item:not(.disabled) .action-label:not(.separator)`);
    await this.#openMenu(row, labels);
    const entries = await labels.allInnerTexts();
    await this.page.keyboard.press("Escape");
    await this.page.locator(MENU).waitFor({ state: "hidden" });
    return entries;
  }

  /** Opens the context menu of a row until it has an entry: VS Code ignores a click on a row that it draws again. */
  async #openMenu(row, entry) {
    await tryUntil(
      async () => {
        if (await this.page.locator(MENU).first().isVisible()) {
          await this.page.keyboard.press("Escape");
        }
        await row.click({ button: "right", ...ONE_TRY });
      },
      entry,
      "the context menu of a row",
    );
  }

  /**
   * Clicks one of the buttons that a row shows under the pointer, until a state holds: VS Code ignores a click on a row
   * that it draws again, and Cairn one on a row that has just moved.
   *
   * @param {(() => Promise<unknown>) | import("playwright-core").Locator} [state]  else: the row no longer has the button
   */
  async rowAction(row, title, state) {
    const action = row.locator(labelled(title)).first();
    await action.waitFor({ state: "attached" });
    await tryUntil(
      async () => {
        await row.hover(ONE_TRY);
        await action.click(ONE_TRY);
      },
      state ?? (async () => (await action.count()) === 0),
      `the button ${title} of a row`,
    );
  }

  /** Clicks one of the buttons that the header of a view shows under the pointer, until a state holds. */
  async viewAction(view, title, state) {
    const header = this.viewHeader(view);
    await tryUntil(
      async () => {
        await header.hover(ONE_TRY);
        await header.locator(labelled(title)).click(ONE_TRY);
      },
      state,
      `${title} in the header of ${view}`,
    );
  }

  /** Clicks one of the buttons beside the tabs, until a state holds. */
  async editorAction(title, state) {
    const action = this.page.locator(`.editor-actions ${labelled(title)}`).first();
    await tryUntil(() => action.click(ONE_TRY), state, `${title} beside the tabs`);
  }

  /** Clicks a button of several rows in one moment, in the page itself: VS Code uses the elements of rows again. */
  async clickInRows(view, rows, title) {
    await this.page.evaluate(
      (buttons) => buttons.forEach((button) => document.querySelector(button).click()),
      rows.map((row) => `${rowsOf(view)}[aria-label*="${row}"] ${labelled(title)}`),
    );
  }

  /** Git's marks beside changed lines. */
  changedLines() {
    return this.page.locator(".dirty-diff-glyph");
  }

  /** Waits until the badge of a row has a text. */
  async decorated(row, words) {
    const badge = () =>
      row
        .locator(".monaco-icon-label")
        .first()
        .evaluate((label) => getComputedStyle(label, "::after").content);
    await until(async () => words.test(await badge()), 20 * SECOND, `the badge ${words}`);
  }

  /** A line in the editor of all edits. */
  allEditsLine(text) {
    return this.page.locator(".multiDiffEditor .view-line", { hasText: text }).last();
  }

  /** The entries of the open list of code actions. */
  codeActions() {
    return this.page.locator(CODE_ACTIONS).allInnerTexts();
  }

  /** Watches which tabs come to the front and what takes the focus from the beginning of an action on. */
  async watchFocus(action) {
    await action();
    await this.focusedEditor().waitFor();
    await this.page.evaluate(() => {
      const active = () => document.querySelector(".tab.active")?.dataset.resourceName;
      globalThis.seen = { active: new Set([active()]), focus: new Set(), focused: document.activeElement };
      document.addEventListener("focusin", ({ target }) => globalThis.seen.focus.add(target.className));
      const watch = { childList: true, subtree: true, attributeFilter: ["class"] };
      new MutationObserver(() => globalThis.seen.active.add(active())).observe(document.querySelector(".part.editor .tabs-container"), watch);
    });
    return () =>
      this.page.evaluate(() => {
        const { active, focus, focused } = globalThis.seen;
        return { tabs: [...active], focus: [...focus], isStill: document.activeElement === focused };
      });
  }

  /** The text of the terminal in front. */
  terminal() {
    return this.page.locator(`${TERMINAL} .xterm-rows`);
  }

  async typeInTerminal(text) {
    await this.page.locator(`${TERMINAL} textarea`).focus();
    await this.page.keyboard.type(text);
    await this.page.keyboard.press("Enter");
  }

  /** The button of a row in an open list that has the focus. */
  focusedAction(title) {
    return this.page.locator(`${LIST} ${labelled(title)}:focus`);
  }

  viewHeader(view) {
    return this.page.locator(headerOf(view));
  }

  /** The words beside the name of a view in its header. */
  viewDescription(text) {
    return this.page.locator(".pane-header .description", { hasText: text });
  }

  focusedButton(text) {
    return this.button(text).and(this.page.locator(":focus"));
  }

  /** An item of the status bar, also one of VS Code's. */
  statusText(text) {
    return this.page.locator(STATUS, { hasText: text });
  }

  /** Takes the page of the conversation away, as a crash would. */
  async killConversation() {
    await this.page.locator(FRAME).evaluate((frame) => frame.contentWindow.location.replace("about:blank"));
  }

  /** The box of a list, or the one that asks for a text. */
  inputBox() {
    return this.page.locator(`${LIST} input:is([type=text], [type=password])`);
  }

  /** Clicks one of the buttons of an open list or box. */
  async inputAction(title) {
    await this.page.locator(`${LIST} ${labelled(title)}`).click({ timeout: 5 * SECOND });
  }

  /** Gives a box a text that it does not take, and waits for the reason. */
  async refused(title, text, reason) {
    await this.page.locator(TITLE, { hasText: title }).waitFor();
    await this.inputBox().fill(text);
    await tryUntil(() => this.inputBox().press("Enter"), this.page.locator(LIST).getByText(reason), reason);
  }

  walkthroughStep(at) {
    return this.page.locator(STEP).nth(at);
  }

  /** Marks of the steps of the walkthrough that are done. */
  walkthroughMarks() {
    return this.page.locator(`${STEP} .codicon.complete`);
  }

  walkthroughPicture(name) {
    return this.page.frameLocator(FRAME).frameLocator("#active-frame").locator(`svg#${name}`);
  }

  /** Chooses from the context menu at a text of the active editor, also from a menu in it. */
  async editorMenu(text, ...path) {
    const line = this.page.locator(LINE, { hasText: text });
    await this.#openMenu(line, this.menuEntry(path[0]));
    for (const [level, entry] of path.entries()) {
      await this.menuEntry(entry).hover();
      await (path[level + 1] === undefined ? this.menuEntry(entry).and(this.page.locator(".focused")) : this.menuEntry(path[level + 1])).waitFor();
    }
    await this.page.keyboard.press("Enter");
    await this.page.locator(MENU).first().waitFor({ state: "hidden" });
  }

  dialog(text) {
    return this.page.locator("[role=dialog]:not(.notification-toast)", { hasText: text });
  }

  hover(text) {
    return this.page.locator(".monaco-hover:visible", { hasText: text });
  }

  /** Texts that stand struck through before the words that took their place. */
  struckWords() {
    return this.page.locator(`${LINE} span`).evaluateAll((spans) =>
      spans
        .map((each) => getComputedStyle(each, "::before"))
        .filter(({ textDecorationLine }) => textDecorationLine === "line-through")
        .map(({ content }) => content),
    );
  }

  /** Opens or closes a row with children. */
  async twist(row) {
    const expanded = () => row.getAttribute("aria-expanded", { timeout: 5 * SECOND });
    const was = await expanded();
    await tryUntil(
      async () => (await expanded()) === was && row.locator(".monaco-tl-twistie").click(ONE_TRY),
      async () => (await expanded()) !== was,
      "a row that opens or closes",
    );
  }

  menuEntry(text) {
    return this.page.locator(`${MENU} .action-item`, { hasText: text }).last();
  }

  icon(view, name) {
    return this.rows(view).locator(`.codicon-${name}`);
  }

  /** Spinning icons of a view. */
  spinning(view) {
    return this.rows(view).locator(".codicon-modifier-spin");
  }

  copy(text) {
    return this.page.evaluate((words) => navigator.clipboard.writeText(words), text);
  }

  clipboard() {
    return this.page.evaluate(() => navigator.clipboard.readText());
  }

  /** Draws the border of the side bar, which lies in the gap beside it, until it has a width in pixels. */
  async sideBarWidth(width) {
    const bar = this.page.locator(SIDE_BAR);
    const { width: all } = this.page.viewportSize();
    await tryUntil(
      async () => {
        await bar.hover({ position: { x: -2, y: 300 }, force: true });
        await this.page.mouse.down();
        await this.page.mouse.move(all - width - 2, 300, { steps: 4 });
        await this.page.mouse.up();
      },
      // VS Code rounds it.
      this.page.locator(`[style*="width: ${Math.floor(width / 10)}"] > ${SIDE_BAR}`),
      `a side bar of ${width} pixels`,
    );
  }

  lens(text) {
    return this.page.locator(`${LENS} a`, { hasText: text }).filter({ visible: true });
  }

  /** Clicks the lens with a title beside the one that names an edit, such as `Edit 1/2`, until a state holds. */
  async clickLens(edit, title, state) {
    const link = this.page.locator(LENS, { hasText: edit }).locator("a", { hasText: title });
    await tryUntil(() => link.first().click(ONE_TRY), state, `the lens ${title} of ${edit}`);
  }

  /** Clicks a button of a message, which may have gone from its corner into the list of messages. */
  async clickInMessage(text, button) {
    const found = this.button(button, this.page.locator(MESSAGE, { hasText: text })).first();
    if (!(await found.isVisible())) {
      await this.command("Notifications: Show Notifications");
    }
    await found.click({ timeout: 5 * SECOND });
  }

  button(text, within = this.page) {
    return within.locator(BUTTON, { hasText: new RegExp(`^${text}$`) });
  }

  status() {
    return this.page.locator(`${STATUS}[id*="cairn.status"]`);
  }

  /** Shows the conversation, with the focus in it if it was out of sight. */
  async showConversation() {
    const isShown = () => this.composer().isVisible();
    await tryUntil(async () => (await isShown()) || this.page.keyboard.press("Control+Alt+a"), isShown, "the conversation");
  }

  /** Opens or folds a view. */
  async unfold(view, open) {
    const header = this.viewHeader(view);
    const is = async () => (await header.getAttribute("aria-expanded")) === String(open);
    await tryUntil(async () => (await is()) || header.locator(".title").click(ONE_TRY), is, `the view ${view}`);
  }

  /** The page of the conversation view. */
  conversation() {
    return this.page.frameLocator(FRAME).frameLocator("iframe");
  }

  /** The box in which the user writes. */
  composer() {
    return this.conversation().getByLabel("Message to the agent", { exact: true });
  }

  /** Items of the conversation with this text. */
  article(text) {
    return this.conversation().locator("[role=article]", { hasText: text });
  }

  /** Writes settings into the open settings file, as a person would, and saves it. */
  async addSettings(settings) {
    await this.command("Preferences: Open User Settings (JSON)");
    await this.page.locator(LINE, { hasText: "workbench.startupEditor" }).waitFor();
    await this.page.keyboard.press("Control+Home");
    await this.page.keyboard.press("ArrowRight");
    await this.page.keyboard.insertText(`${JSON.stringify(settings).slice(1, -1)},`);
    await this.page.keyboard.press("Control+s");
  }

  /** Waits until a theme of this kind colors the window: `vs`, `vs-dark`, `hc-black`, `hc-light`. */
  async colored(kind) {
    await this.page.locator(`.monaco-workbench.${kind}`).waitFor();
  }

  /** Tooltip of a row. */
  async tooltip(row) {
    const hover = this.page.locator(".workbench-hover-container .hover-contents");
    const leaveAndEnter = async () => {
      await this.page.mouse.move(900, 500);
      await row.hover(ONE_TRY);
    };
    await tryUntil(leaveAndEnter, hover, "the tooltip of a row");
    return hover;
  }

  async screenshot(name) {
    await mkdir(artifacts, { recursive: true });
    await this.page.screenshot({ path: join(artifacts, `${name}.png`) });
  }
}

/** In the page: gives a box a text, as typing it would. */
function enter(box, text) {
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

/** In the page: true if an entry of VS Code's storage contains a text. */
async function readStorage({ key, text }) {
  const result = (request) =>
    new Promise((done, failed) => {
      request.onsuccess = () => done(request.result);
      request.onerror = () => failed(request.error);
    });
  for (const { name } of await indexedDB.databases()) {
    const database = await result(indexedDB.open(name));
    for (const table of database.objectStoreNames) {
      const value = await result(database.transaction(table).objectStore(table).get(key));
      if (typeof value === "string" && value.includes(text)) {
        database.close();
        return true;
      }
    }
    database.close();
  }
  return false;
}
