import { l10n } from "vscode";
import { type ComponentChild, type FunctionComponent, type VNode } from "preact";
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Action, Call, Item } from "../src/conversation/messages";
import { exact, oneLine, plainHosts, visible } from "../src/text/display";
import { duration, spokenDuration } from "../src/text/duration";
import { END_ICONS, capitalised, endText, stateText } from "../src/text/states";
import { renderMarkdown, settledLength, wordsOf } from "./markdown";
import { type Attributes, button, counts, h, icon, markdown, part, iconButton } from "./parts";

/** Requests of an item to the extension, and to the page. */
export interface ItemPort {
  open(target: string): void;
  act(action: Action): void;
  output(id: string): void;
  copy(id: string): void;
  /** Restores the files from before the turn of this message. */
  restore(message: string): void;
  /** Takes a message of the user back into the composer. */
  resend(message: Of<"user">): void;
  edit(action: "open" | "accept" | "reject", row: Of<"edit">): void;
}

type Of<Kind extends Item["kind"]> = Extract<Item, { readonly kind: Kind }>;

interface Shown<T extends Item = Item> {
  readonly item: T;
  readonly port: ItemPort;
  /** Tab reaches the item, and its actions. */
  readonly reached: boolean;
}

const STATE_ICONS: Readonly<Record<Call["state"], string>> = {
  queued: "circle-large-outline",
  running: "loading",
  awaitingApproval: "warning",
  done: "check",
  failed: "error",
  declined: "circle-slash",
  cancelled: "circle-slash",
};

const EDITS = {
  edited: { icon: "edit", words: l10n.t("Edited") },
  created: { icon: "new-file", words: l10n.t("Created") },
  deleted: { icon: "trash", words: l10n.t("Deleted") },
  moved: { icon: "arrow-right", words: l10n.t("Moved") },
} as const;

/** Searches that are named in the row of the work they belong to. */
const SEARCHES_NAMED = 2;

const ENDS = { ...END_ICONS, unfinished: "warning", restored: "discard" } as const;

const VIEWS: { readonly [Kind in Item["kind"]]: FunctionComponent<Shown<Of<Kind>>> } = {
  user: UserItem,
  text: TextItem,
  work: WorkItem,
  edit: EditItem,
  command: CommandItem,
  call: CallItem,
  subagent: SubagentItem,
  step: StepItem,
  notice: NoticeItem,
  checkpoint: CheckpointItem,
  end: EndItem,
};

/** An item of the conversation. It is drawn again only if it, or its reach by Tab, is another one. */
export const ItemView = memo((shown: Shown): VNode => part(VIEWS[shown.item.kind] as FunctionComponent<Shown>, shown));

/** An action on an item: a button in it, and keys while the item has the focus. */
interface ItemAction {
  readonly icon: string;
  readonly words: string;
  readonly className: string;
  readonly keys: "Enter" | "Control+C";
  readonly run: () => void;
}

/** An item whose name for a screen reader is `spoken`. */
function article({ item, reached }: Shown, className: string, spoken: string, attributes: Attributes, ...children: ComponentChild[]): VNode {
  const undone = item.undone === true;
  const own = { role: "article", "aria-label": oneLine(spoken, 300), tabindex: reached ? 0 : -1, "data-id": item.id };
  const description = undone ? { "aria-description": l10n.t("undone by Restore Checkpoint") } : {};
  return h("div", `item ${className}${undone ? " undone" : ""}`, { ...own, ...description, ...attributes }, ...children);
}

/** Buttons of actions. Tab reaches them while the item is the stop of the list. */
function actionButtons(actions: readonly ItemAction[], reached: boolean): VNode | false {
  const buttons = actions.map(({ icon: name, words, className, run }) =>
    iconButton(name, words, run, { class: `icon-button ${className}`.trim(), tabindex: reached ? 0 : -1 }),
  );
  return buttons.length > 0 && h("span", "item-actions", {}, ...buttons);
}

function copyAction(id: string, words: string, port: ItemPort): ItemAction {
  return { icon: "copy", words, className: "copy", keys: "Control+C", run: () => port.copy(id) };
}

