// How edits look in the text, and deciding many of them quickly: changed words in place, and the review
// mode with one key for each edit.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { tryUntil, until } from "./editor.mjs";
import { countOf, edits, inFront, lens, press, tab, text, zone } from "./look.mjs";
import { SECOND, now, scene, state, step, taskWith, setTheme, window } from "./harness.mjs";
import { editFile } from "./model.mjs";

const COUNT = 40;
const WORDS = `def cut(text, max_length=80):
    if len(text) <= max_length:
        return text
    return text[:max_length - 1] + '…'


def first(text):
    lines = text.splitlines()
    lines = [line for line in lines if line]
    return lines[0] if lines else ''
`;

const key = (name) => window.page.keyboard.press(name);
const row = (text) => window.row("Proposed Edits", text);
const numbers = Array.from({ length: COUNT }, (_, index) => index);
/** The review mode in the status bar, or its end. */
const reviewing = (words) => state(({ status }) => status["cairn.status.reviewing"]?.text.includes(words), words);
const notReviewing = () => state(({ status }) => status["cairn.status.reviewing"] === undefined, "the end of the review mode");

async function prepare(folder) {
  await writeFile(join(folder, "many.mjs"), numbers.map((index) => `const value${index} = measure(text, ${index});\n// kept\n`).join(""));
  await writeFile(join(folder, "words.py"), WORDS);
  return { "cairn.review.advance": true };
}

scene("edits in the text", { model: true, conversation: "folded", prepare }, () => {
  step("a changed word is shown within its line, and a replaced block above it, in each theme", async () => {
    await window.open("words.py");
    await taskWith(
      editFile("words.py", "(text, max_length=80):\n    if len(text) <= max_length:", "(text, limit=80):\n    if len(text) <= limit:"),
      editFile("words.py", "    return text[:max_length - 1] + '…'", "    return text[:limit - 1] + '…'"),
      editFile(
        "words.py",
        "    lines = text.splitlines()\n    lines = [line for line in lines if line]\n    return lines[0] if lines else ''",
        "    return next((line for line in text.splitlines() if line), '')",
      ),
    );
    await edits(3);
    await zone("Removed 3 lines");
    assert.equal(now().zones.length, 1, "only the replaced block has a zone");
    let struck;
    await until(async () => (struck = await window.struckWords()).length === 3, 10 * SECOND, "three struck words");
    assert.ok(
      struck.every((word) => word.includes("max_length")),
      struck.join(),
    );
    for (const [theme, name] of [
      ["Dark Modern", "dark"],
      ["Light Modern", "light"],
      ["Dark High Contrast", "high contrast"],
      ["Light High Contrast", "light high contrast"],
    ]) {
      await setTheme(theme);
      await window.coloredCode(window.zone("")).first().waitFor();
      await window.lens("Accept").first().waitFor();
      await window.screenshot(`reviewing-01 ${name}`);
    }
    await setTheme("Dark Modern");
  });

  step("the removed word can be read by the keyboard", async () => {
    await window.goTo(6);
    await key("Shift+Alt+F5");
    await state(({ editor }) => editor.line === 4, "the edit before");
    await tryUntil(() => window.command("Show or Focus Hover"), window.hover("Removed: max_length"), "the hover");
    await key("Escape");
  });

  step("the edits of the file are accepted at once, and from the title of the list with no row in focus", async () => {
    await window.command("Cairn: Accept Edits in File");
    await edits(0);
    assert.match(now().editor.text, /limit - 1/u);
    await window.command("Cairn: Undo Last Decision");
    await edits(3);
    await window.viewAction("Proposed Edits", "Accept All Edits", async () => countOf(now()) === 0);
    assert.match(now().editor.text, /limit - 1/u);
  });

  step("a function inserted above a changed line is an edit of its own, and each is decided alone", async () => {
    await taskWith(editFile("words.py", "def first(text):\n", "def _words(text):\n    return text.split()\n\n\ndef first(text, most=1):\n"));
    await edits(2);
    await lens("words.py", "Edit 1/2 (+4 −0)");
    await lens("words.py", "Edit 2/2 (+1 −1)");
    await window.goTo(9);
    await window.screenshot("reviewing-07 two parts");
    await key("Control+Alt+Enter");
    await edits(1);
    await key("Control+Alt+Backspace");
    await edits(0);
    await text(/def _words\(text\):\n {4}return text\.split\(\)\n\n\ndef first\(text\):\n/u);
  });

  step("an edit above the text in view leaves that text in its place", async () => {
    await window.open("many.mjs");
    await window.goTo(60);
    const top = ({ text, firstLine }) => text.split("\n")[firstLine - 1];
    const before = top(await state(({ editor }) => editor?.line === 60 && editor, "line 60"));
    await taskWith(editFile("many.mjs", "const value4 = ", `${"added();\n".repeat(5)}const value4 = `));
    await edits(1);
    await state(({ editor }) => editor.text.includes("added()") && top(editor) === before, `${before} at the top`);
    await window.screenshot("reviewing-08 place kept");
    await window.command("Cairn: Reject Edits in File");
    await edits(0);
    await state(({ editor }) => !editor.text.includes("added()") && top(editor) === before, `${before} at the top again`);
  });
});

