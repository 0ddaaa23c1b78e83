// The whole sample task (read, plan, edit, write, run the tests, sum up), done on real files by
// the real `cairn run`, with third-party servers at the other end of all wire formats.
//
// usage: node task.mjs CAIRN CACHE    (tests/oracle/run.sh does the set-up)

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { aimock, collect, environment, llmock, start } from "./servers.mjs";

const [cairn, cache] = process.argv.slice(2);
if (!cache) {
  throw new Error("usage: node task.mjs CAIRN CACHE");
}
const tests = dirname(dirname(fileURLToPath(import.meta.url)));
const sample = join(tests, "sample");
const script = JSON.parse(readFileSync(join(tests, "replays/sample.json"), "utf8"));

const TASK = "Make the cart's tests pass.";
const RUN_LIMIT_MS = 120_000;

/** Text that the last result of a step must contain, by tool, before the next step is played. */
const RESULTS = { bash: "pass 7" };

/** Settings of each wire format, and the path of its requests. */
const FORMATS = {
  Messages: {
    path: "/v1/messages",
    turns: true,
    variables: ({ key, anthropic }) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: anthropic }),
  },
  "Chat Completions": {
    path: "/v1/chat/completions",
    turns: true,
    variables: ({ key, openai }) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: openai }),
  },
  Responses: {
    path: "/v1/responses",
    turns: false,
    variables: ({ key, openai }) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: openai, CAIRN_MODEL_API: "responses" }),
  },
};

/** By step. The pauses let what came before a cut reach the client. */
const RETRY_AFTER_S = 2;
const AIMOCK_FAULTS = {
  1: { response: failure(429, "rate_limit_error", { retryAfter: RETRY_AFTER_S }) },
  3: { response: failure(529, "overloaded_error") },
  4: { truncateAfterChunks: 3, latency: 30 },
  5: { chaos: { malformedRate: 1 } },
  6: { chaos: { disconnectRate: 1 } },
  7: { chaos: { dropRate: 1 } },
  // In the middle of the call's arguments.
  8: { truncateAfterChunks: 30, latency: 10 },
  9: { truncateAfterChunks: 5, latency: 30 },
};

/** All before the first good answer; one more and Cairn would rightly give up. */
const LLMOCK_FAULTS = [
  { type: "fail", status: 429, retry_after: RETRY_AFTER_S },
  { type: "fail", status: 529 },
  { type: "stream_fault", kind: "truncate", after_chunks: 3 },
  { type: "stream_fault", kind: "disconnect", after_chunks: 12 },
];

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => process.exit(1));
}
const folder = mkdtempSync(join(tmpdir(), "cairn-oracle-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

assert.notEqual(testsOf(sample).status, 0, "the sample has nothing to repair");
for (const [name, format] of Object.entries(FORMATS)) {
  await check(`${name}, aimock`, () => withAimock(format, {}));
  await check(`${name}, aimock with faults`, () => withAimock(format, AIMOCK_FAULTS));
  await check(`${name}, llmock with faults`, () => withLlmock(format));
}

async function withAimock(format, faults) {
  const server = await aimock({ cache, folder, script, task: TASK, results: RESULTS, faults, turns: format.turns });
  try {
    await doTask(server, format);
    const requests = await server.requests();
    const expected = script.steps.flatMap((_, turn) => (faults[turn] ? [outcomeOf(faults[turn]), 200] : [200]));
    assert.deepEqual(
      requests.map(({ outcome }) => outcome),
      expected,
      server.log(),
    );
    assert.deepEqual([...new Set(requests.map(({ path }) => path))], [format.path]);
    const limited = requests.findIndex(({ outcome }) => outcome === 429);
    if (limited >= 0) {
      const waited = requests[limited + 1].at - requests[limited].at;
      assert.ok(waited >= RETRY_AFTER_S * 1000, `asked again after ${waited} ms`);
    }
    return `${requests.length} requests: ${expected.join(" ")}`;
  } finally {
    await server.stop();
  }
}

async function withLlmock(format) {
  const server = await llmock({ cache, script, faults: LLMOCK_FAULTS });
  try {
    await doTask(server, format);
    assert.deepEqual(await server.unplayed(), []);
    const { code, text } = await server.report();
    assert.equal(code, 0, text);
    return text.trim().replaceAll(/\s+/g, " ");
  } finally {
    await server.stop();
  }
}

/** Does the task on a fresh copy of the sample and looks at all it leaves behind. */
async function doTask(server, format) {
  const workspace = freshCopy("work");
  const child = start(cairn, ["run", TASK, "--workspace", workspace, "--yes", "--allow-unsandboxed", "--allow-protected"], {
    env: environment({ CAIRN_MODEL: "scripted", ...format.variables(server) }),
    stdio: ["ignore", "pipe", "pipe"],
    timeout: RUN_LIMIT_MS,
  });
  const said = collect(child);
  const code = await child.ended;
  const out = said();
  assert.equal(code, 0, `cairn ended with ${code}:\n${out}\n${server.log()}`);
  assert.equal([...out.matchAll(/^Plan (\d\/\d)$/gm)].at(-1)?.[1], "5/5", out);
  assert.ok(out.includes(script.steps.at(-1).text), out);

  const after = testsOf(workspace);
  assert.equal(after.status, 0, after.stdout);

  // The diff shown is the whole difference: with it the original becomes what is there now.
  const diff = join(folder, "shown.diff");
  writeFileSync(diff, out.slice(out.indexOf("\n--- ") + 1));
  const patched = freshCopy("patched");
  execFileSync("git", ["apply", "--whitespace=nowarn", diff], { cwd: patched, env: environment({}) });
  const compared = spawnSync("diff", ["--recursive", patched, workspace], { encoding: "utf8" });
  assert.equal(compared.status, 0, compared.stdout);
}

async function check(name, run) {
  const started = Date.now();
  try {
    const outcome = await run();
    console.log(`${name}: done in ${((Date.now() - started) / 1000).toFixed(1)} s, ${outcome}`);
  } catch (error) {
    console.error(`${name}: ${error.message}`);
    process.exit(1);
  }
}

function freshCopy(name) {
  const copy = join(folder, name);
  rmSync(copy, { recursive: true, force: true });
  cpSync(sample, copy, { recursive: true });
  return copy;
}

function testsOf(workspace) {
  return spawnSync("node", ["--test"], { cwd: workspace, env: environment({}), encoding: "utf8" });
}

function failure(status, type, more) {
  return { error: { type, message: "A fault that is asked for." }, status, ...more };
}

function outcomeOf({ response, truncateAfterChunks, chaos = {} }) {
  if (truncateAfterChunks) {
    return "truncateAfterChunks";
  }
  return response?.status ?? Object.keys(chaos)[0].replace("Rate", "");
}
