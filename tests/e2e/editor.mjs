// The recipe for a real VS Code in a browser: installed once into a cache, started with folders of
// its own, so that the user's editor is not touched. `make run` and the end-to-end tests share it.

import { execFile, spawn } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { once } from "node:events";
import { access, constants, cp, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { repository } from "../runner/verdict.mjs";

const run = promisify(execFile);

const CODE_SERVER = "4.139.1";
const NODE = "24.21.0";

export { repository };
export const sample = join(repository, "tests/sample");
export const replay = (name) => join(repository, "tests/replays", `${name}.json`);
/** Folder of Node's compile cache for the editors of tests. */
const compiled = join(repository, "target/compiled");
export const vsix = join(repository, "vscode-extension/cairn.vsix");
/** Loads the extension and reports its state to the test. */
const reporting = join(repository, "vscode-extension/dist/reporting.js");

const editorHome = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "cairn", `vscode-${CODE_SERVER}`);
const editorNode = join(editorHome, "node_modules/node/bin/node");
const editorExtensions = join(editorHome, "node_modules/code-server/lib/vscode/extensions");
const editorEntry = join(editorHome, "node_modules/code-server/out/node/entry.js");

/** Settings of a quiet window: no welcome, no chat, no update, nothing that asks or moves. */
const QUIET = {
  "workbench.startupEditor": "none",
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.disableAIFeatures": true,
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "update.mode": "none",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "window.confirmBeforeClose": "never",
  "files.autoSave": "off",
};

/** Built-in extensions of VS Code that the tests need. Every window loads the manifests of all: all 100 take a second. */
const BUILT_IN = ["git", "git-base", "javascript", "json", "json-language-features", "markdown-basics", "python", "theme-defaults", "theme-seti"];

/** A folder is not trusted until somebody says so, and nobody is asked at the start. */
const ASKS_FOR_TRUST = {
  "security.workspace.trust.enabled": true,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
};

/** Installs the editor unless it is there and whole. Takes some minutes the first time. */
export async function ensureEditor(say = () => {}) {
  if (await isWhole()) {
    return;
  }
  say(`Installing VS Code (code-server ${CODE_SERVER}) into ${editorHome}: some minutes, once.`);
  // What an installation that failed left behind would make this one fail.
  await rm(editorHome, { recursive: true, force: true });
  await mkdir(editorHome, { recursive: true });
  const manifest = { private: true, dependencies: { "code-server": CODE_SERVER, node: NODE } };
  // Node first: code-server's install scripts must run on the version it asks for.
  await writeFile(join(editorHome, "package.json"), JSON.stringify({ private: true, dependencies: { node: NODE } }));
  await npmInstall({});
  await writeFile(join(editorHome, "package.json"), JSON.stringify(manifest));
  await npmInstall({ PATH: [dirname(editorNode), process.env.PATH].join(delimiter), npm_config_unsafe_perm: "true" });
  if (!(await isWhole())) {
    throw new Error(`The native parts of code-server were not built. Remove ${editorHome} and look at npm's output.`);
  }
}

/**
 * Starts an editor on a folder.
 *
 * @param {object} options  those of `startServer` and of `openFolder`
 */
export async function startEditor({ workspace, settings, machine, ...options }) {
  const server = await startServer(options);
  const { url, configure } = await openFolder(server.place, { workspace, settings, machine });
  return { ...server, url, configure };
}

/**
 * Starts the server of an editor, which can open many folders, one after the other or at once.
 *
 * @param {object} options
 * @param {string} options.home       folder for everything the editor keeps
 * @param {object} [options.env]      environment of the extension and the daemon, over this one
 * @param {string} [options.extension] another package than Cairn's
 * @param {boolean} [options.trusted] whether the editor trusts every folder, or asks for it
 * @param {string[]} [options.builtIn] the only extensions of VS Code's own that the editor has
 * @param {boolean} [options.reports] whether the extension reports its state to the port in `CAIRN_E2E`
 */
