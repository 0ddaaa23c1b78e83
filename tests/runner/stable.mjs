// Runs the end-to-end tests many times in a row, every second time beside programs that keep all cores busy, and
// prints a table. Green if no run is red and at most two steps in all are unstable.
//
//     node stable.mjs RUNS [FILE …]

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";

import { artifacts, duration, repository } from "./verdict.mjs";

const MOST_UNSTABLE = 2;

const [runs, ...files] = process.argv.slice(2);
const rows = [];
for (let number = 1; number <= Number(runs); number += 1) {
  const row = await runOnce(number, number % 2 === 0);
  rows.push(row);
  console.log(`run ${number} of ${runs}: ${row.result}${row.busy ? ", busy" : ""}, ${row.took}, ${row.counts}`);
}
console.log("\n| run | beside | time | result | counts | unstable steps |\n|---|---|---|---|---|---|");
rows.forEach(({ number, busy, took, result, counts, unstable }) =>
  console.log(`| ${number} | ${busy ? "busy cores" : "nothing"} | ${took} | ${result} | ${counts} | ${unstable.join("; ")} |`),
);
const [red, unstable] = [rows.filter(({ result }) => result === "red").length, rows.flatMap(({ unstable }) => unstable).length];
console.log(`\n${rows.length} runs: ${red} red, ${unstable} unstable steps (at most 0 and ${MOST_UNSTABLE})`);
process.exitCode = red === 0 && unstable <= MOST_UNSTABLE ? 0 : 1;

async function runOnce(number, busy) {
  const burners = busy ? Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" })) : [];
  const started = performance.now();
  try {
    await mkdir(artifacts, { recursive: true });
    const log = createWriteStream(join(artifacts, `stable-${number}.log`));
    const suite = spawn(process.execPath, [join(repository, "tests/e2e/suite.mjs"), ...files], { stdio: ["ignore", "pipe", "pipe"] });
    let end = "";
    suite.stdout.on("data", (chunk) => (end = (end + chunk).slice(-1_000)));
    suite.stdout.pipe(log, { end: false });
    suite.stderr.pipe(log, { end: false });
    const [code] = await once(suite, "close");
    log.end();
    const { e2e } = JSON.parse(await readFile(join(artifacts, "unstable.json"), "utf8"));
    return {
      ...{ number, busy, took: duration(performance.now() - started), result: code === 0 ? "green" : "red" },
      ...{ counts: end.trimEnd().split("\n").at(-1), unstable: e2e.map(({ name }) => name) },
    };
  } finally {
    burners.forEach((burner) => burner.kill("SIGKILL"));
  }
}
