// The servers that play a replay script to an agent in all wire formats: third-party software
// that knows nothing of Cairn. Each listens on loopback, on a free port, for one run.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const START_LIMIT_MS = 60_000;
const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Spawns a program that this process does not leave behind. */
export function start(program, parameters, options) {
  const child = spawn(program, parameters, options);
  running.add(child);
  child.ended = new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  }).finally(() => running.delete(child));
  return child;
}

/**
 * `@copilotkit/aimock`. It answers a step only to a request that has all steps before in it and
 * ends with the result of the last call, and it asks for the key. A fault comes before the step
 * it is named for; its answer is then given to the repeated request. Without `turns` a step is
 * known by the result before it alone: in a format whose calls are items of their own the server
 * counts other turns than the script has.
 */
export async function aimock({ cache, folder, script, task, results, faults, turns }) {
  const fixtures = script.steps.flatMap((step, turn) => {
    const before = script.steps[turn - 1]?.calls ?? [];
    const asked =
      turn === 0
        ? { userMessage: task, hasToolResult: false }
        : { toolCallId: callId(turn - 1, before.length - 1), toolResultContains: results[before.at(-1).name] };
    const match = { ...(turns ? { turnIndex: turn } : {}), ...asked };
    const toolCalls = step.calls?.map((call, index) => ({ id: callId(turn, index), ...call }));
    const response = { content: step.text, toolCalls };
    const fault = faults[turn] && { match: { ...match, sequenceIndex: 0 }, response, ...faults[turn] };
    return [...(fault ? [fault] : []), { match, response }];
  });
  const file = join(folder, "fixtures.json");
  await writeFile(file, JSON.stringify({ fixtures }));
  const key = randomUUID();
  const program = join(cache, "node_modules/@copilotkit/aimock/dist/cli.js");
  const server = await listening(
    process.execPath,
    [program, "--port", "0", "--fixtures", file, "--strict", "--validate-on-load", "--chunk-size", "8"],
    { AIMOCK_API_KEYS: key, AIMOCK_STRICT_TURN_INDEX: "1" },
    /listening on (http:\S+)/,
  );
  return {
    ...server,
    key,
    anthropic: server.url,
    openai: `${server.url}/v1`,
    async requests() {
      const journal = await json(`${server.url}/__aimock/journal`, { headers: { "x-api-key": key } });
      return journal.map(({ path, timestamp, response }) => ({
        path,
        at: timestamp,
        outcome: response.interruptReason ?? response.chaosAction ?? response.status,
      }));
    },
  };
}

/**
 * `llmock`, which judges how a client behaves. It plays its queue blindly, one reply a request;
 * the faults are what the first requests meet.
 */
export async function llmock({ cache, script, faults }) {
  const program = join(cache, "venv/bin/llmock");
  const parameters = ["serve", "--host", "127.0.0.1", "--port", "0"];
  const server = await listening(program, parameters, {}, /running on (http:\S+)/);
  const replies = script.steps.map(({ text, calls = [] }) => ({ type: "reply", text, tool_calls: calls }));
  // A stream that is broken has used up its reply.
  const broken = faults.filter(({ type }) => type === "stream_fault").map(() => replies[0]);
  const behaviors = [...faults, ...broken, ...replies];
  await json(`${server.url}/_llmock/scenario`, { method: "POST", body: JSON.stringify({ behaviors }) });
  return {
    ...server,
    key: randomUUID(),
    anthropic: `${server.url}/anthropic`,
    openai: `${server.url}/v1`,
    async unplayed() {
      return (await json(`${server.url}/_llmock/scenario`)).pending;
    },
    /** Its own verdict as text, and its exit code: 1 for a client that misbehaved. */
    async report() {
      const child = start(program, ["report", "--strict", "--url", server.url], { env: environment({}) });
      const text = collect(child);
      return { code: await child.ended, text: text() };
    },
  };
}

/** Environment of a program: without the keys, proxies and settings of the user. */
export function environment(variables) {
  const { PATH, HOME, TMPDIR = "/tmp" } = process.env;
  return { PATH, HOME, TMPDIR, ...variables };
}

/** All that a child says from now on. */
export function collect(child) {
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (said += text));
  }
  return () => said;
}

function callId(turn, index) {
  return `call_${turn}_${index}`;
}

/** Starts a server and waits until it says where it listens. */
async function listening(program, parameters, variables, pattern) {
  const child = start(program, parameters, { env: environment(variables) });
  const log = collect(child);
  const until = Date.now() + START_LIMIT_MS;
  const ended = child.ended.then((code) => `it ended with ${code}`);
  let url;
  while (!(url = pattern.exec(log())?.[1])) {
    const end = await Promise.race([ended, delay(50)]);
    if (end || Date.now() > until) {
      throw new Error(`${program} did not start: ${end ?? "it is too slow"}\n${log()}`);
    }
  }
  const stop = async () => {
    child.kill("SIGKILL");
    await child.ended;
  };
  return { url, log, stop };
}

async function json(url, options) {
  const answer = await fetch(url, options);
  if (!answer.ok) {
    throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  }
  return answer.json();
}
