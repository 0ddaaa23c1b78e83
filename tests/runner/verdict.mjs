// What a run of tests says at its end. A test that fails runs once more, alone: if it passes then, it is unstable,
// which is told but does not fail the run. Each unstable test is mended or deleted before new work begins.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const artifacts = process.env.CAIRN_ARTIFACTS || join(repository, "artifacts");

/** A run with more unstable tests is red: then more than an accident is wrong. */
const MOST_UNSTABLE = 3;

/**
 * Prints the end of a run and writes its unstable tests to `artifacts/unstable.json`.
 *
 * @param {string} suite  "e2e" or "rust"
 * @param {object} counts
 * @param {number} counts.passed   tests, each by its last run
 * @param {number} counts.skipped
 * @param {{name: string, reason: string}[]} counts.failed    failed in both runs
 * @param {{name: string, unit?: string, reason: string, screenshot?: string}[]} counts.unstable
 *   passed in the second run; those with the same `unit` (a file) are counted once
 * @param {number} started  `performance.now()` at the start
 * @returns {Promise<boolean>} true if the run is green
 */
export async function conclude(suite, { passed, skipped, failed, unstable }, started) {
  const units = new Set(unstable.map(({ unit, name }) => unit ?? name));
  const tooMany = units.size > MOST_UNSTABLE;
  if (failed.length > 0) {
    console.log("\nFailed twice:");
    failed.forEach(({ name, reason }) => console.log(`  ✖ ${name}\n${indented(reason)}`));
  }
  if (unstable.length > 0) {
    console.log("\nUnstable: failed, then passed alone. Mend each before new work.");
    unstable.forEach(({ name, reason, screenshot }) => {
      const picture = screenshot === undefined ? "" : `\n    screenshot: ${relative(repository, screenshot)}`;
      console.log(`  ⚠ ${name}\n${indented(reason)}${picture}`);
    });
  }
  if (tooMany) {
    console.log(`\n${units.size} unstable: more than ${MOST_UNSTABLE} are no accident, so the run is red.`);
  }
  await remember(suite, unstable);
  console.log(`\n${suite}: ${duration(performance.now() - started)}`);
  console.log(`${passed} passed, ${failed.length} failed, ${skipped} skipped`);
  return failed.length === 0 && !tooMany;
}

/** One file holds the unstable tests of the last run of each suite. */
async function remember(suite, unstable) {
  const file = join(artifacts, "unstable.json");
  const known = await readFile(file, "utf8").then(JSON.parse, () => ({}));
  await mkdir(artifacts, { recursive: true });
  await writeFile(file, `${JSON.stringify({ ...known, [suite]: unstable }, null, 2)}\n`);
}

export function duration(milliseconds) {
  const seconds = Math.round(milliseconds / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function indented(text) {
  return text
    .trimEnd()
    .split("\n")
    .slice(0, 40)
    .map((line) => `    ${line}`)
    .join("\n");
}
