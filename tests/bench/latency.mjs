// How long a user waits, measured in a real VS Code: `make bench-editor` prints the table of
// docs/performance.md. A model server in this process writes the last byte; an observer in the
// page tells when the rows have changed; both read the same clock of the machine.

import { execFile } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { cpuSince, cpuTimes } from "../e2e/cpu.mjs";
import { measureDecisions } from "./decisions.mjs";
import { ensureEditor, privateHome, repository, startEditor, temporaryFolder } from "../e2e/editor.mjs";
import { openModel } from "../e2e/model.mjs";
import { measurePage, quantiles } from "./page.mjs";
import { openBrowser, openWindow } from "../e2e/window.mjs";

const SECOND = 1_000;
const [WARM_UP, UPDATES, ITEMS] = [10, 60, 20];
const [FILES, HUNKS, DECISIONS] = [100, 10, Number(process.env.DECISIONS ?? 5)];

const now = () => performance.timeOrigin + performance.now();
const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));

// Ended from outside, it still ends the editors that it started.
let stop = async () => {};
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => void stop().finally(() => process.exit(1)));
}

const folder = await temporaryFolder("latency");
const browser = await openBrowser();
try {
  await ensureEditor((line) => process.stderr.write(`${line}\n`));
  const baseline = await withEditor("baseline", { extension: await packBaseline() }, async ({ window, model }) => {
    await show(window, "Baseline");
    return { plan: await updates(window, model) };
  });
  const review = await withEditor("review", {}, oneWord);
  const ours = await withEditor("ours", {}, plansAndDecisions);
  const short = await measurePage(browser, { items: 100, pieces: 300, everyMs: 10 });
  const pages = await inTurn(3, () => measurePage(browser, { items: 10_000, pieces: 300, everyMs: 10 }));
  const rows = [
    ["last byte of a todo call of 20 items → its rows changed", ours.plan],
    ["the same with an empty extension", baseline.plan],
    [`accept all: ${FILES * HUNKS} edits in ${FILES} files, click → the view is empty`, ours.accept],
    [`reject all: the same`, ours.reject],
    [`the agent proposing them: ${FILES} files, one call each`, ours.propose],
    ["conversation of 10,000 items: message → drawn", pages.map(({ first }) => first)],
    ["a piece of an answer below it, with its layout", pages.flatMap(({ append }) => append)],
    ["longest task of the page while 100 pieces a second come; 0 if all are shorter than 50 ms", pages.map(({ longest }) => longest)],
    ["key of a decision → the edit painted without marks", review.paint],
  ];
  console.log("| what | min | p50 | p95 | max | samples |\n|---|---|---|---|---|---|");
  for (const [what, samples] of rows.filter(([, samples]) => samples.length > 0)) {
    const at = quantiles(samples);
    const shown = [0, 0.5, 0.95, 1].map((share) => `${at(share).toFixed(1)} ms`);
    console.log(`| ${[what, ...shown, samples.length].join(" | ")} |`);
  }
  const [us, them] = [quantiles(ours.plan), quantiles(baseline.plan)];
  const { withLens, without } = review.pixels;
  console.log(`| keys for each edit decided |  | ${review.keys.toFixed(2)} |  |  |  |`);
  console.log(`| pixels that a changed word adds, without its lens |  | ${without.toFixed(1)} |  |  |  |`);
  console.log(`| with its lens |  | ${withLens.toFixed(1)} |  |  |  |`);
  const [long, few] = [quantiles(pages.flatMap(({ append }) => append)), quantiles(short.append)];
  console.log(
    `| a piece of an answer after 10,000 items : after 100 |  | ${(long(0.5) / few(0.5)).toFixed(2)} | ${(long(0.95) / few(0.95)).toFixed(2)} |  |  |`,
  );
  console.log(`| ours : baseline |  | ${(us(0.5) / them(0.5)).toFixed(2)} | ${(us(0.95) / them(0.95)).toFixed(2)} |  |  |`);
} finally {
  await browser.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Results of a measurement that is made some times, one after the other. */
async function inTurn(times, measure) {
  const results = [];
  while (results.length < times) {
    results.push(await measure());
  }
  return results;
}

async function withEditor(name, options, body) {
  const model = await openModel();
  const workspace = join(folder, name, "workspace");
  await mkdir(workspace, { recursive: true });
  for (let file = 0; file < FILES; file += 1) {
    await writeFile(
      join(workspace, fileName(file)),
      text(() => "old"),
    );
  }
  const home = join(folder, name, "home");
  const daemon = process.env.CAIRN_DAEMON ? { "cairn.daemon.path": process.env.CAIRN_DAEMON } : {};
  const editor = await startEditor({
    workspace,
    home,
    ...options,
    settings: { ...model.settings, "workbench.reduceMotion": "on", "git.enabled": false, "cairn.limits.rounds": 1_000 },
    machine: daemon,
    env: { ...privateHome(home), BASELINE_URL: model.url, ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "", ANTHROPIC_BASE_URL: "", OPENAI_BASE_URL: "" },
  });
  stop = () => editor.stop();
  try {
    const window = await openWindow(await browser.newContext(), editor.url, { width: 1280, height: 1200 });
    return await body({ window, model, workspace, configure: editor.configure });
  } finally {
    await editor.stop();
    await model.close();
  }
}

async function plansAndDecisions({ window, model }) {
  await window
    .status()
    .locator('[aria-label*="scripted"]')
    .waitFor({ timeout: 30 * SECOND });
  await window.showConversation();
  await window.unfold("Proposed Edits", true);
  await window.unfold("Conversation", false);
  // All rows of a plan are in sight only if its view has the side bar for itself.
  await window.unfold("Proposed Edits", false);
  await task(window);
  const plan = await updates(window, model);
  await window.unfold("Proposed Edits", true);
  const accept = [];
  const reject = [];
  const proposals = [];
  for (let round = 0; round < 2 * DECISIONS; round += 1) {
    const [decision, times] = round % 2 === 0 ? ["accept", accept] : ["reject", reject];
    const [asked, before] = [now(), cpuTimes()];
    await propose(model, `new ${round}`);
    await window.page.locator('.pane-header[aria-label^="Proposed Edits"]', { hasText: String(FILES * HUNKS) }).waitFor({ timeout: 120 * SECOND });
    proposals.push(now() - asked);
    process.stderr.write(`${FILES} files proposed: ${proposals.at(-1).toFixed(0)} ms; CPU: ${cpuSince(before)}\n`);
    // Until the editor has drawn what came last.
    await pause(2 * SECOND);
    times.push(await decideAll(window, decision));
  }
  return { plan, accept, reject, propose: proposals };
}

async function oneWord(it) {
  await it.window
    .status()
    .locator('[aria-label*="scripted"]')
    .waitFor({ timeout: 30 * SECOND });
  await it.window.showConversation();
  await it.window.unfold("Proposed Edits", true);
  await it.window.unfold("Conversation", false);
  const measured = await measureDecisions(it);
  process.stderr.write(`a decision painted: ${quantiles(measured.paint)(0.5).toFixed(1)} ms; keys: ${measured.keys}; zones: ${measured.zones}\n`);
  return measured;
}

/** Opens the side bar of the baseline, as soon as the extension is there. */
async function show({ page }, title) {
  await page.locator(`.activitybar .action-item .action-label[aria-label^="${title}"]`).click();
  await page.locator('.pane-header[aria-label^="Plan"]').waitFor();
}

async function task(window) {
  await window.command("Agent: run task");
  await window.answer("New Task", "Measure");
}

/** From the last byte of an answer with a plan until each of its rows in the view is the new one. */
async function updates(window, model) {
  const times = [];
  for (let update = 0; update < WARM_UP + UPDATES; update += 1) {
    const exchange = await within(30, model.next(), window);
    const todos = Array.from({ length: ITEMS }, (_, item) => ({
      content: `Update ${update}, item ${item}`,
      activeForm: `Update ${update}, item ${item}`,
      status: item < update % ITEMS ? "completed" : item === update % ITEMS ? "in_progress" : "pending",
    }));
    const events = exchange.eventsOf({ name: "TodoWrite", arguments: { todos } });
    const changed = await watch(window, { view: "Plan", marker: `Update ${update}, item`, count: ITEMS });
    exchange.begin(events.slice(0, -2));
    // A model takes its time for a list this long. VS Code draws a view at once only if it has not
    // been drawn in the last 200 ms.
    await pause(500);
    const sent = now();
    const ended = exchange.end(events.slice(-2));
    const elapsed = (await within(20, changed(), window)) - sent;
    await ended;
    if (update >= WARM_UP) {
      times.push(elapsed);
    }
  }
  process.stderr.write(`a todo call of ${ITEMS} items: ${quantiles(times)(0.5).toFixed(1)} ms\n`);
  return times;
}

/** Resolves once the page watches; what it gives resolves with the time at which all rows are there. */
async function watch({ page }, wanted) {
  await page.evaluate(({ view, marker, count }) => {
    const rows = () => document.querySelectorAll(`.pane:has(.pane-header[aria-label^="${view}"]) [role=treeitem]`);
    // A view comes with what it shows first.
    const text = () => document.querySelector(`.pane:has(.pane-header[aria-label^="${view}"])`)?.textContent;
    const before = text();
    globalThis.first = undefined;
    globalThis.seen = new Promise((resolve) => {
      const look = () => {
        if (globalThis.first === undefined && text() !== before) {
          globalThis.first = performance.timeOrigin + performance.now();
        }
        const found = [...rows()].filter((row) => row.textContent.includes(marker)).length;
        if (found === count && (count > 0 || rows().length === 0)) {
          observer.disconnect();
          resolve(performance.timeOrigin + performance.now());
        }
      };
      const part = () => document.querySelector('.pane-header:is([aria-label^="Plan"], [aria-label^="Proposed Edits"])')?.closest(".part");
      const observer = new MutationObserver(() => {
        observe();
        look();
      });
      // The first plan brings its view: until then only the whole window can be observed.
      let observed;
      const observe = () => {
        const target = part() ?? document.body;
        if (target !== observed) {
          observed = target;
          observer.disconnect();
          observer.observe(target, { subtree: true, childList: true, characterData: true, attributes: true });
        }
      };
      observe();
    });
  }, wanted);
  return () => page.evaluate(() => globalThis.seen);
}

/** Waits for a result. A timeout takes a screenshot and ends the run. */
async function within(seconds, awaited, window) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came in ${seconds} s`)), seconds * SECOND);
  });
  try {
    return await Promise.race([awaited, late]);
  } catch (error) {
    await window.screenshot("failed latency");
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** One answer that changes ten places in each of a hundred files. */
async function propose(model, word) {
  const exchange = await model.next();
  const calls = Array.from({ length: FILES }, (_, file) => ({
    name: "write_file",
    arguments: { path: fileName(file), content: text((line) => (line % 4 === 0 ? word : undefined)) },
  }));
  await exchange.call(...calls);
}

async function decideAll(window, decision) {
  const pane = '.pane:has(.pane-header[aria-label^="Proposed Edits"])';
  const button = window.page.locator(`${pane} .pane-header .action-label[aria-label^="${decision === "accept" ? "Accept" : "Reject"} All Edits"]`);
  await window.page.locator(`${pane} .pane-header`).hover();
  await button.waitFor();
  const empty = await watch(window, { view: "Proposed Edits", marker: "", count: 0 });
  const before = cpuTimes();
  const box = await button.boundingBox();
  await window.page.evaluate(() => {
    document.addEventListener(
      "mousedown",
      () => {
        globalThis.clicked = performance.timeOrigin + performance.now();
      },
      { capture: true, once: true },
    );
  });
  await window.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  const end = await empty();
  const used = cpuSince(before);
  const [clicked, first] = await window.page.evaluate(() => [globalThis.clicked, globalThis.first]);
  const at = (time) => `${(time - clicked).toFixed(0)} ms`;
  process.stderr.write(`${decision} all: ${at(first)} until the list changes, ${at(end)} until it is empty; CPU: ${used}\n`);
  return end - clicked;
}

async function packBaseline() {
  const source = join(folder, "baseline_extension");
  const out = join(folder, "baseline.vsix");
  await cp(join(repository, "tests/bench/baseline_extension"), source, { recursive: true });
  await writeFile(join(source, "README.md"), "Nothing.\n");
  await writeFile(join(source, "LICENSE"), "See the package.\n");
  const vsce = join(repository, "vscode-extension/node_modules/@vscode/vsce/vsce");
  await promisify(execFile)(process.execPath, [vsce, "package", "--no-dependencies", "--allow-missing-repository", "--out", out], { cwd: source });
  return out;
}

function fileName(file) {
  return `file-${String(file).padStart(3, "0")}.txt`;
}

/** Forty lines, some with another word. */
function text(word) {
  return Array.from({ length: HUNKS * 4 }, (_, line) => `${word(line) ?? "old"} line ${line}\n`).join("");
}
