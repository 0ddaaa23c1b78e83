// Processes in a real VS Code: a command that goes on has a row under its step, a terminal in which it is watched
// and typed into, and a button that stops it. It is still shown when the plan has folded up.

import assert from "node:assert/strict";

import { cairn } from "./harness.mjs";

let window;
let model;
let armed;
const { step } = cairn({
  model: true,
  // Drawn as text that a test can read.
  prepare: () => ({ "terminal.integrated.gpuAcceleration": "off" }),
  ready: (it) => {
    ({ window, model } = it);
    armed = () => it.armed();
  },
});

const plan = (spoken) => window.row("Plan", spoken);
const terminal = () => window.page.locator(".terminal-wrapper.active .xterm-rows");
const todos = (status) => ({
  name: "TodoWrite",
  arguments: {
    todos: [
      { content: "Serve the shop", activeForm: "Serving the shop", status },
      { content: "Test it", activeForm: "Testing it", status: "pending" },
    ],
  },
});
const COMMAND = 'echo "ready on port 8080"; while read -r line; do echo "got $line"; done';
let request;

async function allow() {
  await armed();
  await window.rowAction(plan("Approval needed."), "Allow Once");
}

step("a process has a row under its step, with its state and its last line", async () => {
  await window.command("Agent: run task");
  await window.answer("New Task", "Serve it");
  await (await model.next()).call(todos("in_progress"));
  await (await model.next()).call({ name: "bash", arguments: { command: COMMAND, background: true } });
  await allow();
  request = await model.next();
  await plan("running, ready on port 8080").waitFor();
  await window.screenshot("processes-01 row");
  await window.sideBarWidth(240);
  await window.theme("Dark Modern");
  await window.screenshot("processes-02 narrow");
});

step("it is watched in a terminal, and takes what is typed there", async () => {
  await plan("running, ready on port 8080").click();
  await terminal().filter({ hasText: "ready on port 8080" }).waitFor();
  await window.page.locator(".terminal-wrapper.active .xterm-helper-textarea").focus();
  await window.page.keyboard.type("hellö");
  await window.page.keyboard.press("Enter");
  await terminal().filter({ hasText: "got hellö" }).waitFor();
  await plan("running, got hellö").waitFor();
  await window.screenshot("processes-03 terminal");
});

step("it is shown when the plan has folded up, and can be stopped by the keyboard alone", async () => {
  await request.say("It is served.");
  await plan("Answer: It is served.").waitFor();
  await plan("running, got hellö").waitFor();
  await window.theme("Light Modern");
  await window.screenshot("processes-04 after the turn");
  await window.command("Cairn: Stop Process");
  await terminal().filter({ hasText: "stopped by you" }).waitFor();
  await plan("running, got hellö").waitFor({ state: "detached" });
  await window.screenshot("processes-05 stopped");
});

step("the agent is told, and a process that fails stays in the list", async () => {
  await window.command("Cairn: Reply");
  await window.answer("Reply", "Go on");
  request = await model.next();
  assert.match(JSON.stringify(request.body), /Process 1 was stopped by the user\./u);
  await request.call({ name: "bash", arguments: { command: "echo no such port; sleep 2; exit 3", background: true } });
  await allow();
  await (await model.next()).say("It failed.");
  await plan("ended with exit code 3").waitFor();
  await window.rowAction(plan("ended with exit code 3"), "Watch Process", terminal().filter({ hasText: "ended with exit code 3" }));
  await terminal().filter({ hasText: "ended with exit code 3" }).waitFor();
  await window.screenshot("processes-06 failed");
});
