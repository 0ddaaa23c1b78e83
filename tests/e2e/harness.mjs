// Scenes of the end-to-end tests. A scene opens a window with Cairn in it, on a copy of the sample workspace, and finds
// nothing of another scene. Its steps go on where the one before ended.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { processesOf } from "./cpu.mjs";
import { ensureEditor, forgetState, freshCopy, openFolder, replay, sample, startTestServer, temporaryFolder, until } from "./editor.mjs";
import { openModel } from "./model.mjs";
import { listenForState } from "./state.mjs";
import { connectBrowser, openWindow, startBrowser } from "./window.mjs";

export const SECOND = 1_000;
const MOST_STEPS = 5;

/** The editor and the browser that `suite.mjs` has started for several files; without it a scene starts its own. */
const shared = process.env.CAIRN_E2E_SHARED ? JSON.parse(process.env.CAIRN_E2E_SHARED) : undefined;

/** Another daemon than the one in the package: a debug build, for those who work on it. */
const daemon = process.env.CAIRN_DAEMON ? { "cairn.daemon.path": process.env.CAIRN_DAEMON } : {};

/** Parts of the scene that runs: its window, the page of its conversation, its model, its folder, and the home folder. */
export let window;
export let view;
export let model;
export let workspace;
export let home;
let isFolded = false;

let place;
let reports;
let editor;
/** Settings that the scene has changed, and the theme among them. */
let changed;
let colors;
/** Number of times that the settings were changed. */
let written = 0;
let broken;
/** Names of the steps of the scene that is being described. */
let described = [];

/**
 * Describes a scene.
 *
 * @param {string} name
 * @param {object} options
 * @param {string} [options.script]  the replay that answers
 * @param {boolean | { key?: string, isChosen?: boolean }} [options.model]
 *   whether a model that the test plays answers, the key that it wants, and whether the settings name it from the start
 * @param {boolean} [options.reports]  whether the extension reports its state
 * @param {boolean} [options.trusted]  whether the editor trusts the workspace from the start
 * @param {"hidden" | "shown" | "folded"} [options.conversation]
 *   the conversation at the start: not in sight until a task starts, in sight, or folded below the other views except
 *   while it is used (`inConversation`)
 * @param {(workspace: string) => object | Promise<object>} [options.prepare]
 *   called before the window opens: may change the workspace, and gives further settings
 * @param {() => void} steps  calls `step` at most five times
 */
export function scene(name, options, steps) {
  describe(name, () => {
    const ends = [];
    before(() => begin(options, ends));
    after(async () => {
      for (const end of ends.reverse()) {
        await end();
      }
    });
    described = [];
    steps();
    if (described.length > MOST_STEPS) {
      throw new Error(`The scene ${name} has ${described.length} steps. At most ${MOST_STEPS}: what fails hides those behind it.`);
    }
  });
}

/** Describes a step of a scene. One that fails leaves a picture, and nothing for the next to go on from. */
export function step(name, body) {
  described.push(name);
  test(name, async (context) => {
    if (broken) {
      context.skip("goes on where a failed one ended");
      return;
    }
    try {
      await body();
    } catch (error) {
      broken = true;
      await window?.screenshot(`failed ${name}`);
      throw error;
    }
  });
}

/** Waits until the state of the extension fulfills a condition (`state.mjs`). */
export function state(condition, what) {
  return reports.holds(condition, what);
}

/** The state of the extension at this moment. */
export function now() {
  return reports.now();
}

/** Ids of the editor's processes of one kind: `daemon`, `extension host`. */
export function processes(kind) {
  return processesOf(kind, place.pid);
}

/** Port at which the test listens for the state. */
export function statePort() {
  return reports.port;
}

/** Changes the settings of the machine over those of the start, and waits until VS Code has read them. The theme stays. */
export async function configure(settings) {
  changed = { ...settings, ...colors };
  written += 1;
  const number = written;
  await editor.configure({ ...changed, "e2e.settings": number });
  await state(({ settings }) => settings === number, "the settings");
}

/** Themes by the names that VS Code shows, with their ids and kinds. */
const THEMES = {
  "Light Modern": ["Light Modern", "vs"],
  "Dark Modern": ["Dark Modern", "vs-dark"],
  "Dark High Contrast": ["Default High Contrast", "hc-black"],
  "Light High Contrast": ["Default High Contrast Light", "hc-light"],
};

/** Changes the theme: one of `THEMES`. */
export async function setTheme(name) {
  const [id, kind] = THEMES[name];
  colors = { "workbench.colorTheme": id };
  await configure(changed);
  await window.colored(kind);
}