/** Attributes that run an action of an item by its keys. */
function byKeys(actions: readonly ItemAction[]): Attributes {
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget || event.altKey || event.shiftKey) {
      return;
    }
    const control = event.ctrlKey || event.metaKey;
    // Text that is selected is what the user wants to copy.
    const copies = control && event.key.toLowerCase() === "c" && getSelection()?.isCollapsed !== false;
    const keys = event.key === "Enter" && !control ? "Enter" : copies ? "Control+C" : undefined;
    const action = actions.find((known) => known.keys === keys);
    if (action !== undefined) {
      event.preventDefault();
      action.run();
    }
  };
  return actions.length === 0 ? {} : { "aria-keyshortcuts": actions.map(({ keys }) => keys).join(" "), onKeyDown };
}

/** Words that only a screen reader says. */
function unseen(words: string): VNode {
  return h("span", "unseen", {}, words);
}

interface FoldedProps {
  readonly of: Shown;
  readonly className: string;
  readonly spoken: string;
  readonly head: readonly ComponentChild[];
  readonly inside: () => ComponentChild[];
  /** Stands below the row, folded or not. */
  readonly below?: ComponentChild;
}

/**
 * A row that unfolds by a click, Enter or Space. Its inside is made when it is open. The words
 * in the row are its name, so that it can be chosen by voice; `spoken` names the item as a whole.
 */
function Folded({ of, className, spoken, head, inside, below }: FoldedProps): VNode {
  const [open, setOpen] = useState(false);
  const attributes = { type: "button", "aria-expanded": open, tabindex: of.reached ? 0 : -1, onClick: () => setOpen(!open) };
  const row = h("button", "row fold", attributes, icon(open ? "chevron-down" : "chevron-right"), ...head);
  return article(of, className, spoken, { tabindex: -1 }, row, open && h("div", "inside", {}, ...inside()), below);
}

function UserItem(of: Shown<Of<"user">>): VNode {
  const { item, port, reached } = of;
  const { text, time, state, attachments } = item;
  const actions: ItemAction[] = [
    { icon: "edit", words: l10n.t("Edit and Resend"), className: "resend", keys: "Enter", run: () => port.resend(item) },
    ...(text === "" ? [] : [copyAction(item.id, l10n.t("Copy Message"), port)]),
  ];
  const bubble = { ...(time === "" ? {} : { title: time }), ...(text.length > 400 && { tabindex: 0 }) };
  return article(
    of,
    "user",
    [l10n.t("You"), time, state].filter((part) => part !== "").join(", "),
    byKeys(actions),
    attachments.length > 0 &&
      h("div", "chips sent", { role: "group", "aria-label": l10n.t("Attached to the message") }, ...attachments.map(sentChip)),
    text !== "" && h("div", "bubble", bubble, visible(text)),
    state !== "" && h("div", "faint", {}, state),
    actionButtons(actions, reached),
  );
}

/** An attachment that a message was sent with; a file opens by a click. */
function sentChip({ icon: name, label, target }: Of<"user">["attachments"][number]): VNode {
  const title = visible(label);
  const attributes = target === "" ? { title } : { title, "data-target": target, tabindex: 0, role: "link" };
  return h(target === "" ? "span" : "a", "chip added", attributes, icon(name), h("span", "cut", {}, title));
}

function TextItem(of: Shown<Of<"text">>): VNode {
  const { text, streaming, cut } = of.item;
  const [settled, growing] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const [words, setWords] = useState("");
  /** Length of the beginning that is drawn and does not change. */
  const drawn = useRef(0);
  // Only the part that can still change is drawn again: selections above it stay.
  useLayoutEffect(() => {
    const [before, after] = [settled.current, growing.current];
    if (before === null || after === null) {
      return;
    }
    if (!streaming) {
      before.replaceChildren(renderMarkdown(text));
      after.replaceChildren();
      setWords(wordsOf(before));
      return;
    }
    const rest = text.slice(drawn.current);
    const length = settledLength(rest);
    if (length > 0) {
      before.append(renderMarkdown(rest.slice(0, length)));
      drawn.current += length;
    }
    after.replaceChildren(renderMarkdown(rest.slice(length)));
  }, [text, streaming]);
  const spoken = `${l10n.t("Cairn")}, ${streaming ? l10n.t("Writing…") : words}`;
  const note = cut && h("div", "faint", {}, l10n.t("Cut off: not part of the conversation"));
  return article(of, "text", spoken, {}, h("div", "markdown", { ref: settled }), h("div", "markdown", { ref: growing }), note);
}

