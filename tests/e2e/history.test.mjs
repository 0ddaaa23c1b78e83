// A stored session of 10,000 records in a real VS Code: it is read to its first message and back by keyboard, what
// is read stays where it is, and a bounded part of it is in the page.

import assert from "node:assert/strict";
import { readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";

import { until } from "./editor.mjs";
import { SECOND, cairn } from "./harness.mjs";

const TURNS = 2_500;
/** Elements of the list that may be there at once: two pages and the newest entries. */
const MOST_DRAWN = 3_000;

let window;
let view;
let model;
let journal;
const { step } = cairn({
  model: true,
  conversation: true,
  ready: async (it) => {
    ({ window, model } = it);
    view = window.conversation();
    journal = () => stored(join(it.home, ".local/state/cairn/workspaces"));
  },
});
const keys = () => window.page.keyboard;
const items = () => view.locator(".log .item");
const earlier = (words) => view.getByRole("button", { name: words });
const task = (number) => view.locator("[role=article]", { has: view.locator(`.bubble:text-is("Task ${number}")`) });

/** Writes the journal of the long session beside the one that is there, and returns its path. */
async function stored(workspaces) {
  const [workspace] = await readdir(workspaces);
  const path = join(workspaces, workspace, "sessions/s-long.log");
  await writeFile(path, lines().map(encoded).join(""), { mode: 0o600 });
  return path;
}

function lines() {
  const surroundings = { folders: ["/work"], os: "linux", date: "2026-11-22", plan_tool: "TodoWrite", instructions: [] };
  const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
  const turns = Array.from({ length: TURNS }, (_, number) => {
    const turnId = `t-${number}`;
    const call = (part, over) => ({
      tool: { sessionId: "s-long", turnId, rev: number * 4 + part, callId: `c-${number}-${part}`, state: "done", ...over },
    });
    return [
      { turn: { turnId, task: `Task ${number}`, mode: "review" } },
      call(2, { name: "read_file", title: `Read src/part-${number}.ts`, toolKind: "read" }),
      call(3, { name: "bash", title: `Run make part-${number}`, toolKind: "run", detail: `built ${number}` }),
      { ended: { turnId, reason: "completed", summary: `Part ${number} is built.`, openItems: 0, usage } },
    ];
  });
  const digest = { task: "Build all parts", turns: TURNS, running: false, done: 0, open: 0 };
  return [{ session: { version: 1, sessionId: "s-long", surroundings } }, ...turns.flat(), { digest }];
}

function encoded(line, index) {
  const json = JSON.stringify(line);
  return `${index + 1} ${crc32(`${index + 1} ${json}`)
    .toString(16)
    .padStart(8, "0")} ${json}\n`;
}

/** The first item in sight, and its distance from the top of the list. */
function place() {
  return view.locator(".log").evaluate((log) => {
    const top = log.getBoundingClientRect().top;
    const seen = [...log.querySelectorAll(".item")].find((item) => item.getBoundingClientRect().bottom > top);
    return { id: seen.dataset.id, top: seen.getBoundingClientRect().top - top };
  });
}

/** Distance of an item from the top of the list. */
function topOf(id) {
  return view.locator(".log").evaluate((log, id) => {
    const item = [...log.querySelectorAll(".item")].find(({ dataset }) => dataset.id === id);
    return item.getBoundingClientRect().top - log.getBoundingClientRect().top;
  }, id);
}

step("a long session is opened at its end", async () => {
  await window.command("Cairn: Show Conversation");
  await window.composer().fill("Hello");
  await window.composer().press("Enter");
  await (await model.next()).say("Hello.");
  await window.article("Done").waitFor();
  journal = await journal();
  await window.command("Cairn: Open Session");
  await window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Build all parts" }).click();
  await task(TURNS - 1).waitFor();
  assert.ok((await items().count()) < 400, "only the end is drawn");
});

step("what is read stays where it is while earlier turns are drawn and read", async () => {
  const log = view.locator(".log");
  for (let pages = 0; pages < 6; pages += 1) {
    const before = await items().count();
    // A reader who scrolls up.
    await log.evaluate((element) => (element.scrollTop = 120));
    const seen = await place();
    await until(async () => (await items().count()) > before, 10 * SECOND, "earlier turns");
    const moved = Math.abs((await topOf(seen.id)) - seen.top);
    assert.ok(moved <= 2, `${seen.id} moved by ${moved} px`);
  }
  await window.screenshot("history-01 reading");
});

step("a page that cannot be read is named, and read when asked again", async () => {
  await rename(journal, `${journal}.away`);
  await items().last().focus();
  await until(
    async () => {
      await keys().press("Home");
      return (await earlier("Earlier messages could not be read").count()) > 0;
    },
    20 * SECOND,
    "the reason",
  );
  await window.screenshot("history-02 a page that cannot be read");
  await window.sideBarWidth(240);
  await window.theme("Dark Modern");
  await window.screenshot("history-03 narrow");
  const { left, right } = await earlier("Earlier messages could not be read").evaluate((row) => row.getBoundingClientRect());
  const width = await view.locator("body").evaluate((body) => body.clientWidth);
  assert.ok(left >= 0 && right <= width, `from ${left} to ${right} of ${width}`);
  await rename(`${journal}.away`, journal);
  await earlier("Earlier messages could not be read").press("Enter");
  await earlier("Earlier messages could not be read").waitFor({ state: "detached" });
});

step("the Home key leads to the first message, with a bounded part in the page", async () => {
  await items().first().focus();
  await until(
    async () => {
      await keys().press("Home");
      const drawn = await items().count();
      assert.ok(drawn <= MOST_DRAWN, `${drawn} items`);
      return (await task(0).count()) > 0;
    },
    60 * SECOND,
    "the first message",
  );
  await keys().press("Home");
  await until(async () => (await view.locator(".item:focus").getAttribute("data-id")) === "user:t-0", 5 * SECOND, "the focus on the first message");
  await earlier("Show Earlier").waitFor({ state: "hidden" });
  await window.screenshot("history-04 the first message");
});

step("scrolling down leads on, and the newest messages are one click away", async () => {
  const log = view.locator(".log");
  const last = await items().last().getAttribute("data-id");
  await log.evaluate((element) => (element.scrollTop = element.scrollHeight));
  await until(async () => (await items().last().getAttribute("data-id")) !== last, 20 * SECOND, "later turns");
  await window.screenshot("history-05 later");
  await earlier("Newest messages").click();
  await task(TURNS - 1).waitFor();
  await earlier("Newest messages").waitFor({ state: "hidden" });
  const left = await log.evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
  assert.ok(left < 24, `${left} px from the end`);
});

step("a message that is sent while the beginning is read leads back to the end", async () => {
  await items().last().focus();
  await until(
    async () => {
      await keys().press("Home");
      return (await earlier("Newest messages").count()) > 0;
    },
    30 * SECOND,
    "the newest entries are left out",
  );
  await window.composer().fill("And now?");
  await window.composer().press("Enter");
  await (await model.next()).say("All is built.");
  await window.article("All is built.").waitFor();
});