/** Has later tasks play another script, with other settings beside it. */
export async function play(name, settings = {}) {
  await configure({ "cairn.model.replayFile": replay(name), ...settings });
  await state((now) => now.model?.replay && now.model.name === `${name}.json`, `the replay ${name}`);
}

/** Gives a task by the palette; returns the first request to the model. */
export async function task(text = "Change it") {
  await window.command("Agent: run task");
  const box = window.composer().and(view.getByPlaceholder("Describe a task"));
  await box.fill(text);
  await box.press("Enter");
  await fold();
  return await model?.next();
}

/** Sends words to the session in view, or to its running turn. */
export async function reply(text) {
  await window.command("Cairn: Reply");
  await window.composer().fill(text);
  await window.composer().press("Enter");
  await fold();
}

/** Does something in the conversation, which is folded again in a scene that has it folded. */
export async function inConversation(body) {
  await window.showConversation();
  await body();
  await fold();
}

/** Folds the conversation in a scene that has it folded. The editor has the focus. */
async function fold() {
  if (isFolded) {
    await window.unfold("Conversation", false);
    // What needs the user is a message only while the conversation is out of sight.
    await state(({ conversation }) => !conversation, "a conversation out of sight");
    if (now().editor) {
      await window.focusEditor();
    }
  }
}

/** Sends a message in the conversation by keyboard; returns the request to the model. */
export async function send(text) {
  await window.composer().fill(text);
  await window.composer().press("Enter");
  return await model.next();
}

/** A task in which the model makes these calls. */
export async function taskWith(...calls) {
  await (await task()).call(...calls);
  await (await model.next()).say("Changed.");
  await state(({ turn }) => turn?.phase.kind === "ended", "the end of the task");
}

async function begin({ script, model: played, reports: isReported = true, trusted = true, conversation = "hidden", prepare = () => ({}) }, ends) {
  broken = false;
  changed = colors = {};
  window = undefined;
  await ensureEditor((line) => process.stderr.write(`${line}\n`));
  const folder = await temporaryFolder("e2e");
  ends.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  workspace = await freshCopy(sample, join(folder, "shop"));
  model = played ? await openModel(played.key) : undefined;
  ends.push(() => model?.close());
  const context = await openEditor(folder, { trusted, isReported }, ends);
  editor = await openFolder(place, {
    workspace,
    settings: {
      // The cursor stays where a test has put it.
      "cairn.review.advance": false,
      // Most scripts edit without a check.
      "cairn.plan.endReminder": false,
      "workbench.reduceMotion": "on",
      "editor.cursorBlinking": "solid",
      "editor.minimap.enabled": false,
      "git.enabled": false,
      ...(played?.isChosen === false ? {} : model?.settings),
      ...(await prepare(workspace)),
    },
    machine: { ...daemon, ...(script === undefined ? {} : { "cairn.model.replayFile": replay(script) }) },
  });
  window = await openWindow(context, editor.url);
  view = window.conversation();
  // A page that is left ends its extension host and daemon; one that is closed might come again.
  ends.push(() => window.leave());
  await (isReported ? state(({ model }) => model !== undefined, "the model that answers") : window.status().first().waitFor());
  if (conversation !== "hidden") {
    await window.showConversation();
  }
  isFolded = conversation === "folded";
  if (isFolded) {
    await window.unfold("Proposed Edits", true);
    await window.unfold("Conversation", false);
  }
}

/** The editor's server and the browser: those of the suite, or new ones. Gives what opens pages. */
async function openEditor(folder, { trusted, isReported }, ends) {
  const isShared = shared !== undefined && trusted && isReported;
  reports = await listenForState(isShared ? shared.statePort : undefined);
  ends.push(() => reports.close());
  if (isShared) {
    place = shared.place;
    await forgetWindow();
  } else {
    const server = await startTestServer(join(folder, "home"), isReported ? reports.port : undefined, trusted);
    ends.push(() => server.stop());
    place = server.place;
  }
  home = place.home;
  const browser = shared === undefined ? await startBrowser() : undefined;
  ends.push(() => browser?.close());
  const connection = await connectBrowser(browser?.address ?? shared.browser);
  ends.push(() => connection.close());
  return connection.context;
}

/** A scene begins with an editor that has no window, and with no state of Cairn. */
async function forgetWindow() {
  const left = () => ["daemon", "extension host"].flatMap(processes);
  await until(() => left().length === 0, 5 * SECOND, "the end of the window before").catch((error) => {
    console.log(`  ${error.message}: it is killed.`);
    left().forEach((pid) => process.kill(pid, "SIGKILL"));
  });
  await forgetState(place.home);
}
