// `make recording`: the short recording of the README. Runs the sample task in VS Code, by keyboard, and
// takes a picture after each thing that a user sees.

import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { ensureEditor, freshCopy, privateHome, replay, repository, sample, startEditor, temporaryFolder } from "./editor.mjs";
import { openBrowser, openWindow } from "./window.mjs";

const SIZE = { width: 1200, height: 760 };
/** Time for which a picture is shown, in milliseconds. */
const [SHORT, LONG] = [900, 2_200];
const recording = join(repository, "docs/images/tour.webp");

await ensureEditor((line) => process.stdout.write(`${line}\n`));
const folder = await temporaryFolder("recording");
const home = join(folder, "home");
const editor = await startEditor({
  workspace: await freshCopy(sample, join(folder, "shop")),
  home,
  settings: { "editor.minimap.enabled": false, "editor.cursorBlinking": "solid", "workbench.reduceMotion": "on", "git.enabled": false },
  machine: { "cairn.model.replayFile": replay("sample") },
  env: privateHome(home),
});
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
  await promisify(execFile)("img2webp", [
    "-loop",
    "0",
    "-lossy",
    "-q",
    "60",
    ...frames.flatMap(({ path, time }) => ["-d", String(time), path]),
    "-o",
    recording,
  ]);
} finally {
  await browser.close();
  await editor.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}
