// `make recording`: the pictures of the README. Runs the sample task in VS Code, by keyboard, and takes a picture
// after each thing that a user sees for the recording, and one in a light and a dark theme at the first question.

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { ensureEditor, freshCopy, openFolder, privateHome, replay, repository, sample, startEditor, temporaryFolder } from "./editor.mjs";
import { openBrowser, openWindow } from "./window.mjs";

const SIZE = { width: 1200, height: 760 };
/** Time for which a picture is shown, in milliseconds. */
const [SHORT, LONG] = [900, 2_200];
const images = join(repository, "docs/images");

await ensureEditor((line) => process.stdout.write(`${line}\n`));
const folder = await temporaryFolder("recording");
const home = join(folder, "home");
const settings = { "editor.minimap.enabled": false, "editor.cursorBlinking": "solid", "workbench.reduceMotion": "on", "git.enabled": false };
const machine = { "cairn.model.replayFile": replay("sample") };
const editor = await startEditor({ workspace: await freshCopy(sample, join(folder, "shop")), home, settings, machine, env: privateHome(home) });
const browser = await openBrowser();
const frames = [];
try {
  const window = await openWindow(await browser.newContext(), editor.url, SIZE);
  const { page } = window;
  const composer = window.composer();
  const shown = async (time) => {
    const path = join(folder, `frame ${frames.length}.png`);
    await page.screenshot({ path });
    frames.push({ path, time });
  };
  await window.status().first().waitFor();
  await window.open("src/cart.mjs");
  await window.command("View: Toggle Primary Side Bar Visibility");
  await window.command("Cairn: Show Conversation");
  await composer.waitFor();
  await window.sideBarWidth(400);
  await composer.click();
  await shown(SHORT);
  for (const words of ["find out why ", "the tests fail, ", "and fix it"]) {
    await composer.pressSequentially(words);
    await shown(SHORT / 2);
  }
  await page.keyboard.press("Enter");
  await window.row("Plan", "Reading the tests and the code, in progress").waitFor();
  await shown(LONG);
  await window.row("Plan", "Correcting the discount, in progress").waitFor();
  await shown(SHORT);
  const allow = window.conversation().getByRole("button", { name: "Allow Once" });
  await allow.waitFor();
  await window.lens("Accept").first().waitFor();
  await shown(LONG);
  await allow.click();
  await window.conversation().locator(".end.completed, .end.needsInput").first().waitFor();
  await shown(LONG);
  await window.command("Agent: review edits");
  const reviewing = window.status().filter({ hasText: "REVIEW" });
  const edits = async () => Number((await window.status().filter({ hasText: "to review" }).innerText()).match(/\d+/)?.[0]);
  await reviewing.waitFor();
  await shown(LONG);
  for (let left = await edits(); left > 0; left -= 1) {
    await page.keyboard.press("y");
    await window
      .status()
      .filter({ hasText: left === 1 ? "to review" : new RegExp(`\\b${left - 1} edits? to review`) })
      .waitFor({ state: left === 1 ? "hidden" : "visible" });
    await shown(SHORT);
  }
  await shown(LONG);
  await picture("Light Modern", "review.png");
  await picture("Dark Modern", "review-dark.png");
  await promisify(execFile)("img2webp", [
    "-loop",
    "0",
    "-lossy",
    "-q",
    "60",
    ...frames.flatMap(({ path, time }) => ["-d", String(time), path]),
    "-o",
    join(images, "tour.webp"),
  ]);
} finally {
  await browser.close();
  await editor.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Takes a picture of the sample task at its question about a command, in a separate window. */
async function picture(theme, name) {
  const workspace = await freshCopy(sample, join(folder, theme, "shop"));
  const { url } = await openFolder(editor.place, { workspace, settings: { ...settings, "workbench.colorTheme": theme }, machine });
  const window = await openWindow(await browser.newContext(), url, { width: 1400, height: 860 });
  await window.status().first().waitFor();
  await window.open("src/cart.mjs");
  await window.command("View: Toggle Primary Side Bar Visibility");
  await window.showConversation();
  await window.sideBarWidth(440);
  await window.composer().fill("Find out why the tests fail, and fix it");
  await window.composer().press("Enter");
  await window.conversation().getByRole("button", { name: "Allow Once" }).and(window.conversation().locator(":not([aria-disabled])")).waitFor();
  await window.zone("let sum = 0;").waitFor();
  await window.page.mouse.move(500, 500);
  await window.page.screenshot({ path: join(images, name) });
  await window.leave();
}
