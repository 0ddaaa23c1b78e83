// The runners of the tests: what fails once is unstable, what fails twice is red.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { repository } from "./verdict.mjs";

let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "cairn-runner-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Runs a runner; resolves with its exit code, its output and the unstable tests that it wrote. */
async function run(script, args, env = {}) {
  // A test runner that runs in a test leaves its files out.
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const options = { env: { ...own, CAIRN_ARTIFACTS: folder, CAIRN_E2E_ALONE: "1", ...env } };
  const { code, output } = await new Promise((done) => {
    execFile(process.execPath, [join(repository, script), ...args], options, (error, stdout) => done({ code: error?.code ?? 0, output: stdout }));
  });
  return { code, output, unstable: JSON.parse(await readFile(join(folder, "unstable.json"), "utf8")) };
}

/** A test file with these tests; `once` fails in the first run of its file. */
async function file(name, tests) {
  const path = join(folder, `${name}.test.mjs`);
  const [ran, picture] = [`${path}.ran`, join(folder, `failed ${name} once.png`)].map((file) => JSON.stringify(file));
  const bodies = {
    passes: "",
    fails: 'throw new Error("always wrong");',
    once: `if (!existsSync(${ran})) { writeFileSync(${ran}, ""); writeFileSync(${picture}, ""); throw new Error("not ready yet"); }`,
    skips: 'context.skip("no such program");',
  };
  const lines = tests.map((kind) => `test("${name} ${kind}", (context) => { ${bodies[kind]} });`);
  await writeFile(path, ['import { existsSync, writeFileSync } from "node:fs";', 'import { test } from "node:test";', ...lines].join("\n"));
  return path;
}

const lastLine = (output) => output.trimEnd().split("\n").at(-1);

test("a file that fails once is unstable, and the run is green", async () => {
  const files = [await file("shaky", ["passes", "once", "skips"]), await file("firm", ["passes"])];
  const { code, output, unstable } = await run("tests/e2e/suite.mjs", files);
  assert.equal(code, 0, output);
  assert.equal(lastLine(output), "3 passed, 0 failed, 1 skipped");
  assert.match(output, /Unstable[^]*⚠ shaky: shaky once\n[^]*not ready yet/u);
  const [{ name, unit, reason, screenshot }, ...others] = unstable.e2e;
  assert.deepEqual([name, unit, screenshot, others], ["shaky: shaky once", "shaky.test.mjs", join(folder, "failed shaky once.png"), []]);
  assert.match(reason, /not ready yet/u);
});

test("a file that fails twice is red", async () => {
  const { code, output, unstable } = await run("tests/e2e/suite.mjs", [await file("broken", ["passes", "fails"])]);
  assert.equal(code, 1);
  assert.equal(lastLine(output), "1 passed, 1 failed, 0 skipped");
  assert.match(output, /Failed twice:\n {2}✖ broken: broken fails\n[^]*always wrong/u);
  assert.deepEqual(unstable.e2e, []);
});

test("more than three unstable files are red", async () => {
  const files = await Promise.all(["one", "two", "three", "four"].map((name) => file(name, ["once", "passes"])));
  const { code, output, unstable } = await run("tests/e2e/suite.mjs", files);
  assert.equal(code, 1);
  assert.equal(lastLine(output), "8 passed, 0 failed, 0 skipped");
  assert.match(output, /4 unstable: more than 3/u);
  assert.equal(unstable.e2e.length, 4);
});

test("a file without a test, and one that ends by itself, are red", async () => {
  const empty = join(folder, "empty.test.mjs");
  await writeFile(empty, "process.exit(3);");
  const { code, output } = await run("tests/e2e/suite.mjs", [empty]);
  assert.equal(code, 1);
  assert.match(lastLine(output), /^0 passed, 1 failed/u);
});

/** A program in the place of cargo that prints these outputs, one in each run, and fails while they do. */
async function cargo(...outputs) {
  const path = join(folder, "cargo.mjs");
  const count = join(folder, "cargo.runs");
  await rm(count, { force: true });
  const script = `#!${process.execPath}
import { existsSync, readFileSync, writeFileSync } from "node:fs";
const run = existsSync(${JSON.stringify(count)}) ? Number(readFileSync(${JSON.stringify(count)}, "utf8")) : 0;
writeFileSync(${JSON.stringify(count)}, String(run + 1));
console.error("     Running unittests src/lib.rs (target/debug/deps/suite-1)");
console.log("asked for: " + process.argv.slice(2).join(" "));
const output = ${JSON.stringify(outputs)}[run];
console.log(output);
process.exitCode = /FAILED|aborted/.test(output) ? 101 : 0;
`;
  await writeFile(path, script, { mode: 0o755 });
  return { CARGO: path };
}

const FAILED = `running 3 tests
.F.
failures:

---- review::keeps_lines stdout ----
thread 'review::keeps_lines' panicked: waited for the edit

failures:
    review::keeps_lines

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s
`;
const PASSED = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.10s\n";
const NOTHING = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 4 filtered out; finished in 0.10s\n";

test("a Rust test that fails once is unstable", async () => {
  const { code, output, unstable } = await run("tests/runner/rust.mjs", ["--workspace"], await cargo(FAILED, PASSED));
  assert.equal(code, 0, output);
  assert.match(output, /asked for: test .*--workspace -- .*--exact review::keeps_lines\n/u);
  assert.equal(lastLine(output), "3 passed, 0 failed, 1 skipped");
  assert.equal(unstable.rust[0].name, "review::keeps_lines");
  assert.match(unstable.rust[0].reason, /waited for the edit/u);
});

test("a Rust test that fails twice, is not found again, or ends its program is red", async () => {
  for (const outputs of [[FAILED, FAILED], [FAILED, NOTHING], [FAILED, "aborted"], ["aborted"]]) {
    const { code, output } = await run("tests/runner/rust.mjs", ["--workspace"], await cargo(...outputs));
    assert.equal(code, 1, output);
    assert.match(lastLine(output), /, [1-9] failed, /u);
  }
});
