// No byte of a file changes that the review does not show, whatever a save by the editor would do, and no key takes a
// file away.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { until } from "./editor.mjs";
import { SECOND, model, scene, state, step, task, taskWith, window, workspace } from "./harness.mjs";
import { edits, inFront, message, tab, text } from "./look.mjs";
import { editFile } from "./model.mjs";

const onDisk = (path) => readFile(join(workspace, path), "utf8").catch(() => undefined);
const holds = (path, expected) => until(async () => (await onDisk(path)) === expected, 20 * SECOND, `the bytes of ${path}`);
const key = (name) => window.page.keyboard.press(name);
const call = (name, args) => ({ name, arguments: args });

async function keys(name, times) {
  for (let time = 0; time < times; time += 1) {
    await key(name);
  }
}

const NEW = "one\ntwo\nthree\n";
const MINE = `mine ${NEW}`;

scene("the undo history of files that the agent made and moved", { model: true, conversation: "folded" }, () => {
  step("Ctrl+Z takes back what the user typed, and leaves the file of the agent", async () => {
    await taskWith(call("write_file", { path: "new.py", content: NEW }));
    await window.command("Cairn: Accept All Edits");
    await edits(0);
    await window.open("new.py");
    await window.goTo(1);
    await window.page.keyboard.insertText("mine ");
    await text(MINE);
    await key("Control+s");
    await holds("new.py", MINE);
    await keys("Control+z", 10);
    await state(({ editor }) => editor.text === NEW, "the text of the agent");
    assert.equal(await onDisk("new.py"), MINE);
    await keys("Control+y", 10);
    await text(MINE);
    await key("Control+s");
    await tab("new.py", { isDirty: false });
  });

  step("a tab that is closed and opened again has the history of the user's text alone", async () => {
    await window.closeEditors();
    await window.open("new.py");
    await window.focusEditor();
    await keys("Control+z", 10);
    await state(({ editor }) => editor.text === NEW, "the text of the agent");
    await keys("Control+y", 10);
    await text(MINE);
    // From the Explorer, the keys reach the editor.
    await window.command("File: Focus on Files Explorer");
    await keys("Control+z", 10);
    await state(({ editor }) => editor.text === NEW, "the text of the agent");
    assert.equal(await onDisk("new.py"), MINE);
    await window.focusEditor();
    await keys("Control+y", 10);
    await text(MINE);
    await key("Control+s");
    await tab("new.py", { isDirty: false });
  });

  step("a file that the agent moved stays at its new name, and its tab goes along", async () => {
    await taskWith(call("move_file", { from: "new.py", to: "lib/moved.py" }));
    await inFront("lib/moved.py");
    await window.command("Cairn: Accept All Edits");
    await edits(0);
    await window.focusEditor();
    await keys("Control+z", 3);
    await window.goTo(2);
    assert.deepEqual([await onDisk("new.py"), await onDisk("lib/moved.py")], [undefined, MINE]);
    await window.screenshot("bytes-01 moved");
  });
});

/** Lines that a save would trim, and end. */
const UNTIDY = Array.from({ length: 50 }, (_, line) => `const v${line}  =  ${line};   `).join("\n");
const JSON_TEXT = '{"a":1,\n      "b":  2,\n "c":3,   \n"list":[1,2,\n3]}';
const MIXED = Array.from({ length: 200 }, (_, line) => `line ${line + 1}.${line % 10 === 9 ? "\n" : "\r\n"}`).join("");

/** Settings that make a save of the editor format and trim a file. */
const TIDYING = {
  "files.trimTrailingWhitespace": true,
  "files.insertFinalNewline": true,
  "files.trimFinalNewlines": true,
  "editor.formatOnSave": true,
  "files.autoSave": "afterDelay",
};

async function prepare(folder) {
  await writeFile(join(folder, "b.ts"), UNTIDY);
  await writeFile(join(folder, "c.json"), JSON_TEXT);
  await writeFile(join(folder, "mixed.txt"), MIXED);
  return TIDYING;
}

/** Has the agent change a line of each file, two of the last. */
async function change() {
  await taskWith(
    editFile("b.ts", "const v2  =  2;", "const v2  =  222;"),
    editFile("c.json", '"b":  2', '"b":  222'),
    editFile("mixed.txt", "line 50.", "line fifty."),
    editFile("mixed.txt", "line 55.", "line fifty-five."),
  );
  await edits(4);
  await changed();
}

