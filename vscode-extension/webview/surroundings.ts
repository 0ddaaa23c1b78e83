import { l10n } from "vscode";
import type { VNode } from "preact";

import type { Action, Banner, FromPage, ViewState } from "../src/conversation/messages";
import { button, counts, h, icon, isBusy } from "./parts";

type Act = (action: Action) => void;

export function bannerRows(banners: readonly Banner[], act: Act): VNode[] {
  return banners.map(({ text, severity, actions }) => {
    const buttons = actions.map((action) => button(action.label, "link-button", () => act(action)));
    return h("div", `banner ${severity}`, { role: "status" }, icon(severity), h("span", "grow", {}, text), ...buttons);
  });
}

/** The step in progress, while a task runs. */
export function strip({ step, phase }: ViewState): VNode | null {
  if (!isBusy({ phase })) {
    return null;
  }
  const words = phase === "retrying" ? l10n.t("Retrying") : step?.text === undefined || step.text === "" ? l10n.t("Working") : step.text;
  const sign = phase === "waiting" ? icon("warning") : icon("loading", true);
  return h("div", "strip", {}, sign, h("span", "grow cut", { title: words }, words), h("span", "faint", {}, step?.place ?? ""));
}

/** Page in place of a conversation that has not begun. */
export function start(
  { phase, session, back, connected, start: it }: ViewState,
  act: Act,
  write: (text: string) => void,
  goBack: () => void,
): VNode | null {
  if (session !== "" || phase === "lost") {
    return null;
  }
  return h(
    "div",
    "empty",
    {},
    back && button(`← ${l10n.t("Back to the Conversation")}`, "link-button", goBack),
    h("h2", "", {}, l10n.t("What would you like to do?")),
    it.setup !== undefined && setup(it.setup, act),
    h("p", "faint", {}, it.text),
    connected && it.examples.map((text) => button(text, "example", () => write(text))),
  );
}

function setup({ text, actions }: NonNullable<ViewState["start"]["setup"]>, act: Act): VNode {
  const buttons = actions.map((action, at) => button(action.label, at === 0 ? "primary" : "secondary", () => act(action)));
  return h("div", "setup", { role: "group", "aria-label": text }, h("p", "", {}, text), h("div", "buttons", {}, ...buttons));
}

const EDIT_COMMANDS = [
  [l10n.t("Review"), "cairn.reviewAll"],
  [l10n.t("Accept All"), "cairn.acceptAll"],
  [l10n.t("Reject All"), "cairn.rejectAll"],
] as const;

/** Number of edits to review, and the commands for all of them. */
export function editsBar(edits: ViewState["edits"], post: (message: FromPage) => void): VNode | null {
  if (edits === undefined) {
    return null;
  }
  const buttons = EDIT_COMMANDS.map(([words, name]) => button(words, "link-button", () => post({ type: "command", name })));
  const what = h("span", "grow", {}, h("span", "what", {}, edits.edits), " ", counts(edits.counts.added, edits.counts.removed));
  return h("div", "edits", {}, icon("diff-multiple"), what, h("span", "edit-buttons", {}, ...buttons));
}
