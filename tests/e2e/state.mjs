// The state that the extension reports while CAIRN_E2E names a port (`vscode-extension/test/reporting`).

import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

import { until } from "./editor.mjs";

const LONGEST_WAIT = 30_000;

/**
 * Listens for reports.
 *
 * @param {number} [port]  else a free one
 */
export async function listenForState(port = 0) {
  let newest;
  let state = {};
  const server = createServer((report) => {
    // After a reload the window reports every part again.
    newest = report;
    state = {};
    const lines = createInterface({ input: report });
    lines.on("line", (line) => {
      if (newest === report) {
        state = { ...state, ...JSON.parse(line) };
      }
    });
    // A window that closes ends its report in the middle.
    for (const stream of [report, lines]) {
      stream.on("error", () => {});
    }
    report.on("close", () => {
      if (newest === report) {
        state = {};
      }
    });
  });
  server.requestTimeout = 0;
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: server.address().port,
    /** The parts that the extension has reported so far. */
    now: () => state,
    /**
     * Waits until the state of the newest window fulfills a condition, whose value it returns.
     *
     * @param {(state: object) => unknown} condition  called with those parts
     * @param {string} what  name of the state in the message of a failure
     */
    async holds(condition, what) {
      let fault = "";
      const fulfilled = () => {
        fault = "";
        try {
          return condition(state);
        } catch (error) {
          // A window that begins has not reported every part.
          fault = ` (${error.message})`;
          return false;
        }
      };
      return await until(fulfilled, LONGEST_WAIT, what).catch((error) => {
        throw new Error(`${error.message}${fault}. The state: ${JSON.stringify(state).slice(0, 4_000)}`);
      });
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