async function changed() {
  await holds("b.ts", UNTIDY.replace("=  2;", "=  222;"));
  await holds("c.json", JSON_TEXT.replace('"b":  2', '"b":  222'));
  await holds("mixed.txt", MIXED.replace("line 50.", "line fifty.").replace("line 55.", "line fifty-five."));
}

async function reject() {
  await window.command("Cairn: Reject All Edits");
  await edits(0);
  await holds("b.ts", UNTIDY);
  await holds("c.json", JSON_TEXT);
  await holds("mixed.txt", MIXED);
}

scene("files that a save would change", { model: true, conversation: "folded", prepare }, () => {
  step("edits of closed files change their lines alone, and a reject gives every byte back", async () => {
    await change();
    await reject();
  });

  step("so do edits of open files, of which one is in front", async () => {
    for (const path of ["c.json", "mixed.txt", "b.ts"]) {
      await window.open(path);
    }
    await change();
    await state(({ tabs }) => tabs.every(({ isDirty }) => !isDirty), "no unsaved text");
    await text("=  222;");
    await window.screenshot("bytes-02 open");
    await reject();
  });

  step("a file with two kinds of line endings is in front, and keeps them", async () => {
    await window.open("mixed.txt");
    await change();
    await text("line fifty-five.");
    await reject();
    await state(({ editor }) => !editor.text.includes("fifty"), "the text before");
  });

  step("accepted edits stay, and nothing else", async () => {
    await change();
    await window.command("Cairn: Accept All Edits");
    await edits(0);
    await changed();
  });
});

const run = promisify(execFile);
const git = (folder, ...args) => run("git", ["-c", "user.name=Someone", "-c", "user.email=someone@example.org", ...args], { cwd: folder });
const LINES = Array.from({ length: 12 }, (_, line) => `b${line + 1}\n`).join("");
const OTHERS = LINES.replace("b5", "b5 agent").replace("b9", "nine");
const edit = (words) => window.row("Proposed Edits", words);
const outdated = (path) =>
  state(({ edits }) => edits.some((file) => file.path === path && file.hunks.every((hunk) => hunk.outdated)), `outdated edits of ${path}`);

async function repository(folder) {
  await git(folder, "init", "--quiet", "--initial-branch=main");
  for (const [branch, text] of [
    ["main", LINES],
    ["other", OTHERS],
  ]) {
    await git(folder, "switch", "--quiet", ...(branch === "main" ? ["--orphan", "main"] : ["--create", branch]));
    await writeFile(join(folder, "b.py"), text);
    await git(folder, "add", "--all");
    await git(folder, "commit", "--quiet", `--message=${branch}`);
  }
  await git(folder, "switch", "--quiet", "main");
  await writeFile(join(folder, "mixed.txt"), MIXED);
  return {};
}

scene("files that change outside of the editor", { model: true, conversation: "folded", prepare: repository }, () => {
  step("a file that is moved in a terminal takes its edits along", async () => {
    await window.open("b.py");
    await taskWith(editFile("b.py", "b5\n", "b5 agent\n"));
    await edits(1);
    await rename(join(workspace, "b.py"), join(workspace, "c.py"));
    await state(({ edits: [file] }) => file?.path === "c.py", "the edit in c.py");
    await edit("c.py").waitFor();
    await window.screenshot("bytes-03 moved outside");
    await window.command("Cairn: Reject All Edits");
    await edits(0);
    await holds("c.py", LINES);
    await rename(join(workspace, "c.py"), join(workspace, "b.py"));
  });

  step("the edits of a file that is gone are named, and can be forgotten", async () => {
    await taskWith(editFile("b.py", "b5\n", "b5 agent\n"));
    await edits(1);
    await rm(join(workspace, "b.py"));
    await outdated("b.py");
    await edit("outdated").click();
    await window.screenshot("bytes-04 gone");
    await window.command("Cairn: Reject All Edits");
    await edits(0);
    await git(workspace, "checkout", "--quiet", "--force", "main");
  });

  step("a line that another branch has, too, stays there", async () => {
    await window.open("b.py");
    await text("b5\n");
    await taskWith(editFile("b.py", "b5\n", "b5 agent\n"));
    await edits(1);
    await git(workspace, "checkout", "--quiet", "--force", "other");
    await outdated("b.py");
    await window.screenshot("bytes-05 branch");
    await window.command("Cairn: Reject All Edits");
    await edits(0);
    await holds("b.py", OTHERS);
  });

  step("a save that would change the endings of other lines is announced", async () => {
    await window.open("mixed.txt");
    await window.goTo(1);
    await window.page.keyboard.insertText("mine ");
    await taskWith(editFile("mixed.txt", "line 50.", "line fifty."));
    await edits(1);
    await message("mixed.txt has several kinds of line endings");
    await window.screenshot("bytes-06 endings");
    await window.command("Cairn: Reject All Edits");
    await edits(0);
    await window.command("File: Revert File");
    await holds("mixed.txt", MIXED);
  });
});