scene("the review mode", { model: true, conversation: "folded", prepare }, () => {
  step("forty edits are decided with forty keys, with the way back and in sight of the keys", async () => {
    await window.open("many.mjs");
    await taskWith(...numbers.map((index) => editFile("many.mjs", `value${index} = measure(text, `, `value${index} = measure(line, `)));
    await edits(COUNT);
    await window.command("Agent: review edits");
    await reviewing(`REVIEW 1/${COUNT}`);
    await window.focusedEditor().waitFor();
    await window.screenshot("reviewing-02 review mode");
    await key("j");
    await reviewing(`REVIEW 2/${COUNT}`);
    await key("k");
    await reviewing(`REVIEW 1/${COUNT}`);
    for (let left = COUNT - 1; left >= COUNT - 4; left--) {
      await key(left % 2 === 0 ? "n" : "y");
      await edits(left);
    }
    await key("u");
    await edits(COUNT - 3);
    await key("n");
    await edits(COUNT - 4);
    // Quicker than the edits are decided: no key is lost, and none becomes text.
    for (let left = COUNT - 5; left >= 0; left--) {
      await key("y");
    }
    await edits(0);
    await notReviewing();
    const { text } = now().editor;
    assert.equal(text.match(/measure\(line, /gu).length, COUNT - 2);
    assert.equal(text.match(/measure\(text, /gu).length, 2);
    assert.doesNotMatch(text, /^y|yy/mu);
  });

  step("Esc ends the review mode, and so does typing, which goes into the text", async () => {
    await taskWith(
      editFile("many.mjs", "value0 = ", "first = "),
      editFile("many.mjs", "value9 = ", "ninth = "),
      editFile("many.mjs", "value20 = ", "other = "),
    );
    await edits(3);
    await window.command("Agent: review edits");
    await reviewing("REVIEW");
    await window.focusedEditor().waitFor();
    // The key reaches whatever VS Code shows for the moment over the editor, such as a hover.
    const isOver = async () => now().status["cairn.status.reviewing"] === undefined;
    await tryUntil(() => key("Escape"), isOver, "the end of the review mode");
    await window.command("Agent: review edits");
    await reviewing("REVIEW");
    await window.focusedEditor().waitFor();
    await key("End");
    // Faster than a person: until VS Code knows that the mode has ended, a letter of it takes the way over Cairn.
    await window.page.keyboard.type(" zynjkury zynxn");
    await notReviewing();
    await text(/ zynjkury zynxn\n/u);
  });

  step("a double-click on the button of a row rejects one edit, also if the next one moves under the pointer", async () => {
    await row("zynjkury zynxn").waitFor();
    // Cairn says so if it was just drawing the rows: then one clicks again.
    await tryUntil(
      () => window.clickInRows("Proposed Edits", ["Edit 2 of 3", "Edit 3 of 3"], "Reject"),
      async () => countOf(now()) < 3,
      "one decision",
    );
    await edits(2);
    // A key after them has its effect on the one decision that there was.
    await window.select(row("Edit 1 of 2"));
    await key("Control+Alt+z");
    await edits(3);
    await text(/^const first = [^]*^const ninth = [^]*^const other = /mu);
  });

  step("the letters decide in the list of edits too, and the selection goes on", async () => {
    await window.command("Agent: review edits");
    await reviewing("REVIEW");
    await window.select(row("Edit 2 of 3"));
    await key("y");
    await edits(2);
    await window.selected(row("Edit 2 of 2")).waitFor();
    await window.screenshot("reviewing-03 list");
    await key("n");
    await edits(1);
    await window.selected(row("Edit 1 of 1")).waitFor();
    await key("Escape");
    await notReviewing();
    await window.command("Cairn: Accept All Edits");
    await edits(0);
  });

  step("rejecting an edit in which one typed asks what becomes of that line, with the way back", async () => {
    await window.open("words.py");
    await taskWith(
      // One edit: the changed line uses what the lines above it introduce.
      editFile(
        "words.py",
        "    return text[:max_length - 1] + '…'",
        "    trimmed = text.rstrip()\n    if max_length < 1:\n        trimmed = ''\n    return trimmed[:max_length - 1] + '…'",
      ),
    );
    await edits(1);
    await window.goTo(5);
    await key("End");
    await window.page.keyboard.type("  # short");
    await text("# short");
    await lens("words.py", "with your own changes");
    await key("Control+Alt+Backspace");
    await window.dialog("# short").waitFor();
    await window.screenshot("reviewing-06 your own words");
    await window.button("Cancel", window.dialog("")).click();
    await window.dialog("").waitFor({ state: "hidden" });
    await text("# short");
    await key("Control+Alt+Backspace");
    await window.button("Drop All", window.dialog("")).click();
    await state(({ editor }) => !/# short|if max_length < 1/u.test(editor.text), "the text without the words");
    await press("Rejected, with what you typed in it.", "Undo");
    await text("# short");
    await edits(1);
    await window.goTo(5);
    await key("Control+Alt+Backspace");
    await window.button("Keep Mine", window.dialog("")).click();
    await edits(0);
    await text(/return text\[:max_length - 1\] \+ '…'/u);
    await text(/# short/u);
  });
});

scene("a new file, and all files at once", { model: true, conversation: "folded", prepare }, () => {
  step("a new file has one lens, and all files at once have the decisions in the title", async () => {
    await taskWith({ name: "write_file", arguments: { path: "made.mjs", content: "export const one = 1;\n".repeat(30) } });
    await edits(1);
    await row("made.mjs").first().waitFor();
    await tryUntil(
      () => row("Edit 1 of 1").first().click(),
      async () => now().editor?.path === "made.mjs",
      "the new file",
    );
    await inFront("made.mjs");
    await lens("made.mjs", "New file (+30)");
    await window.screenshot("reviewing-04 new file");
    await window.command("Cairn: Review All Edits");
    await tab("Proposed edits", { isActive: true });
    await window.screenshot("reviewing-05 all files");
    await window.editorAction("Accept All Edits", async () => countOf(now()) === 0);
  });
});
