// The page of the conversation view with a history of 10,000 items, alone in a browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { measurePage, quantiles } from "./page.mjs";
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
  assert.ok(long.drawn <= 601, `${long.drawn} items are drawn`);
  const [few, many] = [quantiles(short.append)(0.5), quantiles(long.append)(0.5)];
  context.diagnostic(`a piece of an answer: ${few.toFixed(2)} ms after 100 items, ${many.toFixed(2)} ms after 10,000`);
  context.diagnostic(`first paint: ${long.first.toFixed(0)} ms; longest task while an answer grows: ${long.longest.toFixed(0)} ms`);
  // The clock of a page counts in tenths of a millisecond.
  assert.ok(many <= 2 * few + 0.5, `${many} ms against ${few} ms`);
  assert.ok(long.longest < 50, `a task of ${long.longest} ms`);
});
