// Processes in a real VS Code: a command that goes on has a row under its step, a terminal in which it is watched
// and typed into, and a button that stops it. It is still shown when the plan has folded up.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { until } from "./editor.mjs";
import { SECOND, model, reply, scene, state, step, task, window, workspace } from "./harness.mjs";
import { answer, card, message, press } from "./look.mjs";

const COMMAND = 'echo "ready on port 8080"; while read -r line; do echo "got $line"; done';
const plan = (spoken) => window.row("Plan", spoken);
const terminal = (text) => window.terminal().filter({ hasText: text });
const TODOS = [
  { content: "Serve the shop", activeForm: "Serving the shop", status: "in_progress" },
  { content: "Test it", activeForm: "Testing it", status: "pending" },
];
let request;

// Drawn as text that a test can read.
const prepare = () => ({ "terminal.integrated.gpuAcceleration": "off" });

scene("processes", { model: true, conversation: "folded", prepare }, () => {
  step("a process has a row under its step, with its state and its last line", async () => {
    await (await task("Serve it")).call({ name: "TodoWrite", arguments: { todos: TODOS } });
    await (await model.next()).call({ name: "bash", arguments: { command: COMMAND, background: true } });
    await answer("Run a command");
    request = await model.next();
    await plan("running, ready on port 8080").waitFor();
    await window.screenshot("processes-01 row");
  });

  step("it is watched in a terminal, and takes what is typed there", async () => {
    await plan("running, ready on port 8080").click();
    await terminal("ready on port 8080").waitFor();
    await window.typeInTerminal("hellö");
    await terminal("got hellö").waitFor();
    await plan("running, got hellö").waitFor();
    await window.screenshot("processes-03 terminal");
  });

  step("a control file of the user beside it is asked about at once, also after the turn", async () => {
    await request.say("It is served.");
    await state(({ turn }) => turn.phase.kind === "ended", "the end of the turn");
    const file = join(workspace, ".envrc");
    await writeFile(file, "export PORT=8080\n");
    await message("Move a quarantined file back to the workspace");
    assert.ok(!existsSync(file));
    await press("Move a quarantined file back to the workspace", "Show");
    await card(".envrc").waitFor();
    await window.screenshot("processes-07 a file of the user");
    await answer(".envrc", "Move to Workspace");
    await until(() => existsSync(file), 10 * SECOND, "it is back");
  });

  step("it is shown when the plan has folded up, and can be stopped by the keyboard alone", async () => {
    await plan("running, got hellö").waitFor();
    await window.screenshot("processes-04 after the turn");
    await window.command("Cairn: Stop Process");
    await terminal("stopped by you").waitFor();
    await plan("running, got hellö").waitFor({ state: "detached" });
    await window.screenshot("processes-05 stopped");
  });

  step("the agent is told, and a process that fails stays in the list", async () => {
    await reply("Go on");
    request = await model.next();
    assert.match(JSON.stringify(request.body), /Process 1 was stopped by the user\./u);
    await request.call({ name: "bash", arguments: { command: "echo no such port; sleep 2; exit 3", background: true } });
    await answer("Run a command");
    await (await model.next()).say("It failed.");
    await plan("ended with exit code 3").waitFor();
    await window.rowAction(plan("ended with exit code 3"), "Watch Process", terminal("ended with exit code 3"));
    await window.screenshot("processes-06 failed");
    await window.sideBarWidth(240);
    await window.screenshot("processes-02 narrow");
  });
});
