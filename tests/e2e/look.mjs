// What a step waits for: what the extension shows through VS Code, by its report (`state.mjs`).

import assert from "node:assert/strict";

import { tryUntil, until } from "./editor.mjs";
import { SECOND, inConversation, now, state, view, window } from "./harness.mjs";

const has = (text, words) => (words instanceof RegExp ? words.test(text ?? "") : (text ?? "").includes(words));
const messageWith = ({ messages = [] }, words) => messages.find(({ text }) => has(text, words));

/** A message, until it is answered or put away. */
export const message = (words) => state((now) => messageWith(now, words), `the message ${words}`);

/** A text that the status bar shows for a moment. */
export const said = (words) => state((now) => now.said.find((text) => has(text, words)), `the words ${words}`);

/** An item of the status bar, by its text or by what a screen reader says. */
export const status = (words) =>
  state((now) => Object.values(now.status).find(({ text, spoken }) => has(text, words) || has(spoken, words)), `${words} in the status bar`);

/** So many edits are to be decided. */
export const edits = (count) => state((now) => countOf(now) === count, `${count} edits`);
export const countOf = ({ edits }) => edits.reduce((sum, { hunks }) => sum + hunks.length, 0);

/** A list or a box with this title. */
export const asked = (words) => state(({ input }) => has(input.title, words) && input, `a list or a box ${words}`);
/** A row of the list, by its label, description or detail. */
export const listed = (words) =>
  state(({ input }) => input?.rows?.find((row) => Object.values(row).some((text) => has(text, words))), `the row ${words}`);
export const unasked = () => state(({ input }) => input === null, "no list or box");

/** Removed text above the lines that took its place. */
export const zone = (words) =>
  state(({ zones }) => zones.find(({ label, texts }) => has(label, words) || texts.some((text) => has(text, words))), `removed text ${words}`);

/** A lens of the file, by its path. */
export const lens = (path, words) =>
  state(
    ({ lenses }) => Object.entries(lenses).some(([uri, all]) => uri.includes(path) && all.some(({ title }) => has(title, words))),
    `the lens ${words} in ${path}`,
  );

/** The active editor shows this file, or this text. */
export const inFront = (path) => state(({ editor }) => editor?.path.endsWith(path), `${path} in front`);
export const text = (words) => state(({ editor }) => has(editor?.text, words) && editor.text, `the text ${words}`);
export const cursor = (path, line) =>
  state(({ editor }) => editor?.path.endsWith(path) && editor.line === line, `the cursor in line ${line} of ${path}`);

export const tab = (words, fields = {}) =>
  state(
    ({ tabs }) => tabs.find((tab) => has(tab.label, words) && Object.entries(fields).every(([name, value]) => tab[name] === value)),
    `the tab ${words}`,
  );
export const noTab = (words) => state(({ tabs }) => tabs.every(({ label }) => !has(label, words)), `no tab ${words}`);

/** The card of a question. */
export const card = (words) => view.getByRole("alertdialog").filter({ hasText: words });
/** A button of a card, once an answer counts. */
export const armed = (words, button = "Allow Once") =>
  card(words).getByRole("button", { name: button, exact: true }).and(view.locator(":not([aria-disabled])"));

/** Clicks a button of a message, until the extension has the answer. */
export async function press(words, button) {
  await message(words);
  await tryUntil(
    () => window.clickInMessage(words, button),
    async () => messageWith(now(), words) === undefined,
    `the answer ${button}`,
  );
}

/** Answers a question in its card. */
export async function answer(words, button) {
  await inConversation(async () => {
    await armed(words, button).click();
    await card(words).waitFor({ state: "detached" });
  });
}

/** Waits until no button, link or box of a page is cut off. */
export async function nothingCut(page, what) {
  let cut;
  await until(async () => (cut = await page.locator("body").evaluate(cutParts)).length === 0, 10 * SECOND, `${what}: nothing is cut`).catch(() =>
    assert.deepEqual(cut, [], what),
  );
}

/**
 * In a page: buttons, links and boxes that are not wholly in sight, even when scrolled to. The browser itself says which
 * part of an element nothing cuts.
 */
function cutParts(root) {
  const shown = [...root.querySelectorAll("button, a, textarea")].filter((element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
  );
  const share = (element) =>
    new Promise((done) => {
      element.scrollIntoView({ block: "nearest" });
      const observer = new IntersectionObserver(([entry]) => {
        observer.disconnect();
        done(entry.intersectionRatio);
      });
      observer.observe(element);
    });
  // What comes into view may be drawn only then, and move the element.
  const isWhole = async (element) => (await share(element)) > 0.9 || (await share(element)) > 0.9 || (await share(element)) > 0.9;
  return shown.reduce(
    async (before, element) => [...(await before), ...((await isWhole(element)) ? [] : [element.getAttribute("aria-label") ?? element.textContent])],
    Promise.resolve([]),
  );
}
