// Runs the end-to-end tests: all files, or those that are named.
//
//     node suite.mjs [FILE …]
//
// One editor for each two cores (CAIRN_WORKERS: another number). A file that fails runs once more, alone, from a
// fresh editor (`../runner/verdict.mjs`).

import { once } from "node:events";
import { readdir, rm, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, join, resolve } from "node:path";
import { run } from "node:test";

import { artifacts, conclude, duration } from "../runner/verdict.mjs";

/** Longest time of one file, in milliseconds: for a file that hangs. */
const LONGEST = 15 * 60 * 1_000;

const started = performance.now();
const files = await named(process.argv.slice(2));
const workers = Number(process.env.CAIRN_WORKERS) || Math.max(1, Math.floor(availableParallelism() / 2));
await forgetPictures();

const results = new Map();
const queue = [...files];
await Promise.all(Array.from({ length: workers }, worker));
const again = files.filter((file) => results.get(file).failed.length > 0);
const unstable = [];
for (const file of again) {
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

async function worker() {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    results.set(file, await runFile(file));
  }
}

/** Runs a file in a process of its own and prints each of its steps. */
async function runFile(file) {
  const name = basename(file, ".test.mjs");
  const begun = performance.now();
  const result = { passed: 0, skipped: 0, failed: [] };
  const stream = run({ files: [file], concurrency: 1, timeout: LONGEST });
  stream.on("test:pass", ({ name: step, skip, details }) => {
    const skipped = skip !== undefined && skip !== false;
    result[skipped ? "skipped" : "passed"] += 1;
    console.log(`${skipped ? "﹣" : "✔"} ${name}: ${step}${skipped ? ` (skipped: ${skip})` : ` (${duration(details.duration_ms)})`}`);
  });
  stream.on("test:fail", ({ name: step, details }) => {
    const reason = String(details.error?.cause?.stack ?? details.error?.message ?? details.error);
    result.failed.push({ name: `${name}: ${step}`, step, reason });
    console.log(`✖ ${name}: ${step} (${duration(details.duration_ms)})\n${reason}`);
  });
  stream.on("test:diagnostic", ({ message, nesting }) => {
    // The counts of a file come as diagnostics, too: they are in the last line of all.
    if (nesting > 0 || !/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /u.test(message)) {
      console.log(`  ${name}: ${message}`);
    }
  });
  stream.on("test:stderr", ({ message }) => process.stderr.write(message));
  stream.on("test:stdout", ({ message }) => process.stdout.write(message));
  stream.resume();
  await once(stream, "end");
  if (result.passed + result.skipped + result.failed.length === 0) {
    result.failed.push({ name, step: name, reason: "The file has no test." });
  }
  console.log(`  ${name}: ${duration(performance.now() - begun)}`);
  return result;
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
  const all = await readdir(import.meta.dirname);
  return all
    .filter((name) => name.endsWith(".test.mjs"))
    .sort()
    .map((name) => join(import.meta.dirname, name));
}
