// The extension in the package opens no connection without a test.

import assert from "node:assert/strict";

import { connectionsOf } from "./cpu.mjs";
import { processes, scene, step } from "./harness.mjs";

scene("without a test", { model: true, reports: false }, () => {
  step("the extension host has no connection", () => {
    const hosts = processes("extension host");
    assert.equal(hosts.length, 1);
    // With a test there is one (`trust.test.mjs`).
    assert.deepEqual(hosts.flatMap(connectionsOf), []);
  });
});
