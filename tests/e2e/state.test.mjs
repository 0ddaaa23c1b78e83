// The extension in the package reports its state to a test, and without one it opens no connection.

import assert from "node:assert/strict";

import { connectionsOf } from "./cpu.mjs";
import { processes, scene, statePort, step } from "./harness.mjs";

const connections = () => processes("extension host").flatMap(connectionsOf);

scene("with a test", { model: true }, () => {
  step("the extension host has one connection, to the test", () => assert.deepEqual(connections(), [statePort()]));
});

scene("without a test", { model: true, reports: false }, () => {
  step("the extension host has no connection", () => assert.deepEqual(connections(), []));
});
