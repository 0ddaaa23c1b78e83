// The page of the conversation view alone in a browser, without the editor around it.

import { join } from "node:path";

import { repository } from "../e2e/editor.mjs";

const built = (name) => join(repository, "vscode-extension/dist/webview", name);
export const message = (type, fields) => ({ v: 1, type, ...fields });

/** Items of a conversation: a question, a command, an edit, and an answer in Markdown, over and over. */
export function turns(count) {
  return Array.from({ length: count / 4 }, (_, turn) => {
    const id = (part) => `${turn}-${part}`;
    return {
      turn: `turn-${turn}`,
      items: [
        { id: id("user"), kind: "user", text: `Question ${turn}`, first: true, time: "", attachments: [] },
        {
          ...{ id: id("command"), kind: "command", command: `make part-${turn}`, state: "done", output: "ok\n", lines: 1 },
          ...{ live: "", note: "", exitCode: 0, elapsedMs: 5 },
        },
        { id: id("edit"), kind: "edit", verb: "edited", path: `src/${turn}.ts`, added: 3, removed: 2, pending: 0, running: false },
        { id: id("text"), kind: "text", text: `**Answer** ${turn}: see \`src/${turn}.ts\`.\n\n- one\n- two`, streaming: false, cut: false },
      ],
    };
  });
}

/** The page in its own browser page. `globalThis.send` gives it a message; `globalThis.posted` lists the types it posts. */
export async function openPage(browser) {
  const page = await browser.newPage({ viewport: { width: 300, height: 800 } });
  // Fails the test: a page that cannot draw its items would look fast.
  page.on("pageerror", (error) => {
    throw error;
  });
  await page.setContent("<!DOCTYPE html><html><head></head><body></body></html>");
  await page.evaluate(() => {
    globalThis.posted = [];
    globalThis.acquireVsCodeApi = () => ({ postMessage: (sent) => globalThis.posted.push(sent.type) });
    globalThis.send = (data) => globalThis.dispatchEvent(new MessageEvent("message", { data }));
  });
  await page.addStyleTag({ path: built("main.css") });
  await page.addScriptTag({ path: built("main.js") });
  return page;
}

/**
 * Times in milliseconds: from the message with all items until they are drawn, and of each piece of an
 * answer that grows at the end; and the longest task of the page while the pieces come.
 *
 * @param {import("playwright-core").Browser} browser
 * @param {{ items: number, pieces: number, everyMs: number }} options
 */
export async function measurePage(browser, { items, pieces, everyMs }) {
  const page = await openPage(browser);
  try {
    const growing = { id: "growing", kind: "text", text: "", streaming: true, cut: false };
    const begin = message("patch", {
      rev: 2,
      patches: [{ turn: "last", before: "", put: [{ item: growing, after: "" }], drop: [] }],
      append: [],
      gone: [],
    });
    const parts = Array.from({ length: pieces }, (_, piece) =>
      message("patch", { rev: 3 + piece, patches: [], append: [{ id: "growing", delta: piece % 12 === 11 ? "word.\n\n" : "word " }], gone: [] }),
    );
    const result = await page.evaluate(
      async ({ setup, reset, begin, parts, everyMs }) => {
        const { send } = globalThis;
        // The second frame begins after the first has been painted.
        const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));
        send(setup);
        await painted();
        const start = performance.now();
        send(reset);
        await painted();
        const first = performance.now() - start;
        send(begin);
        await pause(500);
        const long = [];
        const observer = new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)));
        observer.observe({ type: "longtask" });
        const append = [];
        for (const part of parts) {
          const before = performance.now();
          send(part);
          // With the layout that it causes.
          void document.body.offsetHeight;
          append.push(performance.now() - before);
          await pause(everyMs);
        }
        await pause(200);
        observer.disconnect();
        return { first, append, longest: Math.max(0, ...long), drawn: document.querySelectorAll(".item").length, posted: globalThis.posted };
      },
      { setup: message("setup", { strings: {}, history: [] }), reset: message("reset", { rev: 1, turns: turns(items) }), begin, parts, everyMs },
    );
    return result;
  } finally {
    await page.close();
  }
}

/** The value below which a share of the samples lies. */
export function quantiles(samples) {
  const sorted = samples.toSorted((a, b) => a - b);
  return (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