function WorkItem(of: Shown<Of<"work">>): VNode {
  const { calls, thoughts, thoughtMs, running } = of.item;
  const files = new Set(calls.filter(({ kind }) => kind === "read").map(({ path, title }) => path?.replace(/#.*$/u, "") ?? title)).size;
  const searches = calls.filter(({ kind }) => kind === "search");
  const did = [
    ...(files === 0 ? [] : [files === 1 ? l10n.t("read 1 file") : l10n.t("read {0} files", files)]),
    ...(searches.length > SEARCHES_NAMED ? [l10n.t("searched {0} times", searches.length)] : searches.map(searchWords)),
  ];
  const thought = thoughts === "" ? [] : [thoughtMs === 0 ? l10n.t("Thought") : `${l10n.t("Thought")} ${duration(thoughtMs)}`];
  const all = [...thought, ...(did.length === 0 ? [] : [did.join(", ")])].join(" · ");
  const spoken = all === "" ? l10n.t("Looking") : all.charAt(0).toUpperCase() + all.slice(1);
  const head = [h("span", "grow cut", { title: spoken }, spoken), running && icon("loading", true)];
  const inside = (): ComponentChild[] => [
    thoughts !== "" && h("div", "thoughts", {}, plainHosts(visible(thoughts))),
    ...calls.map((call) => callRow(call, of.port)),
  ];
  return part(Folded, { of, className: "work", spoken, head, inside });
}

function searchWords({ title, subject = title, matches }: Call): string {
  const pattern = oneLine(subject, 60);
  return matches === undefined ? l10n.t("searched {0}", pattern) : l10n.t("searched {0} ({1})", pattern, matches);
}

function EditItem(of: Shown<Of<"edit">>): VNode {
  const { item, port } = of;
  const { verb, path, uri, added, removed, pending, running, note } = item;
  const [word, name] = [running ? l10n.t("Editing") : EDITS[verb].words, visible(path)];
  const state = running ? "" : pending > 0 ? l10n.t("to review") : l10n.t("decided");
  const facts = [l10n.t("{0} added, {1} removed", added, removed), state, note].filter((part) => part !== "");
  // The same keys as in the list of proposed edits.
  const onKeyDown = (event: KeyboardEvent): void => {
    const [bare, control] = [!event.ctrlKey && !event.metaKey, event.ctrlKey || event.metaKey];
    const action = event.key === "Enter" ? (control ? "accept" : "open") : event.key === "Delete" && bare ? "reject" : undefined;
    if (event.target === event.currentTarget && action !== undefined && !event.altKey && !event.shiftKey && (pending > 0 || action === "open")) {
      event.preventDefault();
      port.edit(action, item);
    }
  };
  const keys = { "aria-keyshortcuts": pending > 0 ? "Enter Control+Enter Delete" : "Enter", onKeyDown };
  const decide = [
    iconButton("check", l10n.t("Accept the edits in {0}", name), () => port.edit("accept", item), { tabindex: -1 }),
    iconButton("discard", l10n.t("Reject the edits in {0}", name), () => port.edit("reject", item), { tabindex: -1 }),
  ];
  return article(
    of,
    "row edit",
    `${word} ${name}, ${facts.join(", ")}`,
    uri === undefined ? {} : keys,
    running ? icon("loading", true) : icon(EDITS[verb].icon),
    // Buttons show that edits wait. That they are decided needs no mark, which could be read as accepted.
    h("span", "verb", state === "" ? {} : { title: state }, word),
    uri === undefined ? h("span", "grow", {}, name) : opener(name, () => port.edit("open", item)),
    counts(added, removed),
    note !== "" && h("span", "faint", {}, note),
    pending > 0 && h("span", "decide", {}, ...decide),
  );
}

function CommandItem(of: Shown<Of<"command">>): VNode {
  const { id, command, state, output, lines, live, note, exitCode, elapsedMs } = of.item;
  const shown = exact(command);
  const word = stateText(state, true);
  const exit = exitCode === undefined ? "" : l10n.t("exit {0}", exitCode);
  // Who denied a command says more than that it was declined.
  const denied = state === "declined" && note !== "";
  const took = elapsedMs === undefined || state === "running" ? "" : spokenDuration(elapsedMs, document.documentElement.lang || "en");
  const said = [denied ? "" : word, exit, took, note].filter((part) => part !== "");
  // The sign before the command says that it went well, or runs.
  const quiet = state === "done" || state === "running" || (state === "failed" && exit !== "") || denied;
  const facts = [quiet ? "" : word, state === "failed" ? exit : "", note].filter((part) => part !== "");
  const clock = elapsedMs !== undefined && part(Clock, { ms: elapsedMs, runs: state === "running" });
  const head = [
    stateIcon(state),
    unseen(`${l10n.t("Command")}: `),
    h("code", "grow cut", {}, `$ ${oneLine(shown, 300)}`),
    quiet && !denied && unseen(`, ${word}, `),
    h("span", "faint facts", {}, facts.join(" · "), facts.length > 0 && clock !== false ? " · " : "", clock),
  ];
  const inside = (): ComponentChild[] => [
    h("pre", "block", { tabindex: 0 }, shown),
    output === ""
      ? h("div", "faint", {}, state === "running" ? "" : l10n.t("No output"))
      : h("pre", "block output", { tabindex: 0, "aria-label": l10n.t("Output, {0} lines", lines) }, plainHosts(visible(output))),
    (output !== "" || live !== "") && button(l10n.t("Open Full Output"), "link-button", () => of.port.output(id)),
  ];
  const below =
    live !== "" && state === "running" && h("pre", "block output live", { "aria-label": l10n.t("Newest output") }, plainHosts(visible(live)));
  return part(Folded, { of, className: `command ${state}`, spoken: `${l10n.t("Command")}: ${shown}, ${said.join(", ")}`, head, inside, below });
}

/** Time that a command took, or takes: then it is drawn each second. */
function Clock({ ms, runs }: { readonly ms: number; readonly runs: boolean }): VNode {
  const [now, setNow] = useState(ms);
  useEffect(() => {
    setNow(ms);
    const since = performance.now() - ms;
    const timer = runs ? setInterval(() => setNow(Math.floor((performance.now() - since) / 1_000) * 1_000), 1_000) : undefined;
    return () => clearInterval(timer);
  }, [ms, runs]);
  return h("span", "elapsed", {}, duration(now));
}

function CallItem(of: Shown<Of<"call">>): VNode {
  const { call, detail } = of.item;
  const spoken = `${call.title}, ${stateWord(call)}`;
  if (detail.trim() === "") {
    return article(of, "row call", spoken, {}, ...callParts(call, of.port));
  }
  // The answer to a question is shown after it.
  const answer = call.kind === "ask" && call.state === "done" && h("span", "faint answer", {}, oneLine(detail, 60));
  const head = [...callParts(call, of.port), unseen(`, ${stateWord(call)}`), answer];
  const inside = (): ComponentChild[] => [h("pre", "block", { tabindex: 0 }, plainHosts(visible(detail)))];
  return part(Folded, { of, className: "call", spoken, head, inside });
}

function SubagentItem(of: Shown<Of<"subagent">>): VNode {
  const { call, calls, earlier, report } = of.item;
  const title = call.subject ?? call.title;
  const live = call.state === "running" || call.state === "queued";
  const name = unseen(`${l10n.t("Subagent")}: `);
  const head = [stateIcon(call.state), icon("organization"), name, h("span", "grow cut", {}, title), unseen(`, ${stateWord(call)}`)];
  const inside = (): ComponentChild[] => [
    earlier > 0 && h("div", "faint", {}, l10n.t("{0} earlier calls", earlier)),
    ...calls.map((own) => callRow(own, of.port)),
    !live && report.trim() !== "" && markdown(report, "markdown report"),
  ];
  return part(Folded, { of, className: "subagent", spoken: `${l10n.t("Subagent")}: ${title}, ${stateWord(call)}`, head, inside });
}

function StepItem(of: Shown<Of<"step">>): VNode {
  const words = visible(of.item.text);
  const spoken = `${l10n.t("Step done")}: ${words}`;
  return article(of, "step row", spoken, {}, icon("pass-filled"), h("span", "grow", {}, words), h("span", "faint", {}, of.item.place));
}

function NoticeItem(of: Shown<Of<"notice">>): VNode {
  const words = plainHosts(visible(of.item.text));
  if (!of.item.reminder) {
    return article(of, "notice faint", words, {}, icon("info"), h("span", "grow", {}, words));
  }
  const head = [h("span", "glyph", { "aria-hidden": "true" }, "·"), unseen(l10n.t("What the agent was told"))];
  return part(Folded, {
    of,
    className: "notice reminder",
    spoken: l10n.t("What the agent was told"),
    head,
    inside: () => [h("div", "faint", {}, words)],
  });
}

/** A hairline with the checkpoint of a turn, which unfolds to its files. */
function CheckpointItem(of: Shown<Of<"checkpoint">>): VNode {
  const { message, time, files } = of.item;
  const count = files.length === 1 ? l10n.t("1 file") : l10n.t("{0} files", files.length);
  const words = [l10n.t("Checkpoint"), time].filter((part) => part !== "").join(" ");
  const inside = (): ComponentChild[] => [
    h("div", "faint", {}, l10n.t("These files can be restored to their state from before this task.")),
    ...files.map(({ path, uri }) => {
      const name = visible(path);
      return h("div", "row", {}, icon("file"), uri === undefined ? h("span", "grow cut", {}, name) : opener(name, () => of.port.open(uri)));
    }),
    button(l10n.t("Restore Checkpoint…"), "link-button", () => of.port.restore(message)),
  ];
  const head = [h("span", "", {}, words), h("span", "", {}, `· ${count}`)];
  return part(Folded, { of, className: "checkpoint", spoken: `${words}, ${count}`, head, inside });
}

function EndItem(of: Shown<Of<"end">>): VNode {
  const { id, reason, summary, facts, actions, copies } = of.item;
  const word = reason === "unfinished" ? l10n.t("Ended") : reason === "restored" ? l10n.t("Undone") : capitalised(endText(reason));
  const own = copies ? [copyAction(id, l10n.t("Copy Answer"), of.port)] : [];
  const buttons = actions.map((action, index) => button(action.label, index === 0 ? "primary" : "secondary", () => of.port.act(action)));
  return article(
    of,
    `end ${reason}`,
    `${word}${reason === "unfinished" ? `, ${facts}` : ""}. ${summary}`,
    byKeys(own),
    h(
      "div",
      "row",
      {},
      icon(ENDS[reason]),
      h("strong", "", {}, word),
      facts !== "" && h("span", "faint", {}, `· ${facts}`),
      actionButtons(own, of.reached),
    ),
    summary.trim() !== "" && markdown(summary),
    buttons.length > 0 && h("div", "buttons", {}, ...buttons),
  );
}

function callRow(call: Call, port: ItemPort): VNode {
  return h("div", "row call", {}, ...callParts(call, port));
}

function callParts(call: Call, port: ItemPort): ComponentChild[] {
  const { title, path, lines, matches, note } = call;
  return [
    stateIcon(call.state),
    path === undefined ? h("span", matches === undefined ? "grow" : "cut", { title }, title) : opener(title, () => port.open(path)),
    lines !== undefined && h("span", "faint", { "aria-label": l10n.t("lines {0}", lines) }, lines),
    matches !== undefined && h("span", "faint", {}, l10n.t("{0} found", matches)),
    note !== undefined && h("span", "faint", {}, note),
  ];
}

function opener(words: string, open: () => void): VNode {
  const onClick = (event: Event): void => {
    event.stopPropagation();
    open();
  };
  return h("a", "link grow cut", { role: "link", tabindex: 0, title: words, onClick }, words);
}

function stateIcon(state: Call["state"]): VNode {
  const spins = state === "running" ? " codicon-modifier-spin" : "";
  return h("span", `codicon codicon-${STATE_ICONS[state]}${spins} state-${state}`, { "aria-hidden": "true" });
}

function stateWord({ state, note }: Call): string {
  const word = stateText(state, true);
  return note === undefined ? word : `${word}, ${note}`;
}
