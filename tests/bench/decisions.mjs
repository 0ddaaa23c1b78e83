// The review of an open file as the user sees it: keys for each decision, the time until it is painted,
// and the height that a changed word costs.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "../e2e/editor.mjs";

const SECOND = 1_000;
const EDITS = 20;
const FILE = "words.mjs";

const text = (word) => Array.from({ length: EDITS }, (_, index) => `const value${index} = measure(${word}, ${index});\n// kept\n`).join("");

/**
 * Pixels that each edit of one word adds, with its lens and without; times in milliseconds from the key of
 * a decision until the marks of the edit are gone from the text; and keys pressed for each edit.
 *
 * @param {{ window: import("../e2e/window.mjs").Window, model: object, workspace: string, configure: (settings: object) => Promise<void> }} it
 */
export async function measureDecisions({ window, model, workspace, configure }) {
  const { page } = window;
  const counted = (count) =>
    window
      .status()
      .filter({ hasText: `${count} edits to review` })
      .waitFor({ timeout: 60 * SECOND });
  await writeFile(join(workspace, FILE), text("text"));
  await configure({ "editor.codeLens": true });
  await window.open(FILE);
  const before = await height(page);
  await window.command("Agent: run task");
  await window.answer("New Task", "Change the words");
  const request = await model.next();
  await request.call({ name: "write_file", arguments: { path: FILE, content: text("line") } });
  await (await model.next()).say("Changed.");
  await counted(EDITS);
  await until(async () => (await page.evaluate(marks)) === EDITS, 20 * SECOND, "the marks of all edits");
  await until(async () => (await page.locator(".codelens-decoration").count()) >= EDITS, 20 * SECOND, "the lenses");
  const withLens = (await settled(page)) - before;
  await configure({ "editor.codeLens": false });
  await page.locator(".codelens-decoration").first().waitFor({ state: "detached" });
  const without = (await settled(page)) - before;
  const zones = await page.locator(".review-widget").count();

  await window.command("Agent: review edits");
  await page.locator('.statusbar-item[id*="cairn.status.reviewing"]', { hasText: `REVIEW 1/${EDITS}` }).waitFor();
  await page.locator(".monaco-editor.focused").waitFor();
  await page.evaluate(() => {
    globalThis.keys = [];
    document.addEventListener("keydown", () => globalThis.keys.push(performance.now()), { capture: true });
  });
  const paint = [];
  for (let left = EDITS - 1; left > 0; left -= 1) {
    const gone = page.evaluate(
      ([source, left]) =>
        new Promise((resolve) => {
          const marks = new Function(`return (${source})()`);
          const look = () =>
            marks() <= left ? requestAnimationFrame(() => resolve(performance.now() - globalThis.keys.at(-1))) : requestAnimationFrame(look);
          look();
        }),
      [marks.toString(), left],
    );
    await page.keyboard.press("y");
    paint.push(await gone);
  }
  await page.keyboard.press("y");
  await window.status().filter({ hasText: "to review" }).waitFor({ state: "hidden" });
  const keys = (await page.evaluate(() => globalThis.keys.length)) / EDITS;
  // Above the first line stands its own lens.
  return { paint, keys, zones, pixels: { withLens: withLens / (EDITS - 1), without: without / (EDITS - 1) } };
}

/** From the first line of the file to the last. */
async function height(page) {
  const place = async (words) => (await page.locator(".editor-instance .view-line", { hasText: words }).first().boundingBox())?.y;
  const ends = await until(
    async () => {
      const found = [await place("value0 ="), await place(`value${EDITS - 1} =`)];
      return found.includes(undefined) ? undefined : found;
    },
    20 * SECOND,
    "the first line and the last",
  );
  return ends[1] - ends[0];
}

/** The same, once it stays. */
async function settled(page) {
  let last;
  return await until(
    async () => {
      const now = await height(page);
      const same = now === last;
      last = now;
      await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
      return same ? `${now}` : undefined;
    },
    20 * SECOND,
    "the lines at rest",
  ).then(Number);
}

/** Number of struck words in the text: one for each edit of a word. Runs in the page. */
function marks() {
  return [...document.querySelectorAll(".editor-instance .view-line span")].filter(
    (each) => getComputedStyle(each, "::before").textDecorationLine === "line-through",
  ).length;
}
