// Runs the Rust tests: unit, property, protocol, agent-loop, lifecycle and client tests.
//
//     node rust.mjs [ARGUMENT of `cargo test` …]
//
// A test that fails runs once more, alone (`verdict.mjs`). Plain `cargo test` and not cargo-nextest: the tests of a
// program share its process, such as the table of attacks, and every machine runs them in the same way.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";

import { conclude } from "./verdict.mjs";

const started = performance.now();
const chosen = process.argv.slice(2);
// Tests wait for processes: one test for each core leaves 40 % of the CPU time unused.
const first = await cargoTest([`--test-threads=${2 * availableParallelism()}`]);
let [again, missing] = [{ passed: 0, failed: [] }, false];
if (first.failed.length > 0) {
  console.log(`\nOnce more, alone: ${first.failed.map(({ name }) => name).join(", ")}`);
  again = await cargoTest(["--test-threads=1", "--exact", ...first.failed.map(({ name }) => name)]);
  // A test that is not found again has not passed.
  missing = again.passed + again.failed.length < first.failed.length;
}
const failedTwice = new Set(again.failed.map(({ name }) => name));
const ended = [first, again].find(({ crashed }) => crashed) !== undefined;
const green = await conclude(
  "rust",
  {
    passed: first.passed + again.passed,
    skipped: first.ignored,
    failed: [
      ...again.failed,
      ...(ended ? [{ name: "a test program", reason: "It did not build, or ended before all its tests: see above." }] : []),
      ...(missing ? [{ name: "a failed test", reason: "It was not found again." }] : []),
    ],
    unstable: ended || missing ? [] : first.failed.filter(({ name }) => !failedTwice.has(name)),
  },
  started,
);
process.exitCode = green ? 0 : 1;

/** Runs `cargo test`, prints what it prints, and reads its results. */
async function cargoTest(options) {
  const cargo = spawn(process.env.CARGO || "cargo", ["test", "--locked", "--no-fail-fast", ...chosen, "--", "--format", "terse", ...options], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const result = { passed: 0, ignored: 0, failed: [], crashed: false };
  const exited = once(cargo, "close");
  let [programs, results] = [0, 0];
  createInterface({ input: cargo.stderr }).on("line", (line) => {
    console.error(line);
    programs += /^ +(Running|Doc-tests) /u.test(stripVTControlCharacters(line)) ? 1 : 0;
  });
  const reasons = new Map();
  let [reason, listing, announced] = [undefined, false, 0];
  for await (const line of createInterface({ input: cargo.stdout })) {
    console.log(line);
    const [, passed, failed, ignored] = /^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored/u.exec(line) ?? [];
    const [, block] = /^---- (.+) stdout ----$/u.exec(line) ?? [];
    if (passed !== undefined) {
      results += 1;
      result.passed += Number(passed);
      result.ignored += Number(ignored);
      announced += Number(failed);
      [reason, listing] = [undefined, false];
    } else if (line === "failures:") {
      [reason, listing] = [undefined, true];
    } else if (block !== undefined) {
      reason = [];
      reasons.set(block, reason);
    } else if (reason !== undefined) {
      reason.push(line);
    } else if (listing && /^ {4}\S/u.test(line)) {
      const name = line.trim();
      result.failed.push({ name, reason: (reasons.get(name) ?? []).join("\n") });
    }
  }
  const [code] = await exited;
  // A program that ends by a signal has no result, and text of a test may look like a name.
  result.crashed = results < programs || result.failed.length !== announced || (code !== 0 && announced === 0);
  return result;
}
