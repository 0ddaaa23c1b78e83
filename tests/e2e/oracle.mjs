// The slow model of the review, asked over a pipe: see tests/src/bin/review_oracle.rs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { repository } from "./editor.mjs";

const program = process.env.CAIRN_ORACLE ?? join(repository, "target/debug/review_oracle");

export async function openOracle() {
  await access(program).catch(() => {
    throw new Error(`There is no ${program}: cargo build -p cairn-tests --bin review_oracle`);
  });
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    /** One request after the other: the answer belongs to the last. */
    async ask(request) {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      const { value, done } = await answers.next();
      if (done) {
        throw new Error(`The oracle ended at ${JSON.stringify(request)}`);
      }
      return JSON.parse(value);
    },
    async close() {
      const gone = once(child, "exit");
      child.stdin.end();
      await gone;
    },
  };
}
