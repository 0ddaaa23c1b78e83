// A stored session of 10,000 records in a real VS Code: it is read to its first message and back by keyboard, what
// is read stays where it is, and a bounded part of it is in the page.

import assert from "node:assert/strict";
import { readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";

import { tryUntil, until } from "./editor.mjs";
import { SECOND, home, model, scene, step, view, window } from "./harness.mjs";
import { asked } from "./look.mjs";

const TURNS = 2_500;
/** Elements of the list that may be there at once: two pages and the newest entries. */
const MOST_DRAWN = 3_000;

const key = (name) => window.page.keyboard.press(name);
const items = () => view.locator(".log .item");
const log = () => view.locator(".log");
// Text and id find an element at once. A search by role computes the visibility of thousands of elements.
/** Turns the wheel beyond an end of the drawn items. */
async function scrollTo(end) {
  await log().hover();
  await window.page.mouse.wheel(0, end === "first" ? -1_000_000 : 1_000_000);
}
const earlier = (words) => view.locator("button", { hasText: words });
const task = (number) => view.locator(`[data-id="user:t-${number}"]`);

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

/** Ids of the items that are in sight, as the browser says. */
function inSight() {
  return log().evaluate(
    (log) =>
      new Promise((done) => {
        const observer = new IntersectionObserver(
          (entries) => {
            observer.disconnect();
            done(entries.filter(({ isIntersecting }) => isIntersecting).map(({ target }) => target.dataset.id));
          },
          { root: log },
        );
        log.querySelectorAll(".item").forEach((item) => observer.observe(item));
      }),
  );
}

scene("a long session", { model: true, conversation: "shown" }, () => {
  let journal;

  step("a long session is opened at its end", async () => {
    await window.composer().fill("Hello");
    await window.composer().press("Enter");
    await (await model.next()).say("Hello.");
    await window.article("Done").waitFor();
    journal = await stored(join(home, ".local/state/cairn/workspaces"));
    await window.command("Cairn: Open Session");
    await asked("Open session");
    await window.choose("Build all parts");
    await task(TURNS - 1).waitFor();
    assert.ok((await items().count()) < 400, "only the end is drawn");
  });

  step("what is read stays where it is while earlier turns are drawn and read", async () => {
    for (let pages = 0; pages < 6; pages += 1) {
      const before = await items().count();
      // A reader at the top of what is drawn: earlier turns come above it.
      await scrollTo("first");
      const seen = await inSight();
      await until(async () => (await items().count()) > before, 10 * SECOND, "earlier turns");
      const still = await inSight();
      assert.ok(
        seen.some((id) => still.includes(id)),
        `of ${seen} in sight, none is: ${still}`,
      );
    }
    await window.screenshot("history-01 reading");
  });

  step("a page that cannot be read is named, and read when asked again", async () => {
    await rename(journal, `${journal}.away`);
    await items().last().focus();
    await tryUntil(() => key("Home"), earlier("Earlier messages could not be read"), "the reason");
    await window.screenshot("history-02 a page that cannot be read");
    await window.sideBarWidth(240);
    await window.screenshot("history-03 narrow");
    await rename(`${journal}.away`, journal);
    await earlier("Earlier messages could not be read").press("Enter");
    await earlier("Earlier messages could not be read").waitFor({ state: "detached" });
  });

  step("the Home key leads to the first message, with a bounded part in the page", async () => {
    await items().first().focus();
    await until(
      async () => {
        await key("Home");
        const drawn = await items().count();
        assert.ok(drawn <= MOST_DRAWN, `${drawn} items`);
        return (await task(0).count()) > 0 && (await view.locator(".item:focus").getAttribute("data-id", { timeout: SECOND })) === "user:t-0";
      },
      60 * SECOND,
      "the focus on the first message",
    );
    await earlier("Show Earlier").waitFor({ state: "hidden" });
    await window.screenshot("history-04 the first message");
  });

  step("scrolling down leads on, the newest messages are one click away, and a message leads to the end", async () => {
    const last = await items().last().getAttribute("data-id");
    await scrollTo("last");
    await until(async () => (await items().last().getAttribute("data-id")) !== last, 20 * SECOND, "later turns");
    await window.screenshot("history-05 later");
    await earlier("Newest messages").click();
    await task(TURNS - 1).waitFor();
    await earlier("Newest messages").waitFor({ state: "hidden" });
    const newest = await items().last().getAttribute("data-id");
    await until(async () => (await inSight()).includes(newest), 10 * SECOND, "the end in sight");
    await items().last().focus();
    await until(
      async () => {
        await key("Home");
        return await earlier("Newest messages").isVisible();
      },
      30 * SECOND,
      "a place where the newest entries are left out",
    );
    await window.composer().fill("And now?");
    await window.composer().press("Enter");
    await (await model.next()).say("All is built.");
    await window.article("All is built.").waitFor();
  });
});
