// An agent, a typist and a reviewer, at random, in a real VS Code.
//
// Step by step first: each does one thing, and all that the window shows must be what the slow
// model of the review says (tests/src/bin/review_oracle.rs). Then all at once, where nobody can say
// what comes first: there the laws must hold. Nobody's text is lost, a rejection leaves nothing of
// the agent's, an acceptance leaves all of it.
//
// SEED repeats a run; ACTIONS and ROUNDS make it longer (`make soak-review`). A run that fails prints its seed
// and what was done.

import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after } from "node:test";

import { model, now, scene, state, step, task, window, workspace } from "./harness.mjs";
import { edits, lens, tab } from "./look.mjs";
import { openOracle } from "./oracle.mjs";

const seed = Number(process.env.SEED ?? 1);
/** Actions one after the other, and rounds of all actors at once. */
const [actions, rounds] = [Number(process.env.ACTIONS ?? 30), Number(process.env.ROUNDS ?? 1)];
const FILES = ["apples.txt", "pears.txt", "deep/plums.txt"];
// Files and edits fit the window: what it does not show cannot be compared.
const [FEWEST_LINES, MOST_LINES, MOST_HUNKS] = [4, 14, 12];

const oracle = await openOracle();
const dice = new (class {
  state = seed >>> 0;
  /** A number from 0 up to below the limit. */
  roll(limit) {
    // Marsaglia's xorshift, after a step of Weyl's so that no seed stands still.
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let x = this.state || 1;
    for (let round = 0; round < 3; round += 1) {
      x ^= x << 13;
      x >>>= 0;
      x ^= x >>> 17;
      x ^= x << 5;
      x >>>= 0;
    }
    return x % limit;
  }
  pick(list) {
    return list[this.roll(list.length)];
  }
})();

async function prepare(folder) {
  for (const [index, path] of FILES.entries()) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), Array.from({ length: 8 }, (_, line) => `old ${index}.${line} o\n`).join(""));
  }
  return {
    "cairn.limits.rounds": 10_000,
    "workbench.editor.enablePreview": false,
    "workbench.editor.limit.enabled": false,
    "editor.autoIndent": "none",
    // Else Enter may take a word that VS Code suggests instead of beginning a line.
    "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
    "editor.acceptSuggestionOnEnter": "off",
    // Else a paste is under way for a while, and the next key cancels it.
    "editor.pasteAs.enabled": false,
    // What comes up under a resting pointer covers the next row.
    "workbench.hover.delay": 60_000,
    "files.insertFinalNewline": false,
  };
}