/** Two blanks at the end of a line are a line break in Markdown. */
const MARKDOWN = Array.from({ length: 9 }, (_, at) => `${at + 1}) a line  \nand another   \n\n\n*  an item\n`).join("\n\n\n");
const CELL = (source) => `  {"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],\n   "source":["${source}"]}`;
const NOTEBOOK = `{"cells":[\n${[1, 2, 3].map((cell) => CELL(`print(${cell})`)).join(",\n")}\n],   \n"metadata":{},"nbformat":4,"nbformat_minor":5}`;
/** A file in which the user types; a save leaves it as it is. */
const TIDY = Array.from({ length: 40 }, (_, line) => `const t${line} = ${line};\n`).join("");
const OF_KINDS = { "a.ts": UNTIDY, "b.ts": UNTIDY, "c.json": JSON_TEXT, "d.json": JSON_TEXT, "e.md": MARKDOWN, "f.md": MARKDOWN };
const FILES = { ...OF_KINDS, "book.ipynb": NOTEBOOK, "mine.ts": TIDY };
const TWENTY = [
  ...["a.ts", "b.ts"].flatMap((path) => [2, 20, 40].map((line) => editFile(path, `const v${line}  =  ${line};`, `const v${line}  =  "agent";`))),
  ...["c.json", "d.json"].flatMap((path) => [editFile(path, '"b":  2', '"b":  222'), editFile(path, '"list":[1,2', '"list":[9,2')]),
  ...["e.md", "f.md"].flatMap((path) => [2, 4, 8].map((line) => editFile(path, `${line}) a line  \nand`, `${line}) a new line  \nand`))),
  ...[1, 3].map((cell) => editFile("book.ipynb", `"print(${cell})"`, `"print(${cell}${cell})"`)),
  ...[3, 30].map((line) => editFile("mine.ts", `const t${line} =`, `const agent${line} =`)),
];
const TYPED = "const typed = 1;";

async function committed(folder) {
  await Promise.all(Object.entries(FILES).map(([path, bytes]) => writeFile(join(folder, path), bytes)));
  await git(folder, "init", "--quiet");
  await git(folder, "add", "--all");
  await git(folder, "commit", "--quiet", "--message=Before");
  return TIDYING;
}

scene("twenty edits while the user types", { model: true, conversation: "folded", prepare: committed }, () => {
  step("only the twenty edits and the typed line differ from the commit", async () => {
    for (const path of ["a.ts", "c.json", "e.md", "mine.ts"]) {
      await window.open(path);
    }
    const first = await task();
    await window.goTo(15);
    await key("Home");
    await first.call(...TWENTY.slice(0, 10));
    await window.page.keyboard.type(`${TYPED.slice(0, 8)}`);
    const second = await model.next();
    await Promise.all([second.call(...TWENTY.slice(10)), window.page.keyboard.type(`${TYPED.slice(8)}\n`)]);
    await (await model.next()).say("Changed.");
    await edits(TWENTY.length);
    await window.screenshot("bytes-07 twenty edits");
    await state(({ tabs }) => tabs.every(({ isDirty }) => !isDirty), "no unsaved text");
    const { stdout } = await git(workspace, "diff", "--numstat");
    const expected = { "a.ts": 3, "b.ts": 3, "book.ipynb": 2, "c.json": 2, "d.json": 2, "e.md": 3, "f.md": 3 };
    const lines = Object.entries(expected).map(([path, count]) => `${count}\t${count}\t${path}\n`);
    assert.equal(stdout, `${lines.join("")}3\t2\tmine.ts\n`);
  });

  step("a rejection of all edits leaves only the typed line", async () => {
    await window.command("Cairn: Reject All Edits");
    await edits(0);
    await holds("mine.ts", TIDY.replace("const t14", `${TYPED}\nconst t14`));
    await until(async () => (await git(workspace, "status", "--porcelain")).stdout === " M mine.ts\n", 20 * SECOND, "one changed file");
    await state(({ tabs }) => tabs.every(({ isDirty }) => !isDirty), "no unsaved text");
  });
});
