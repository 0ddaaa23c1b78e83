// Runs the end-to-end tests: all files, or those that are named.
//
//     node suite.mjs [FILE …]
//
// Each file runs in its own process. The files of a worker share one editor and one browser, because starting them
// takes longer than most files (CAIRN_WORKERS: number of workers). A file that fails runs once more, alone, with its own
// editor (`../runner/verdict.mjs`). With CAIRN_E2E_ALONE set, every file starts its own; with CAIRN_E2E_ONCE set, none
// runs once more.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, rm, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { MARK } from "../runner/events.mjs";
import { artifacts, conclude, duration } from "../runner/verdict.mjs";
import { ensureEditor, freePort, startTestServer, temporaryFolder } from "./editor.mjs";

/** Longest time of one file, in milliseconds: for a file that hangs. */
const LONGEST = 15 * 60 * 1_000;

const started = performance.now();
const files = await named(process.argv.slice(2));
const workers = Number(process.env.CAIRN_WORKERS) || Math.min(4, availableParallelism());
const alone = Boolean(process.env.CAIRN_E2E_ALONE);
await forgetPictures();
if (!alone) {
  await ensureEditor((line) => console.log(line));
}

const servers = new Set();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => void Promise.all([...servers].map((server) => server.stop())).finally(() => process.exit(1)));
}
const results = new Map();
const queue = [...files];
await Promise.all(Array.from({ length: Math.min(workers, files.length) }, worker));
const unstable = [];
for (const file of files.filter((file) => results.get(file).failed.length > 0 && !process.env.CAIRN_E2E_ONCE)) {
  const first = results.get(file);
  console.log(`\nOnce more, alone: ${basename(file)}`);
  const second = await runFile(file);
  results.set(file, second);
  if (second.failed.length === 0) {
    unstable.push(...(await Promise.all(first.failed.map((failure) => withPicture(file, failure)))));
  }
}

const all = [...results.values()];
const sum = (count) => all.reduce((total, result) => total + result[count], 0);
const green = await conclude(
  "e2e",
  { passed: sum("passed"), skipped: sum("skipped"), failed: all.flatMap(({ failed }) => failed), unstable },
  started,
);
process.exitCode = green ? 0 : 1;

/** Runs files until none is left, all in one editor and one browser. */
async function worker() {
  if (alone) {
    await runQueued();
    return;
  }
  // Loaded here: the tests of this runner have no browser.
  const { startBrowser } = await import("./window.mjs");
  const folder = await temporaryFolder("suite");
  const statePort = await freePort();
  const server = await startTestServer(join(folder, "home"), statePort);
  servers.add(server);
  const browser = await startBrowser();
  try {
    await runQueued({ place: server.place, statePort, browser: browser.address });
  } finally {
    await browser.close();
    await server.stop();
    servers.delete(server);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function runQueued(shared) {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    results.set(file, await runFile(file, shared));
  }
}

/** Runs a file in a process of its own and prints each of its steps. */
async function runFile(file, shared) {
  const name = basename(file, ".test.mjs");
  const begun = performance.now();
  const result = { passed: 0, skipped: 0, failed: [] };
  const reporter = join(import.meta.dirname, "../runner/events.mjs");
  const tests = spawn(process.execPath, [`--test-reporter=${reporter}`, file], {
    cwd: import.meta.dirname,
    env: { ...process.env, CAIRN_E2E_SHARED: shared === undefined ? "" : JSON.stringify(shared) },
    stdio: ["ignore", "pipe", "inherit"],
    timeout: LONGEST,
    killSignal: "SIGKILL",
  });
  const ended = once(tests, "close");
  for await (const line of createInterface({ input: tests.stdout })) {
    if (line.startsWith(MARK)) {
      take(result, name, JSON.parse(line.slice(MARK.length)));
    } else {
      console.log(line);
    }
  }
  const [code, signal] = await ended;
  if (result.failed.length === 0 && (code !== 0 || result.passed + result.skipped === 0)) {
    const reason = code === 0 ? "The file has no test." : `The file ended with ${signal ?? code} before its last test was over.`;
    result.failed.push({ name, step: name, reason });
    console.log(`✖ ${name}: ${reason}`);
  }
  console.log(`  ${name}: ${duration(performance.now() - begun)}`);
  return result;
}

/** Counts and prints an event of a file. */
function take(result, file, { type, name, skip, took, reason, message }) {
  const skipped = skip !== undefined && skip !== false;
  switch (type) {
    case "test:pass":
      result[skipped ? "skipped" : "passed"] += 1;
      console.log(skipped ? `﹣ ${file}: ${name} (skipped: ${skip})` : `✔ ${file}: ${name} (${duration(took)})`);
      break;
    case "test:fail":
      result.failed.push({ name: `${file}: ${name}`, step: name, reason });
      console.log(`✖ ${file}: ${name} (${duration(took)})\n${reason}`);
      break;
    case "test:diagnostic":
      console.log(`  ${file}: ${message}`);
      break;
  }
}

/** The failure with its picture, if the step took one (`harness.mjs`). */
async function withPicture(file, { name, step, reason }) {
  const screenshot = join(artifacts, `failed ${step}.png`);
  const unit = basename(file);
  return (await stat(screenshot).catch(() => undefined)) === undefined ? { name, unit, reason } : { name, unit, reason, screenshot };
}

/** Pictures of failures belong to one run. */
async function forgetPictures() {
  const pictures = await readdir(artifacts).catch(() => []);
  await Promise.all(pictures.filter((picture) => picture.startsWith("failed ")).map((picture) => rm(join(artifacts, picture))));
}

async function named(names) {
  if (names.length > 0) {
    return names.map((name) => resolve(name));
  }
  const all = (await readdir(import.meta.dirname)).filter((name) => name.endsWith(".test.mjs"));
  const files = all.map((name) => join(import.meta.dirname, name));
  const sizes = new Map(await Promise.all(files.map(async (file) => [file, (await stat(file)).size])));
  // The longest first, so that no worker has a long one left when the others are done.
  return files.sort((a, b) => sizes.get(b) - sizes.get(a));
}