scene(`an agent, a typist and a reviewer at random (SEED=${seed})`, { model: true, conversation: "folded", prepare }, () => {
  after(() => oracle.close());

  /** Actions so far, so that a run can be repeated. */
  const log = [];
  /** States of the oracle by file: the present one and all earlier texts. */
  const files = new Map();
  /** Last action that can be undone: an edit by the editor, a decision by Cairn. */
  let last;
  /** The request that the agent's next step answers. */
  let agent;
  let names = 0;

  step("the window is ready", async () => {
    await window.page.setViewportSize({ width: 1280, height: 1000 });
    // Where the typist changed a line of the agent, a rejection asks.
    await window.page.addLocatorHandler(window.dialog(""), () => window.button("Keep Mine").click());
    for (const path of FILES) {
      const first = await oracle.ask({ do: "new", text: await onDisk(path) });
      files.set(path, { now: first, seen: new Set([first.text]), open: false });
    }
    await open(FILES[0]);
  });

  step("a file opened by the user right after an edit stays open", async () => {
    // Found at random: the tab was taken for one that VS Code gives to unsaved text.
    const path = "deep/plums.txt";
    say(`agent ${path}, and at once it is opened`);
    await agentDoes({ name: "edit_file", arguments: { path, old_text: "old 2.0 o\n", new_text: "old 2.0 o\nagent 0 a\n" } });
    await edited(path, { do: "agent", gone: [1, 1], come: ["agent 0 a\n"] });
    await open(path);
    await agrees();
    await tab("plums.txt", { isActive: true });
  });

  step("one actor after the other: the window matches the reference review", async () => {
    try {
      for (let left = actions; left > 0;) {
        if (await dice.pick(MOVES)()) {
          left -= 1;
          await agrees();
        }
      }
      await decideTheRest();
      await agrees();
    } catch (error) {
      throw failure(error);
    }
  });

  step("all actors at once: no text is lost, and every edit is pending or decided", async () => {
    try {
      for (let left = rounds; left > 0; left -= 1) {
        await allAtOnce();
      }
    } catch (error) {
      throw failure(error);
    }
  });

  step("at the end nothing is pending, and the files on disk match the reference", async () => {
    await edits(0);
    await agent?.say("That is all.");
    agent = undefined;
    await window.command("File: Save All Files");
    await state(({ tabs }) => tabs.every(({ isDirty }) => !isDirty), "all is saved");
    for (const [path, { now }] of files) {
      assert.equal(await onDisk(path), now.text, `${path}; ${failure()}`);
    }
  });

  /* ---------------------------------------------------------------- the moves of the three */

  const MOVES = [
    ...Array(5).fill(agentEdits),
    ...Array(5).fill(userEdits),
    ...Array(4).fill(decideOne),
    ...Array(2).fill(undoes),
    redoes,
    undoesDecision,
    decideFile,
    decideAll,
    saves,
    endsTurn,
  ];

  async function agentEdits() {
    const path = dice.pick(FILES);
    const file = files.get(path);
    const lines = linesOf(file.now.text);
    const { gone, come } = spot(lines, "agent", 4);
    const hunks = [...files.values()].reduce((sum, { now }) => sum + now.hunks.length, 0);
    if ((gone[0] === gone[1] && come.length === 0) || hunks >= MOST_HUNKS) {
      return false;
    }
    const after = splice(lines, gone, come).join("");
    // An anchor for what is only inserted: the line before it, else the line behind.
    const from = gone[0] === gone[1] ? Math.max(0, gone[0] - 1) : gone[0];
    const to = gone[0] === gone[1] ? Math.min(lines.length, from + 1) : gone[1];
    const old = lines.slice(from, to).join("");
    const grown = after.length - lines.join("").length;
    const start = lines.slice(0, from).join("").length;
    const call =
      old === "" || dice.roll(5) === 0
        ? { name: "write_file", arguments: { path, content: after } }
        : { name: "edit_file", arguments: { path, old_text: old, new_text: after.slice(start, start + old.length + grown) } };
    say(`agent ${path} ${gone} ${JSON.stringify(come)} ${call.name}`);
    await agentDoes(call);
    await edited(path, { do: "agent", gone, come });
    return true;
  }

  async function userEdits() {
    const path = dice.pick(FILES);
    const file = files.get(path);
    const lines = linesOf(file.now.text);
    const { gone, come } = spot(lines, "user", 2);
    // A text that was there before cannot be told from an undo.
    if ((gone[0] === gone[1] && come.length === 0) || file.seen.has(splice(lines, gone, come).join(""))) {
      return false;
    }
    say(`user ${path} ${gone} ${JSON.stringify(come)}`);
    await open(path);
    await type(lines, gone, come);
    await edited(path, { do: "user", gone, come });
    return true;
  }

  async function decideOne() {
    const waiting = [...files].flatMap(([path, { now }]) => now.hunks.map((hunk, index) => ({ path, hunk, index })));
    if (waiting.length === 0) {
      return false;
    }
    const { path, hunk, index } = dice.pick(waiting);
    const decision = dice.pick(["accept", "reject"]);
    const isShown = hunk.new[0] < hunk.new[1];
    const way = dice.pick(["row", "lens", ...(isShown ? ["command", "key"] : [])]);
    say(`${decision} ${path} hunk ${index} by ${way}`);
    if (way === "row") {
      const before = JSON.stringify(shownEdits());
      // The row of the next edit takes the place of this one.
      await window.rowAction(editRow(path, index), `${title(decision)} Edit`, async () => JSON.stringify(shownEdits()) !== before);
    } else {
      await open(path);
      await goTo(hunk.new[0] + 1 + (isShown ? dice.roll(hunk.new[1] - hunk.new[0]) : 0));
      if (way === "command") {
        await window.command(`Cairn: ${title(decision)} Edit`);
      } else if (way === "key") {
        await window.page.keyboard.press(decision === "accept" ? "Control+Alt+Enter" : "Control+Alt+Backspace");
      } else {
        await clickLens(decision === "accept" ? "Accept" : "Reject", path, index);
      }
    }
    await decided([path], { do: decision, hunk: index });
    return true;
  }

  const title = (decision) => (decision === "accept" ? "Accept" : "Reject");

  async function decideFile() {
    const waiting = FILES.filter((path) => files.get(path).now.hunks.length > 0);
    if (waiting.length === 0) {
      return false;
    }
    const path = dice.pick(waiting);
    const decision = dice.pick(["accept", "reject"]);
    const way = dice.pick(["row", "key"]);
    say(`${decision} all of ${path} by ${way}`);
    if (way === "row") {
      await window.rowAction(fileRow(path), `${title(decision)} Edits in File`);
    } else {
      await open(path);
      await window.page.keyboard.press(decision === "accept" ? "Control+Alt+Shift+Enter" : "Control+Alt+Shift+Backspace");
    }
    await decided([path], { do: `${decision}All` });
    return true;
  }

  async function decideAll() {
    const waiting = FILES.filter((path) => files.get(path).now.hunks.length > 0);
    if (waiting.length === 0 || dice.roll(3) > 0) {
      return false;
    }
    const decision = dice.pick(["accept", "reject"]);
    say(`${decision} all`);
    await window.command(`Cairn: ${title(decision)} All Edits`);
    await decided(waiting, { do: `${decision}All` });
    return true;
  }

  async function undoes() {
    if (last?.kind !== "edit" || last.files.size !== 1) {
      return false;
    }
    const [[path, { before, after }]] = last.files;
    if (!files.get(path).open || before.text === after.text) {
      return false;
    }
    say(`undo in ${path}`);
    await open(path);
    await window.page.keyboard.press("Control+z");
    files.get(path).now = before;
    last = { kind: "undone", files: new Map([[path, { before, after }]]) };
    return true;
  }

  async function redoes() {
    if (last?.kind !== "undone") {
      return false;
    }
    const [[path, { after }]] = last.files;
    say(`redo in ${path}`);
    await open(path);
    await window.page.keyboard.press("Control+y");
    files.get(path).now = after;
    last = undefined;
    return true;
  }

  async function undoesDecision() {
    if (last?.decision !== true) {
      return false;
    }
    say("undo the decision");
    await window.command("Cairn: Undo Last Decision");
    for (const [path, { before }] of last.files) {
      files.get(path).now = before;
    }
    last = undefined;
    return true;
  }

  async function saves() {
    say("save all");
    await window.command("File: Save All Files");
    return true;
  }

  async function endsTurn() {
    if (agent === undefined) {
      return false;
    }
    say("the turn ends");
    await agent.say("So far.");
    agent = undefined;
    await state(({ turn }) => turn.phase.kind === "ended", "the end of the turn");
    return true;
  }

  async function decideTheRest() {
    for (const path of FILES.filter((path) => files.get(path).now.hunks.length > 0)) {
      const decision = dice.pick(["accept", "reject"]);
      say(`${decision} the rest of ${path}`);
      await window.rowAction(fileRow(path), `${title(decision)} Edits in File`);
      await decided([path], { do: `${decision}All` });
      await agrees();
    }
  }

  /**
   * The agent edits two files while the user types in one of them and decides on what is there. The
   * agent inserts behind lines that nobody else touches, so that each of its edits must succeed.
   */
  async function allAtOnce() {
    const [mine, other] = [dice.pick(FILES), dice.pick(FILES)];
    const before = new Map(FILES.map((path) => [path, linesOf(files.get(path).now.text)]));
    const written = [];
    const calls = Array.from({ length: 6 }, (_, index) => {
      const path = index % 2 === 0 ? mine : other;
      const anchor = dice.pick(before.get(path));
      const line = `agent ${(names += 1)} a\n`;
      written.push({ path, line });
      return { name: "edit_file", arguments: { path, old_text: anchor, new_text: anchor + line } };
    });
    // Not while the user types: the words would go into the palette.
    await agentStarts();
    await open(mine);
    say(`all at once: the agent writes ${JSON.stringify(written)}, the user types in ${mine}`);
    const agentIsDone = (async () => {
      for (const [index, call] of calls.entries()) {
        // Where somebody types without a pause, an edit may be given up, and says so.
        const result = await agentDoes(call, /^Edited|kept changing while this edit was made/);
        written[index].isThere = result.startsWith("Edited");
      }
    })();
    const typed = Array.from({ length: 4 }, () => `user ${(names += 1)} u`);
    const userIsDone = (async () => {
      for (const text of typed) {
        await window.page.keyboard.press("Control+Home");
        for (let down = dice.roll(before.get(mine).length); down > 0; down -= 1) {
          await window.page.keyboard.press("ArrowDown");
        }
        // A line of its own: written at the end of another one, key by key.
        await window.page.keyboard.press("End");
        await window.page.keyboard.press("Enter");
        await window.page.keyboard.type(text, { delay: 5 });
      }
    })();
    await Promise.all([agentIsDone, userIsDone]);
    const decision = dice.pick(["accept", "reject"]);
    say(`${decision} all of it`);
    await window.command(`Cairn: ${title(decision)} All Edits`);
    await edits(0);
    for (const path of FILES) {
      await open(path);
      const { text } = await state(({ editor }) => editor?.path === path && editor, path);
      const count = (line) => linesOf(text).filter((there) => there === line).length;
      for (const line of before.get(path)) {
        assert.equal(count(line), 1, `${line.trim()} was there before: ${text}`);
      }
      for (const line of path === mine ? typed : []) {
        assert.equal(count(`${line}\n`), 1, `${line} was typed: ${text}`);
      }
      const proposed = written.filter((edit) => edit.path === path && edit.isThere);
      for (const { line } of proposed) {
        assert.equal(count(line), decision === "accept" ? 1 : 0, `${line.trim()} was ${decision}ed: ${text}`);
      }
      const lines = before.get(path).length + (path === mine ? typed.length : 0) + (decision === "accept" ? proposed.length : 0);
      assert.deepEqual(linesOf(text).filter((line) => line.trim() !== "").length, lines, `nothing else is there: ${text}`);
      // From here on, what is there is the text.
      const now = await oracle.ask({ do: "new", text });
      files.set(path, { ...files.get(path), now, seen: new Set([now.text]) });
      await shorten(path);
    }
    last = undefined;
  }

  /** The user makes room for the next round. */
  async function shorten(path) {
    const lines = linesOf(files.get(path).now.text);
    if (lines.length > MOST_LINES) {
      await type(lines, [FEWEST_LINES, lines.length], []);
      await edited(path, { do: "user", gone: [FEWEST_LINES, lines.length], come: [] });
      await agrees();
    }
  }

  /* ---------------------------------------------------------------- hands */

  async function agentStarts() {
    if (agent === undefined) {
      agent = await task("Go on");
    }
  }

  /** The agent makes one call, and has seen its result when this returns. */
  async function agentDoes(call, expected = /^(Edited|Replaced|Wrote|Created)/) {
    await agentStarts();
    await agent.call(call);
    agent = await model.next();
    const [result] = agent.results;
    assert.match(result, expected);
    return result;
  }

  /** Replaces lines in front: selects them, and pastes others over them. */
  async function type(lines, gone, come) {
    await goTo(gone[0] + 1);
    for (let line = gone[0]; line < gone[1]; line += 1) {
      await window.page.keyboard.press("Shift+ArrowDown");
    }
    const selected = lines.slice(...gone).join("").length;
    await cursorIs(gone[1] + 1, selected);
    if (come.length === 0) {
      await window.page.keyboard.press("Delete");
    } else {
      await window.copy(come.join(""));
      await window.page.keyboard.press("Control+v");
    }
    await cursorIs(gone[0] + 1 + come.length);
  }

  async function open(path) {
    const name = path.split("/").at(-1);
    if (now().tabs.every(({ label, isActive }) => !isActive || label !== name)) {
      await window.open(path);
    }
    files.get(path).open = true;
    await window.focusEditor();
  }

  /** A lens of before the last edit is refused, with the advice to look again. */
  async function clickLens(title, path, index) {
    const { hunks } = files.get(path).now;
    const [added, removed] = [hunks[index].new, hunks[index].old].map(([start, end]) => end - start);
    const edit = `Edit ${index + 1}/${hunks.length} (+${added} −${removed}`;
    await lens(path, edit);
    const before = JSON.stringify(shownEdits());
    await window.clickLens(edit, title, async () => JSON.stringify(shownEdits()) !== before);
  }

  async function goTo(line) {
    await window.goTo(line);
    await window.focusEditor();
    await cursorIs(line);
  }

  async function cursorIs(line, selected = 0) {
    await state(({ editor }) => editor?.line === line && editor.column === 1 && editor.selected === selected, `line ${line}, ${selected} selected`);
  }

  /* ---------------------------------------------------------------- what should be, and what is */

  async function edited(path, request) {
    const before = files.get(path).now;
    const after = await oracle.ask({ ...request, from: before.state });
    last = { kind: "edit", files: new Map([[path, { before, after }]]) };
    files.get(path).now = after;
  }

  async function decided(paths, request) {
    const changes = new Map();
    for (const path of paths) {
      const before = files.get(path).now;
      const after = await oracle.ask({ ...request, from: before.state });
      changes.set(path, { before, after });
      files.get(path).now = after;
    }
    // A rejection is an edit, too.
    last = { kind: request.do.startsWith("reject") ? "edit" : "decision", decision: true, files: changes };
  }

  /** Soon the window shows what the oracle says: every proposed edit, and the text in front. */
  async function agrees() {
    for (const file of files.values()) {
      file.seen.add(file.now.text);
    }
    const right = FILES.filter((path) => files.get(path).now.hunks.length > 0)
      .map((path) => [
        path,
        files.get(path).now.hunks.map(({ old, new: lines }) => `line ${lines[0] + 1} +${lines[1] - lines[0]} -${old[1] - old[0]}`),
      ])
      .sort();
    await state(() => JSON.stringify(shownEdits()) === JSON.stringify(right), "the edits").catch(() => assert.deepEqual(shownEdits(), right));
    const path = FILES.find((path) => path === now().editor?.path);
    if (path !== undefined) {
      const { text } = files.get(path).now;
      await state(({ editor }) => editor?.text === text, "the text").catch(() => assert.equal(now().editor?.text, text, path));
    }
  }

  function shownEdits() {
    const hunkText = ({ range, addedLines, removedLines }) => `line ${range.start.line + 1} +${addedLines} -${removedLines}`;
    return now()
      .edits.map(({ path, hunks }) => [path, hunks.map(hunkText)])
      .sort();
  }

  function fileRow(path) {
    return window.row("Proposed Edits", `${path}, `);
  }

  function editRow(path, index) {
    // Below the row of the file, in the order that the view shows.
    const before = FILES.filter((other) => files.get(other).now.hunks.length > 0).sort();
    const rows = before.slice(0, before.indexOf(path)).reduce((sum, other) => sum + 1 + files.get(other).now.hunks.length, 0);
    return window.rowAt("Proposed Edits", rows + 1 + index);
  }

  /* ---------------------------------------------------------------- lines */

  /** Some lines of a text to go, and new ones to come. */
  function spot(lines, who, most) {
    const start = dice.roll(lines.length + 1);
    const goes = Math.min(lines.length - start, dice.roll(most));
    const comes = lines.length - goes >= MOST_LINES ? 0 : dice.roll(most);
    const end = lines.length - goes < FEWEST_LINES ? start : start + goes;
    const come = Array.from({ length: comes }, () => `${who} ${(names += 1)} ${who[0]}\n`);
    return { gone: [start, end], come };
  }

  const linesOf = (text) => text.match(/[^\n]*\n/g) ?? [];
  const splice = (lines, [start, end], come) => lines.toSpliced(start, end - start, ...come);
  const onDisk = (path) => readFile(join(workspace, path), "utf8");

  function say(what) {
    log.push(what);
    if (process.env.VERBOSE) {
      process.stderr.write(`${what}\n`);
    }
  }

  /** The error first: where output is cut, it is what one needs; then the last moves, the newest first. */
  function failure(error) {
    const moves = log.slice(-40).reverse().join("\n");
    const text = `SEED=${seed} ACTIONS=${actions} ROUNDS=${rounds}\n${error?.stack ?? ""}\nthe last moves, the newest first:\n${moves}`;
    return error === undefined ? text : new Error(text, { cause: error });
  }
});