export async function startServer({ home, env = {}, extension = vsix, trusted = true, builtIn, reports = false }) {
  const data = join(home, "data");
  const extensions = join(home, "extensions");
  const config = join(home, "config.yaml");
  await mkdir(extensions, { recursive: true });
  await writeFile(config, "auth: none\n");
  await writeJson(join(extensions, "extensions.json"), await unpacked(extension, reports));

  const port = await freePort();
  const server = spawn(
    editorNode,
    [
      editorEntry,
      ...["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--config", config],
      ...["--user-data-dir", data, "--extensions-dir", extensions],
      ...(builtIn === undefined ? [] : ["--builtin-extensions-dir", await onlyBuiltIn(builtIn, join(home, "built-in"))]),
      ...["--disable-telemetry", "--disable-update-check", ...(trusted ? ["--disable-workspace-trust"] : [])],
    ],
    // A group of its own: ended whole, with the extension host and the daemon in it.
    { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"], detached: true },
  );
  let log = "";
  for (const stream of [server.stdout, server.stderr]) {
    stream.on("data", (chunk) => {
      log = (log + chunk).slice(-20_000);
    });
  }
  const origin = `http://127.0.0.1:${port}`;
  await until(
    async () => {
      if (server.exitCode !== null) {
        throw new Error(`The editor ended at its start:\n${log}`);
      }
      return (await fetch(`${origin}/healthz`).catch(() => undefined))?.ok;
    },
    60_000,
    "the editor's server",
  );

  return {
    /** Address of the server, with which another process opens folders in it. */
    place: { origin, data, home, pid: server.pid, trusted },
    log: () => log,
    async stop() {
      if (server.exitCode === null && server.signalCode === null) {
        const gone = once(server, "exit");
        process.kill(-server.pid, "SIGTERM");
        await gone;
      }
    },
    exited: once(server, "exit"),
  };
}

/**
 * Prepares a running server for a folder. Its settings are those of the server: one folder at a time may have its own.
 *
 * @param {object} place  of the server
 * @param {object} options
 * @param {string} options.workspace  folder to open
 * @param {object} [options.settings] user settings over the quiet ones
 * @param {object} [options.machine]  settings of this machine: paths
 */
export async function openFolder({ origin, data, trusted }, { workspace, settings = {}, machine = {} }) {
  const configure = (changed) => writeJson(join(data, "Machine/settings.json"), { ...machine, ...changed });
  await writeJson(join(data, "User/settings.json"), { ...QUIET, ...(trusted ? {} : ASKS_FOR_TRUST), ...settings });
  await configure({});
  return {
    url: `${origin}/?folder=${encodeURIComponent(workspace)}`,
    /** Changes the settings of this machine under the running editor, as a hand in the file would. */
    configure,
  };
}

/**
 * Has the editor unpack an extension, once for all runs with the same package: an editor that installs it anew
 * takes seconds. Returns the contents of the list of extensions for an editor that uses the unpacked one.
 */
async function unpacked(extension, reports) {
  const name = `${reports ? "reporting-" : ""}${basename(extension)}`;
  const hash = createHash("sha256").update(await readFile(extension));
  if (reports) {
    hash.update(await readFile(reporting));
  }
  const cache = join(repository, "target/extensions");
  const folder = join(cache, `${name}-${hash.digest("hex")}`);
  const listed = join(folder, "extensions.json");
  if (!(await exists(listed))) {
    await mkdir(cache, { recursive: true });
    const fresh = await mkdtemp(join(cache, "new-"));
    const config = join(fresh, "config.yaml");
    await writeFile(config, "auth: none\n");
    const folders = ["--config", config, "--user-data-dir", join(fresh, "data"), "--extensions-dir", join(fresh, "extensions")];
    await run(editorNode, [editorEntry, ...folders, "--install-extension", extension, "--force"]);
    if (reports) {
      await addReport(join(fresh, "extensions"));
    }
    const former = (await readdir(cache)).filter((other) => other.startsWith(`${name}-`) && other !== basename(folder));
    await Promise.all(former.map((other) => rm(join(cache, other), { recursive: true, force: true })));
    // Of two runs that unpack at the same moment, the first one's folder is used.
    await rename(join(fresh, "extensions"), folder).catch(async (error) => {
      if (!(await exists(listed))) {
        throw error;
      }
    });
    await rm(fresh, { recursive: true, force: true });
  }
  const entries = JSON.parse(await readFile(listed, "utf8"));
  return entries.map(({ relativeLocation, location: _, ...entry }) => {
    const path = join(folder, relativeLocation);
    return { ...entry, location: { $mid: 1, fsPath: path, external: pathToFileURL(path).href, path, scheme: "file" } };
  });
}

/** Has VS Code load the report of the extension's state, which loads the extension. */
async function addReport(extensions) {
  const [folder] = (await readdir(extensions, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const manifest = join(extensions, folder.name, "package.json");
  await cp(reporting, join(extensions, folder.name, "dist/reporting.js"));
  await writeJson(manifest, { ...JSON.parse(await readFile(manifest, "utf8")), main: "./dist/reporting.js" });
}

/** A folder with these extensions of VS Code alone. */
async function onlyBuiltIn(names, folder) {
  await mkdir(folder, { recursive: true });
  await Promise.all(names.map((name) => symlink(join(editorExtensions, name), join(folder, name))));
  return folder;
}

const HOME_FOLDERS = { CONFIG: ".config", DATA: ".local/share", STATE: ".local/state", CACHE: ".cache" };

/**
 * An environment that keeps the user's files out of a test, and the test's out of theirs. Not for
 * `make run`: there the agent runs the user's tools, which have their set-up at home.
 */
export function privateHome(home) {
  const entries = Object.entries(HOME_FOLDERS).map(([name, folder]) => [`XDG_${name}_HOME`, join(home, folder)]);
  return { HOME: home, ...Object.fromEntries(entries) };
}

/**
 * A server for tests: the user's files and keys stay out of it.
 *
 * @param {number} [statePort]  where the test listens for the state of the extension (`state.mjs`)
 */
export function startTestServer(home, statePort, trusted = true) {
  const noKeys = { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "", ANTHROPIC_BASE_URL: "", OPENAI_BASE_URL: "" };
  return startServer({
    home,
    trusted,
    builtIn: BUILT_IN,
    reports: statePort !== undefined,
    env: { ...privateHome(home), ...noKeys, CAIRN_E2E: String(statePort ?? ""), NODE_COMPILE_CACHE: compiled },
  });
}

/** Removes what Cairn keeps in a private home: sessions, rules, caches. */
export async function forgetState(home) {
  await Promise.all(Object.values(HOME_FOLDERS).map((folder) => rm(join(home, folder), { recursive: true, force: true, maxRetries: 5 })));
}

/** The browser that $CHROMIUM names, else `chromium`: a path, or a name on the PATH. */
export async function findChromium() {
  const name = process.env.CHROMIUM || "chromium";
  const folders = name.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const path of folders.map((folder) => resolve(folder, name))) {
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    ) {
      return path;
    }
  }
  throw new Error(`There is no program ${name}. Install Chromium, or set CHROMIUM to a browser of its kind.`);
}

/** A fresh copy of a folder, so that a run never changes what it is made from. */
export async function freshCopy(from, to) {
  await rm(to, { recursive: true, force: true });
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { recursive: true });
  return to;
}

