// A window of the editor as a person uses it: keys, clicks, and what can be seen. Knows VS Code's page and
// where Cairn's parts are in it. Every wait is for something visible.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { chromium, errors } from "playwright-core";

import { artifacts } from "../runner/verdict.mjs";
import { findChromium, tryUntil, until } from "./editor.mjs";

const SECOND = 1_000;

/** Entries of VS Code's storage: the open tabs, and the state of the extension, which has the drafts. */
export const EDITORS = "memento/workbench.parts.editor";
export const DRAFTS = "cairn-agent.cairn";

const launch = async () => ({
  executablePath: await findChromium(),
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

/** A browser of this process, or a connection to one that several share. */
export async function openBrowser(shared) {
  return shared === undefined ? await chromium.launch(await launch()) : await chromium.connect(shared);
}

/** Starts a browser for several processes. */
export async function startBrowser() {
  return await chromium.launchServer(await launch());
}

export async function openWindow(browser, url, { width = 1280, height = 800 } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20 * SECOND);
  await page.goto(url);
  await page
    .locator(".monaco-workbench .statusbar-item")
    .first()
    .waitFor({ timeout: 60 * SECOND });
  return new Window(page, context);
}

export class Window {
  constructor(page, context) {
    this.page = page;
    this.context = context;
  }

  /** Leaves the editor, which ends what it runs for this window. */
  async leave() {
    await Promise.all(this.context.pages().map((page) => page.goto("about:blank").catch(() => {})));
  }

  /** The page goes and comes again: extension and daemon with it. */
  async reload() {
    await this.page.reload();
    await this.page
      .locator(".monaco-workbench .statusbar-item")
      .first()
      .waitFor({ timeout: 60 * SECOND });
  }

  /** Waits until VS Code has written a text into an entry of its storage: `EDITORS` or `DRAFTS`. A reload restores both. */
  async stored(key, text) {
    await until(() => this.page.evaluate(readStorage, { key, text }), 30 * SECOND, `VS Code to store ${text} in ${key}`);
  }

  /** Runs a command by its title, as the palette shows it. */
  async command(title) {
    const row = this.page.locator(`.quick-input-list .monaco-list-row:is([aria-label="${title}"], [aria-label^="${title},"])`).first();
    // A click on the row itself: Enter might run whatever else has the focus.
    await this.#pick("F1", `>${title}`, row, () => row.click({ timeout: 5 * SECOND }));
  }

  /** Answers an input box that has this title, which closes it. */
  async answer(title, text) {
    const box = this.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: title });
    const input = this.page.locator(".quick-input-widget:visible input:is([type=text], [type=password])");
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
    const row = this.page.locator(".quick-input-list .monaco-list-row", { hasText: label }).first();
    await row.waitFor();
    await tryUntil(
      () => row.click({ timeout: 2 * SECOND }),
      async () => !(await row.isVisible()),
      `the choice of ${label}`,
    );
  }

  async open(path) {
    const name = path.split("/").at(-1);
    const row = this.page.locator(`.quick-input-list .monaco-list-row.focused[aria-label^="${name}"]`);
    await this.#pick("Control+p", path, row, () => this.page.keyboard.press("Enter"));
    await this.page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
  }

  tab(name) {
    return this.page.locator(`.tab[data-resource-name="${name}"]`);
  }

  /** Puts the cursor into a line of the active editor. */
  async goTo(line) {
    // The row that names the line: the one before would lead to another line.
    const row = this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: new RegExp(`line ${line}\\b`) });
    await this.#pick("Control+g", `:${line}`, row, () => this.page.keyboard.press("Enter"));
    await this.page.locator(".monaco-editor.focused").waitFor();
  }

  /**
   * Opens a list by a key, types into it and chooses a row. Once more if the list closes before that: VS Code
   * closes a list when something else takes the focus, such as a view that has just been drawn.
   */
  async #pick(key, text, row, choose) {
    const input = this.page.locator(".quick-input-widget:visible input[type=text]");
    await until(
      async () => {
        try {
          await this.page.keyboard.press(key);
          await input.fill(text, { timeout: 5 * SECOND });
          await row.waitFor({ timeout: 5 * SECOND });
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

  /** The exact text of the active editor. */
  async text() {
    const nothing = "nothing is copied yet";
    await this.page.evaluate((words) => navigator.clipboard.writeText(words), nothing);
    await tryUntil(
      async () => {
        await this.page.locator(".editor-instance .view-lines").first().click();
        await this.page.locator(".editor-instance .monaco-editor.focused").waitFor();
        await this.page.keyboard.press("Control+a");
        await this.page.keyboard.press("Control+c");
      },
      async () => (await this.clipboard()) !== nothing,
      "the text of the editor",
    );
    const text = await this.clipboard();
    await this.page.keyboard.press("ArrowUp");
    return text;
  }

  async save(name) {
    await this.page.keyboard.press("Control+s");
    await this.page.locator(`.tab.active[data-resource-name="${name}"]:not(.dirty)`).waitFor();
  }

  /** Rows of a view, by the words a screen reader says. */
  rows(view) {
    return this.page.locator(`.pane:has(.pane-header[aria-label^="${view}"]) [role=treeitem]`);
  }

  row(view, spoken) {
    return this.page.locator(`.pane:has(.pane-header[aria-label^="${view}"]) [role=treeitem][aria-label*="${spoken}"]`);
  }

  /** Chooses from the context menu of a row. */
  async menu(row, entry) {
    const item = this.page.locator(".monaco-menu .action-item", { hasText: entry }).last();
    await this.#openMenu(row, item);
    // Not with a second click: VS Code takes one that comes soon for the end of the first.
    await item.hover();
    await item.and(this.page.locator(".focused")).waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(".monaco-menu").waitFor({ state: "hidden" });
  }

  /** Closes all editors. The list of commands is gone before the command is done. */
  async closeEditors() {
    await this.command("View: Close All Editors");
    await this.page.locator(".tab").first().waitFor({ state: "detached" });
  }

  /** The row of a code action at the cursor. The list is opened again until it has it: a provider may answer late. */
  async codeAction(label) {
    const list = this.page.locator(".action-widget");
    const row = list.locator(".monaco-list-row", { hasText: label });
    await tryUntil(
      async () => {
        if (await list.isVisible()) {
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
    const labels = this.page.locator(".monaco-menu .action-item:not(.disabled) .action-label:not(.separator)");
    await this.#openMenu(row, labels);
    const entries = await labels.allInnerTexts();
    await this.page.keyboard.press("Escape");
    await this.page.locator(".monaco-menu").waitFor({ state: "hidden" });
    return entries;
  }

  /** Opens the context menu of a row until it has an entry: VS Code ignores a click on a row that it draws again. */
  async #openMenu(row, entry) {
    await tryUntil(
      async () => {
        if (await this.page.locator(".monaco-menu").first().isVisible()) {
          await this.page.keyboard.press("Escape");
        }
        await row.click({ button: "right", timeout: 5 * SECOND });
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
    const action = row.locator(`.action-label[aria-label^="${title}"]`).first();
    await action.waitFor({ state: "attached" });
    await tryUntil(
      async () => {
        await row.hover({ timeout: 2 * SECOND });
        await action.click({ timeout: 2 * SECOND });
      },
      state ?? (async () => (await action.count()) === 0),
      `the button ${title} of a row`,
    );
  }

  /** One of the buttons that the header of a view shows under the pointer. */
  async viewAction(view, title) {
    const header = this.page.locator(`.pane-header[aria-label^="${view}"]`);
    await header.hover();
    await header.locator(`.action-label[aria-label^="${title}"]`).click();
  }

  /** Opens or closes a row with children. */
  async twist(row) {
    const expanded = () => row.getAttribute("aria-expanded", { timeout: 5 * SECOND });
    const was = await expanded();
    await tryUntil(
      async () => (await expanded()) === was && row.locator(".monaco-tl-twistie").click({ timeout: 2 * SECOND }),
      async () => (await expanded()) !== was,
      "a row that opens or closes",
    );
  }

  /** Spinning icons of a view. */
  spinning(view) {
    return this.page.locator(`.pane:has(.pane-header[aria-label^="${view}"]) .codicon-modifier-spin`);
  }

  clipboard() {
    return this.page.evaluate(() => navigator.clipboard.readText());
  }

  async sideBarWidth(width) {
    const bar = this.page.locator(".part.auxiliarybar");
    await tryUntil(
      async () => {
        const box = await bar.boundingBox();
        const y = box.y + box.height / 2;
        // The border lies in the gap beside the side bar.
        await this.page.mouse.move(box.x - 2, y);
        await this.page.mouse.down();
        await this.page.mouse.move(box.x + box.width - width, y, { steps: 4 });
        await this.page.mouse.up();
      },
      async () => Math.abs((await bar.boundingBox()).width - width) < 20,
      `a side bar of ${width} pixels`,
    );
  }

  lens(text) {
    return this.page.locator(".codelens-decoration a", { hasText: text }).filter({ visible: true });
  }

  /** Clicks a lens with this text, the uppermost or one below it, once it has come to rest and nothing covers it. */
  async clickLens(text, index = 0) {
    const find = () =>
      this.page.evaluate(
        ({ wanted, index }) => {
          const centres = [...document.querySelectorAll(".codelens-decoration a")]
            .filter((link) => link.textContent.trim() === wanted)
            .map((link) => ({ link, box: link.getBoundingClientRect() }))
            // Its end: the beginning may be scrolled out of sight.
            .map(({ link, box }) => ({ link, x: box.right - 4, y: box.y + box.height / 2 }))
            .filter(({ link, x, y }) => link.contains(document.elementFromPoint(x, y)))
            .sort((a, b) => a.y - b.y);
          return centres[index] === undefined ? undefined : { x: centres[index].x, y: centres[index].y };
        },
        { wanted: text, index },
      );
    const spot = await until(
      async () => {
        const [first, second] = [await find(), await find()];
        return first !== undefined && first.x === second?.x && first.y === second?.y ? first : undefined;
      },
      20 * SECOND,
      `the lens ${text}`,
    );
    await this.page.mouse.click(spot.x, spot.y);
  }

  notification(text) {
    return this.page.locator(".notification-toast", { hasText: text });
  }

  button(text, within = this.page) {
    return within.locator(".monaco-button", { hasText: new RegExp(`^${text}$`) });
  }

  status() {
    return this.page.locator('.statusbar-item[id*="cairn.status"]');
  }

  /** Shows Cairn's views in place of the Explorer: the plan and the edits, with the conversation folded. */
  async foldConversation() {
    await this.status()
      .first()
      .waitFor({ timeout: 60 * SECOND });
    await this.command("Cairn: Show Conversation");
    await this.composer().waitFor();
    await this.unfold("Proposed Edits", true);
    // The editor restores a size that was chosen: half of the height, so that the rows are in sight.
    const [edits, half] = [this.page.locator('.pane-header[aria-label^="Proposed Edits"]'), 400];
    await until(
      async () => {
        const header = await edits.boundingBox();
        if (Math.abs(header.y - half) < 20) {
          return true;
        }
        await this.page.mouse.move(header.x + 100, header.y);
        await this.page.mouse.down();
        await this.page.mouse.move(header.x + 100, half, { steps: 4 });
        await this.page.mouse.up();
        return false;
      },
      20 * SECOND,
      "room for the edits",
    );
    await this.unfold("Conversation", false);
    const explorer = this.page.locator(".part.sidebar");
    if (await explorer.isVisible()) {
      await this.command("View: Toggle Primary Side Bar Visibility");
      await explorer.waitFor({ state: "hidden" });
    }
  }

  /** Opens or folds a view. */
  async unfold(view, open) {
    const header = this.page.locator(`.pane-header[aria-label^="${view}"]`);
    if ((await header.getAttribute("aria-expanded")) !== String(open)) {
      await header.locator(".title").click();
    }
    await header.and(this.page.locator(`[aria-expanded="${open}"]`)).waitFor();
  }

  /** The page of the conversation view. */
  conversation() {
    return this.page.frameLocator("iframe.webview").frameLocator("iframe");
  }

  /** The box in which the user writes. */
  composer() {
    return this.conversation().getByLabel("Message to the agent", { exact: true });
  }

  /** Items of the conversation with this text. */
  article(text) {
    return this.conversation().locator("[role=article]", { hasText: text });
  }

  /** Waits until so many edits are to be reviewed. */
  async edits(count) {
    await this.status()
      .filter({ hasText: count === 1 ? "1 edit to review" : `${count} edits to review` })
      .waitFor();
  }

  /** Writes settings into the open settings file, as a person would, and saves it. */
  async addSettings(settings) {
    await this.command("Preferences: Open User Settings (JSON)");
    await this.page.locator(".view-line", { hasText: "workbench.startupEditor" }).waitFor();
    await this.page.keyboard.press("Control+Home");
    await this.page.keyboard.press("ArrowRight");
    await this.page.keyboard.insertText(`${JSON.stringify(settings).slice(1, -1)},`);
    await this.page.keyboard.press("Control+s");
  }

  async theme(name) {
    const kind = /High Contrast/.test(name) ? (/Light/.test(name) ? "hc-light" : "hc-black") : /Light/.test(name) ? "vs" : "vs-dark";
    const list = this.page.locator(".quick-input-widget:visible");
    await tryUntil(
      async () => {
        await this.command("Preferences: Color Theme");
        await list.locator("input[type=text]").fill(name, { timeout: 5 * SECOND });
        await list
          .locator(`.monaco-list-row[aria-label^="${name}"]`)
          .first()
          .click({ timeout: 5 * SECOND });
        await list.waitFor({ state: "hidden", timeout: 5 * SECOND });
      },
      this.page.locator(`.monaco-workbench.${kind}`),
      `the theme ${name}`,
    );
  }

  /** Tooltip of a row. Hovers again if the row was drawn again meanwhile. */
  async tooltip(row) {
    const hover = this.page.locator(".workbench-hover-container .hover-contents");
    for (let left = 3; ; left--) {
      await row.hover();
      try {
        await hover.waitFor({ timeout: 5_000 });
        return hover;
      } catch (error) {
        if (left === 0) {
          throw error;
        }
        await this.page.mouse.move(900, 500);
      }
    }
  }

  async screenshot(name) {
    await mkdir(artifacts, { recursive: true });
    await this.page.screenshot({ path: join(artifacts, `${name}.png`) });
  }
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
