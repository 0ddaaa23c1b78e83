// What every file of end-to-end tests has: one editor with Cairn in it, one window, and a copy of
// the sample workspace. Tests of a file go on where the one before them ended.

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { processesOf } from "./cpu.mjs";
import { ensureEditor, freshCopy, openFolder, replay, sample, startTestServer, temporaryFolder, until } from "./editor.mjs";
import { openModel } from "./model.mjs";
import { listenForState } from "./state.mjs";
import { openBrowser, openWindow } from "./window.mjs";

export const SECOND = 1_000;

/** The editor and the browser that `suite.mjs` has started for several files; without it a file starts its own. */
const shared = process.env.CAIRN_E2E_SHARED ? JSON.parse(process.env.CAIRN_E2E_SHARED) : undefined;

/** Another daemon than the one in the package: a debug build, for those who work on it. */
const daemon = process.env.CAIRN_DAEMON ? { "cairn.daemon.path": process.env.CAIRN_DAEMON } : {};

/**
 * Registers set-up and tear-down.
 *
 * @param {object} options
 * @param {string} [options.script]  the replay that answers
 * @param {boolean} [options.model]  whether a model that the test plays answers: `it.model`
 * @param {boolean} [options.trusted]  whether the editor trusts the workspace from the start
 * @param {boolean} [options.sideBar]  whether the side bar shows Cairn from the start
 * @param {(workspace: string) => object | Promise<object>} [options.prepare]
 *   called before the editor starts: may change the workspace, and gives further settings
 * @param {boolean} [options.conversation]
 *   whether the conversation view stays as the editor shows it; else it is folded, so that tasks are
 *   typed into the input box and approvals come as notifications
 * @param {(it: object) => void | Promise<void>} [options.ready]  called before the first test
 */
export function cairn({ script, model = false, trusted = true, sideBar = true, conversation = false, prepare = () => ({}), ready = () => {} }) {
  const it = { workspace: "", home: "", window: undefined, model: undefined, play, configure, processes, armed, answerList, state, step };
  let broken = false;
  let folder;
  let server;
  let reports;
  let editor;
  let browser;

  before(async () => {
    await ensureEditor((line) => process.stderr.write(`${line}\n`));
    folder = await temporaryFolder("e2e");
    it.workspace = await freshCopy(sample, join(folder, "shop"));
    it.model = model ? await openModel() : undefined;
    const isShared = shared !== undefined && trusted;
    reports = await listenForState(isShared ? shared.statePort : undefined);
    server = isShared ? { place: shared.place } : await startTestServer(join(folder, "home"), reports.port, trusted);
    it.home = server.place.home;
    editor = await openFolder(server.place, {
      workspace: it.workspace,
      settings: {
        // The cursor stays where a test has put it.
        "cairn.review.advance": false,
        "workbench.reduceMotion": "on",
        "editor.cursorBlinking": "solid",
        "editor.minimap.enabled": false,
        "git.enabled": false,
        "js/ts.tsserver.automaticTypeAcquisition.enabled": false,
        ...it.model?.settings,
        ...(await prepare(it.workspace)),
      },
      machine: { ...daemon, ...(script === undefined ? {} : { "cairn.model.replayFile": replay(script) }) },
    });
    browser = await openBrowser(shared?.browser);
    it.window = await openWindow(browser, editor.url);
    if (sideBar && !conversation) {
      await it.window.foldConversation();
    }
    await ready(it);
  });

  after(async () => {
    // A page that is left ends its extension host and daemon; one that is closed might come again.
    await it.window?.leave();
    await browser?.close();
    await server?.stop?.();
    await it.model?.close();
    await reports?.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  return it;

  /** Waits until the state of the extension fulfills a condition (`state.mjs`). */
  function state(condition, what) {
    return reports.holds(condition, what);
  }

  /** Ids of the editor's processes of one kind: `daemon`, `extension host`. */
  function processes(kind) {
    return processesOf(kind, server.place.pid);
  }

  /** Changes the settings of the machine over those of the start. */
  function configure(settings) {
    return editor.configure(settings);
  }

  /** Has later tasks play another script, with other settings beside it. */
  async function play(name, settings = {}) {
    await editor.configure({ "cairn.model.replayFile": replay(name), ...settings });
    await it.window.page.locator(`.statusbar-item[id*="cairn.status"] [aria-label*="${name}.json"]`).waitFor();
  }

  /** Waits until an answer to the newest question counts: its row in the plan has its buttons then. */
  async function armed() {
    const rows = it.window.row("Plan", "Approval needed");
    await rows.last().locator('.action-label[aria-label^="Allow Once"]').waitFor({ state: "attached" });
  }

  /** Answers in the list of answers, by its row or by Enter. In the list's first moment no answer counts. */
  async function answerList(label) {
    const list = it.window.page.locator(".quick-input-widget:visible");
    await list.waitFor();
    await until(
      async () => {
        if (label === undefined) {
          await it.window.page.keyboard.press("Enter");
        } else {
          await list
            .locator(".monaco-list-row", { hasText: label })
            .first()
            .click({ timeout: SECOND })
            .catch(() => {});
        }
        return !(await list.isVisible());
      },
      10 * SECOND,
      `the answer ${label ?? "under the cursor"}`,
    );
  }

  /** A test that fails leaves a picture of how it ended, and nothing for the next to go on from. */
  function step(name, body) {
    test(name, async (context) => {
      if (broken) {
        context.skip("goes on where a failed one ended");
        return;
      }
      try {
        await body();
      } catch (error) {
        broken = true;
        await it.window?.screenshot(`failed ${name}`);
        throw error;
      }
    });
  }
}