export function temporaryFolder(name) {
  return mkdtemp(join(tmpdir(), `cairn-${name}-`));
}

/** Waits for a condition by asking again; the deadline is for failures only. */
export async function until(condition, timeout, what) {
  const deadline = Date.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value) {
      return value;
    }
    if (Date.now() > deadline) {
      throw new Error(`Waited ${timeout / 1000} s for ${what}`);
    }
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

/** Time for an action to have its effect before it comes again, in milliseconds. */
const PATIENCE = 2_000;

/**
 * Acts until a state holds. An editor that is not ready ignores a key or a click, so the action comes again: only for
 * actions that may come twice.
 *
 * @param {() => Promise<unknown>} action
 * @param {import("playwright-core").Locator | (() => Promise<unknown>)} state  something visible, or a condition
 * @param {string} what  name of the state in the message of a failure
 */
export async function tryUntil(action, state, what, timeout = 30_000) {
  const holds = typeof state === "function" ? state : () => state.first().isVisible();
  let reason = "";
  const attempt = async () => {
    const patience = await action().then(
      () => PATIENCE,
      (error) => {
        reason = `. The last try: ${error.message}`;
        return 0;
      },
    );
    return await until(holds, patience, what).catch(() => false);
  };
  return await until(attempt, timeout, what).catch((error) => {
    throw new Error(`${error.message}${reason}`);
  });
}

function exists(path) {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The parts that npm builds or fetches by script, which some set-ups silently leave out. */
async function isWhole() {
  const parts = [editorNode, editorEntry, join(editorHome, "node_modules/code-server/lib/vscode/out/server-main.js"), ...nativeModules()];
  try {
    await Promise.all(parts.map((part) => stat(part)));
    return true;
  } catch {
    return false;
  }
}

function nativeModules() {
  const modules = join(editorHome, "node_modules/code-server/lib/vscode/node_modules");
  return [join(modules, "@vscode/spdlog/build/Release/spdlog.node"), join(modules, "@vscode/native-watchdog/build/Release/watchdog.node")];
}

async function npmInstall(env) {
  await run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--foreground-scripts"], {
    cwd: editorHome,
    env: { ...process.env, ...env },
    maxBuffer: 64 << 20,
  });
}

async function writeJson(path, value) {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.new`;
  await writeFile(temporary, JSON.stringify(value, null, 2));
  await rename(temporary, path);
}

/** Ports that no system gives to an outgoing connection, which could take one before its listener does. */
const PORTS = [20_000, 32_768];

/** A port at which nothing listens. */
export async function freePort() {
  for (;;) {
    const probe = createServer().listen(randomInt(...PORTS), "127.0.0.1");
    try {
      await once(probe, "listening");
    } catch (error) {
      if (error.code !== "EADDRINUSE") {
        throw error;
      }
      continue;
    }
    const { port } = probe.address();
    probe.close();
    await once(probe, "close");
    return port;
  }
}
