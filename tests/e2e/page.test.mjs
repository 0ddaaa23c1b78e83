// The page of the conversation view alone in a browser: a history of 10,000 items, and the focus in one that changes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { measurePage, message, openPage, quantiles, turns } from "./page.mjs";
import { openBrowser } from "./window.mjs";

let browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser?.close());

test("news cost as much after 10,000 items as after 100", async (context) => {
  const options = { pieces: 200, everyMs: 10 };
  const short = await measurePage(browser, { items: 100, ...options });
  let long = await measurePage(browser, { items: 10_000, ...options });
  // A task that is long in every run is the page's own; in one run it may have waited for a processor.
  for (let run = 1; run < 3 && long.longest >= 50; run += 1) {
    long = await measurePage(browser, { items: 10_000, ...options });
  }
  assert.deepEqual(long.posted, ["focused", "ready"], "no message was missed");
  assert.ok(short.drawn === 101 && long.drawn > 101 && long.drawn <= 601, `${short.drawn} and ${long.drawn} items are drawn`);
  const [few, many] = [quantiles(short.append)(0.5), quantiles(long.append)(0.5)];
  context.diagnostic(`a piece of an answer: ${few.toFixed(2)} ms after 100 items, ${many.toFixed(2)} ms after 10,000`);
  context.diagnostic(`first paint: ${long.first.toFixed(0)} ms; longest task while an answer grows: ${long.longest.toFixed(0)} ms`);
  // The clock of a page counts in tenths of a millisecond.
  assert.ok(many <= 2 * few + 0.5, `${many} ms against ${few} ms`);
  assert.ok(long.longest < 50, `a task of ${long.longest} ms`);
});

/** A page with twelve items of three turns, and the focus in one of them. */
async function focusIn(id) {
  const page = await openPage(browser);
  const strings = { showEarlier: "Show Earlier", loadingEarlier: "Loading earlier messages…" };
  await send(page, message("setup", { strings, history: [] }), message("reset", { rev: 1, turns: turns(12) }));
  await page.locator(`[data-id="${id}"]`).evaluate((item) => (item.querySelector(".fold") ?? item).focus());
  return page;
}
const send = (page, ...messages) => page.evaluate((all) => all.forEach((data) => globalThis.send(data)), messages);
const focused = (page) => page.evaluate(() => document.activeElement?.closest("[data-id]")?.dataset.id ?? document.activeElement?.className);
const patch = (fields) => message("patch", { rev: 2, patches: [], append: [], gone: [], ...fields });
const beyond = (earlier) =>
  message("state", {
    state: {
      ...{ session: "s", title: "", phase: "ended", connected: true, banners: [], mode: { name: "", icon: "eye", title: "" }, model: "" },
      ...{ queue: { items: [], held: false }, chips: [], cards: [], decisions: [], questions: [], readOnly: "", back: false },
      beyond: { earlier, later: "none", fault: "" },
    },
  });

test("the focus stays on its item when the list is sent again", async () => {
  const page = await focusIn("1-command");
  await send(page, message("reset", { rev: 2, turns: turns(12) }));
  assert.equal(await focused(page), "1-command");
  await page.close();
});

test("the focus goes to the nearest item when its turn is left out", async () => {
  const later = await focusIn("2-user");
  await send(later, patch({ gone: ["turn-2"] }));
  assert.equal(await focused(later), "1-text");
  await later.keyboard.press("Home");
  assert.equal(await focused(later), "0-user", "the keys of the list go on");
  await later.close();

  const earlier = await focusIn("0-edit");
  await send(earlier, patch({ gone: ["turn-0"] }));
  assert.equal(await focused(earlier), "1-user");
  await earlier.close();
});

test("a row says that earlier messages are read, and passes its focus on when it goes", async () => {
  const page = await focusIn("1-user");
  await send(page, beyond("more"));
  await page.getByRole("button", { name: "Show Earlier" }).focus();
  await send(page, beyond("loading"));
  await page.getByRole("button", { name: "Loading earlier messages" }).waitFor();
  assert.match(await focused(page), /earlier/u);
  await send(page, beyond("none"));
  assert.equal(await focused(page), "0-user");
  await page.close();
});
