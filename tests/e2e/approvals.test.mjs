// What a question about a command says of its risk, the keys that answer it from where the hands are, and
// the record of each decision.

import assert from "node:assert/strict";

import { model, scene, send, setTheme, step, window } from "./harness.mjs";
import { armed, card } from "./look.mjs";

const key = (name) => window.page.keyboard.press(name);
const bash = (command) => ({ name: "bash", arguments: { command } });
const RISKY = "rm -rf build dist ~/other && git push --force";

scene("a question tells its risk and takes keys where the hands are", { model: true, conversation: "shown" }, () => {
  let request;

  step("a dangerous command names its risks, and no answer is suggested", async () => {
    await window.open("src/cart.mjs");
    await (await send("Clean up")).call(bash(RISKY), bash("echo hello"));
    await card(RISKY).getByText("deletes files · rewrites history · leaves the workspace · needs the network: will fail").waitFor();
    assert.equal(await card(RISKY).locator("button.primary").count(), 0);
    for (const theme of ["Dark Modern", "Light High Contrast", "Light Modern"]) {
      await setTheme(theme);
      await window.screenshot(`approvals-01 risk ${theme}`);
    }
  });

  step("one key denies it from the editor, and the next question is an ordinary one", async () => {
    await window.focusEditor();
    await armed(RISKY).waitFor();
    await key("Alt+n");
    await window
      .article(RISKY)
      .filter({ hasText: /denied \d+:\d\d/u })
      .waitFor();
    await card("echo hello").locator("button.primary").waitFor();
    await window.screenshot("approvals-02 denied");
  });

  step("one key allows it from the message box, whose text stays", async () => {
    await window.composer().fill("Then this");
    await armed("echo hello").waitFor();
    await key("Alt+y");
    request = await model.next();
    await window
      .article("$ echo hello")
      .filter({ hasText: /allowed once \d+:\d\d/u })
      .waitFor();
    assert.equal(await window.composer().inputValue(), "Then this");
    await window.composer().fill("");
  });

  step("one key answers from the list of edits and from the plan", async () => {
    const todos = [{ content: "Say it", status: "in_progress", activeForm: "Saying it" }];
    await request.call({ name: "TodoWrite", arguments: { todos } }, bash("echo from the list"), bash("echo from the plan"));
    for (const [focus, words] of [
      ["Cairn: Focus on Proposed Edits View", "echo from the list"],
      ["Cairn: Focus on Plan View", "echo from the plan"],
    ]) {
      await armed(words).waitFor();
      await window.command(focus);
      await key("Alt+y");
      await window
        .article(`$ ${words}`)
        .filter({ hasText: /allowed once \d+:\d\d/u })
        .waitFor();
    }
    await (await model.next()).say("All is clean.");
    await window.article("All is clean.").waitFor();
  });

  step("the decisions stand on their calls after a reload", async () => {
    await window.reload();
    await window.command("Cairn: Show Conversation");
    await window.article("All is clean.").waitFor();
    await window
      .article(RISKY)
      .filter({ hasText: /denied \d+:\d\d/u })
      .waitFor();
    for (const words of ["hello", "from the list", "from the plan"]) {
      await window
        .article(`$ echo ${words}`)
        .filter({ hasText: /allowed once \d+:\d\d/u })
        .waitFor();
    }
    await window.screenshot("approvals-03 after a reload");
  });
});
