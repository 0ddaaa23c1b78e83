// The first minute after the installation: a window with the side bar of VS Code's own settings, and no model.

import assert from "node:assert/strict";

import { tryUntil } from "./editor.mjs";
import { model, now, scene, state, step, view, window } from "./harness.mjs";
import { asked } from "./look.mjs";
import { DRAFTS } from "./window.mjs";

/** Entry of VS Code's storage that tells whether the secondary side bar is hidden. */
const SIDE_BAR = "workbench.auxiliaryBar.hidden";

const card = () => view.getByRole("group", { name: "Cairn needs a model" });
const prepare = () => ({ "workbench.secondarySideBar.defaultVisibility": "visible" });

scene("the first minute", { model: { isChosen: false }, prepare }, () => {
  step("Cairn comes into sight without the focus, and says how to get a model", async () => {
    await card().getByRole("button", { name: "Choose Model…" }).waitFor();
    await card().getByRole("button", { name: "Try the Demo" }).waitFor();
    assert.equal(await view.locator(":focus").count(), 0, "the focus is where it was");
    await window.screenshot("first-01 no model");
    await window.sideBarWidth(240);
    await window.screenshot("first-02 narrow");
  });

  step("the way to a model begins in the view, and its card goes when there is one", async () => {
    await card().getByRole("button", { name: "Choose Model…" }).click();
    await asked("Model");
    await window.choose("Other Server…");
    await window.answer("Address of a server", model.baseUrl);
    await asked("works: 2 models");
    await window.choose("scripted");
    await card().waitFor({ state: "detached" });
    // A table shows what the model can do.
    await asked("Check of scripted");
    await tryUntil(
      () => window.page.keyboard.press("Escape"),
      async () => now().input === null,
      "the end of the table",
    );
  });

  step("it comes once: a window whose side bar was closed keeps it closed", async () => {
    await window.command("View: Toggle Secondary Side Bar Visibility");
    await window.composer().waitFor({ state: "detached" });
    await window.stored(DRAFTS, "cairn.introduced");
    await window.stored(SIDE_BAR, "true");
    await window.reload();
    await state(({ model: { provider } }) => provider !== "none", "the model");
    await window.status().first().waitFor();
    assert.equal(now().input, null);
    assert.equal(await window.composer().count(), 0);
  });
});
