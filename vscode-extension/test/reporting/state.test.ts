import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

import { expect, it, vi } from "vitest";

import { Emitter } from "../../src/stores/emitter";
import { reportState, testPort } from "./state";

it("reports every part, then those that differ", async () => {
  const lines: string[] = [];
  const server = createServer((received) => {
    const report = createInterface({ input: received });
    report.on("line", (line) => lines.push(line));
    // The server ends the connection in the middle of the report.
    report.on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const changed = new Emitter<void>();
  let turn = 1;
  const parts = { turn: { changes: [changed.event], read: () => turn }, plan: { changes: [], read: () => ["a"] } };
  const report = reportState((server.address() as AddressInfo).port, parts);
  try {
    await vi.waitUntil(() => lines.length === 1);
    changed.fire();
    turn = 2;
    changed.fire();
    await vi.waitUntil(() => lines.length === 2);
    expect(lines).toEqual(['{"turn":1,"plan":["a"]}', '{"turn":2}']);
  } finally {
    report.dispose();
    server.closeAllConnections();
    server.close();
  }
});

it("takes a port for one, and nothing else", () => {
  expect(["4711", undefined, "", "0", "65536", "true"].map(testPort)).toEqual([4711, undefined, undefined, undefined, undefined, undefined]);
});
