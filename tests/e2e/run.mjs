// `make run`: Cairn in a real VS Code, on a folder of yours or a fresh copy of the sample.

import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

import { ensureEditor, findChromium, freshCopy, replay, sample, startEditor, temporaryFolder } from "./editor.mjs";

const say = (line) => process.stdout.write(`${line}\n`);

await ensureEditor(say);

const home = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "cairn", "home");
const workspace = process.argv[2] === undefined ? await freshCopy(sample, join(await temporaryFolder("sample"), "shop")) : resolve(process.argv[2]);

// Keys and base URLs of models in the environment reach the daemon; without any the replay answers.
const editor = await startEditor({
  workspace,
  home,
  machine: { "cairn.model.replayFile": replay("sample") },
});

say(`Workspace: ${workspace}`);
say(`Cairn runs at ${editor.url}`);
say("Press F1 there and choose “Agent: run task”. Ctrl+C here ends it.");

const browser = await openAppWindow(editor.url);
const end = async () => {
  browser?.kill();
  await editor.stop();
  process.exit(0);
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => void end());
}
browser?.on("exit", () => void end());
await editor.exited;

/** A window of its own where there is a screen and a browser; else the address has been printed. */
async function openAppWindow(url) {
  if (!process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) {
    return undefined;
  }
  const noWindow = ({ message }) => say(`No window of its own: ${message} Open the address in a browser of yours.`);
  const program = await findChromium().catch(noWindow);
  if (program === undefined) {
    return undefined;
  }
  const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const profile = join(home, "browser");
  const started = spawn(program, [`--app=${url}`, `--user-data-dir=${profile}`, "--no-first-run", ...root], { stdio: "ignore" });
  started.on("error", noWindow);
  return started;
}
