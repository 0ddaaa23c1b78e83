import type { Action, Call, Item } from "../src/conversation/messages";
import { drawSent } from "./sent";
import { exact, oneLine, plainHosts, visible } from "../src/text/display";
import { duration, spokenDuration } from "../src/text/duration";
import { button, h, icon, iconButton } from "./dom";
import { renderMarkdown, settledLength, wordsOf } from "./markdown";
import { t } from "./strings";

/** Requests of an item to the extension. */
export interface ItemPort {
  open(target: string): void;
  act(action: Action): void;
  output(id: string): void;
  copy(id: string): void;
  /** Takes a message of the user back into the composer. */
  /** Restores the files from before the turn of this message. */
  restore(message: string): void;
  resend(message: Extract<Item, { kind: "user" }>): void;
  edit(action: "open" | "accept" | "reject", row: Extract<Item, { kind: "edit" }>): void;
}

/** Element of an item. A text that grows can be given more; anything else is made again. */
export interface Drawn {
  readonly element: HTMLElement;
  grow?(delta: string): void;
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

const EDIT_ICONS = { edited: "edit", created: "new-file", deleted: "trash", moved: "arrow-right" } as const;

/** Searches that are named in the row of the work they belong to. */
const SEARCHES_NAMED = 2;

/** Draws an item; `open` tells whether the user had it unfolded. */
export function drawItem(item: Item, port: ItemPort, open: boolean): Drawn {
  switch (item.kind) {
    case "user": {
      const scrolls = item.text.length > 400 ? { tabindex: "0" } : {};
      const title = item.time === "" ? undefined : item.time;
      const bubble = item.text === "" ? undefined : h("div", "bubble", { ...scrolls, title }, visible(item.text));
      const actions: ItemAction[] = [
        { icon: "edit", words: t("resend"), className: "resend", keys: "Enter", run: () => port.resend(item) },
        ...(item.text === "" ? [] : [copyAction(item.id, t("copyMessage"), port)]),
      ];
      const spoken = [t("you"), title ?? "", item.state].filter((part) => part !== "").join(", ");
      const state = item.state === "" ? undefined : h("div", "faint", {}, item.state);
      const element = article("user", spoken, drawSent(item), bubble, state);
      return { element: withActions(element, element, actions) };
    }
    case "text":
      return drawText(item);
    case "work":
      return { element: drawWork(item, port, open) };
    case "edit":
      return { element: drawEdit(item, port) };
    case "command":
      return { element: drawCommand(item, port, open) };
    case "call":
      return { element: drawCall(item.call, item.detail, port, open) };
    case "subagent":
      return { element: drawSubagent(item, port, open) };
    case "step": {
      const words = visible(item.text);
      return {
        element: article(
          "step row",
          `${t("stepDone")}: ${words}`,
          icon("pass-filled"),
          h("span", "grow", {}, words),
          h("span", "faint", {}, item.place),
        ),
      };
    }
    case "notice":
      return { element: drawNotice(item, open) };
    case "checkpoint":
      return { element: drawCheckpoint(item, port, open) };
    case "end":
      return { element: drawEnd(item, port) };
  }
}

function article(className: string, spoken: string, ...children: readonly (Node | string | undefined)[]): HTMLElement {
  return h("div", `item ${className}`, { role: "article", "aria-label": oneLine(spoken, 300), tabindex: "-1" }, ...children);
}

function drawText({ text, streaming, cut }: Extract<Item, { kind: "text" }>): Drawn {
  const settled = h("div", "markdown");
  const growing = h("div", "markdown");
  const note = cut ? h("div", "faint", {}, t("cut")) : undefined;
  if (!streaming) {
    settled.append(renderMarkdown(text));
    return { element: article("text", `${t("agent")}, ${wordsOf(settled)}`, settled, note) };
  }
  const element = article("text", `${t("agent")}, ${t("writing")}`, settled, growing, note);
  // Only the part that can still change is drawn again: selections above it stay.
  let rest = text;
  const draw = (): void => {
    const length = settledLength(rest);
    if (length > 0) {
      settled.append(renderMarkdown(rest.slice(0, length)));
      rest = rest.slice(length);
    }
    growing.replaceChildren(renderMarkdown(rest));
  };
  draw();
  return {
    element,
    grow: (delta) => {
      rest += delta;
      draw();
    },
  };
}

function drawWork({ calls, thoughts, thoughtMs, running }: Extract<Item, { kind: "work" }>, port: ItemPort, open: boolean): HTMLElement {
  const files = new Set(calls.filter(({ kind }) => kind === "read").map(({ path, title }) => path?.replace(/#.*$/u, "") ?? title)).size;
  const searches = calls.filter(({ kind }) => kind === "search");
  const did = [
    ...(files === 0 ? [] : [files === 1 ? t("readFile") : t("readFiles", files)]),
    ...(searches.length > SEARCHES_NAMED ? [t("searched", searches.length)] : searches.map(searchWords)),
  ];
  const thought = thoughts === "" ? [] : [thoughtMs === 0 ? t("thought") : `${t("thought")} ${duration(thoughtMs)}`];
  const all = [...thought, ...(did.length === 0 ? [] : [did.join(", ")])].join(" · ");
  const words = all === "" ? t("looking") : all.charAt(0).toUpperCase() + all.slice(1);
  return folded(
    "work",
    [h("span", "grow cut", { title: words }, words), running ? icon("loading", true) : undefined],
    words,
    () => [...(thoughts === "" ? [] : [h("div", "thoughts", {}, plainHosts(visible(thoughts)))]), ...calls.map((call) => callRow(call, port))],
    open,
  );
}

function searchWords({ title, subject = title, matches }: Call): string {
  const pattern = oneLine(subject, 60);
  return matches === undefined ? t("searchedFor", pattern) : t("searchedFound", pattern, matches);
}

function drawEdit(item: Extract<Item, { kind: "edit" }>, port: ItemPort): HTMLElement {
  const { verb, path, uri, added, removed, pending, running, note } = item;
  const word = running ? t("editing") : t(verb);
  const state = running ? "" : pending > 0 ? t("toDecide") : t("decided");
  const facts = [t("addedRemoved", added, removed), state, note].filter((part) => part !== "");
  const spoken = `${word} ${visible(path)}, ${facts.join(", ")}`;
  const name = visible(path);
  const decide =
    pending === 0
      ? undefined
      : h(
          "span",
          "decide",
          {},
          ...(["accept", "reject"] as const).map((action) => {
            const words = t(action === "accept" ? "acceptEdits" : "rejectEdits", name);
            const own = iconButton(action === "accept" ? "check" : "discard", words, () => port.edit(action, item));
            own.tabIndex = -1;
            return own;
          }),
        );
  const element = article(
    "row edit",
    spoken,
    running ? icon("loading", true) : icon(EDIT_ICONS[verb]),
    // Buttons show that edits wait. That they are decided needs no mark, which could be read as accepted.
    h("span", "verb", state === "" ? {} : { title: state }, word),
    uri === undefined ? h("span", "grow", {}, name) : opener(name, () => port.edit("open", item)),
    counts(added, removed),
    note === "" ? undefined : h("span", "faint", {}, note),
    decide,
  );
  if (uri !== undefined) {
    // The same keys as in the list of proposed edits.
    element.setAttribute("aria-keyshortcuts", pending > 0 ? "Enter Control+Enter Delete" : "Enter");
    element.addEventListener("keydown", (event) => {
      const [bare, control] = [!event.ctrlKey && !event.metaKey, event.ctrlKey || event.metaKey];
      const action = event.key === "Enter" ? (control ? "accept" : "open") : event.key === "Delete" && bare ? "reject" : undefined;
      if (event.target === element && action !== undefined && !event.altKey && !event.shiftKey && (pending > 0 || action === "open")) {
        event.preventDefault();
        port.edit(action, item);
      }
    });
  }
  return element;
}

/** `+16 −17`, in the colours of Git. */
export function counts(added: number, removed: number): HTMLElement {
  return h("span", "counts", {}, h("span", "added", {}, `+${added}`), " ", h("span", "removed", {}, `−${removed}`));
}

function drawCommand(item: Extract<Item, { kind: "command" }>, port: ItemPort, open: boolean): HTMLElement {
  const { id, command, state, output, lines, live, note, exitCode, elapsedMs } = item;
  const shown = exact(command);
  const word = t(`state${state.charAt(0).toUpperCase()}${state.slice(1)}`);
  const exit = exitCode === undefined ? "" : t("exitCode", exitCode);
  // Who denied a command says more than that it was declined.
  const denied = state === "declined" && note !== "";
  const spoken = [
    denied ? "" : word,
    exit,
    elapsedMs === undefined || state === "running" ? "" : spokenDuration(elapsedMs, document.documentElement.lang || "en"),
    note,
  ].filter((part) => part !== "");
  // The sign before the command says that it went well, or runs.
  const quiet = state === "done" || state === "running" || (state === "failed" && exit !== "") || denied;
  const facts = [quiet ? "" : word, state === "failed" ? exit : "", note].filter((part) => part !== "");
  const clock =
    elapsedMs === undefined ? undefined : h("span", "elapsed", state === "running" ? { "data-since": `${performance.now() - elapsedMs}` } : {});
  clock?.append(duration(elapsedMs ?? 0));
  const element = folded(
    `command ${state}`,
    [
      stateIcon(state),
      unseen(`${t("command")}: `),
      h("code", "grow cut", {}, `$ ${oneLine(shown, 300)}`),
      quiet && !denied ? unseen(`, ${word}, `) : undefined,
      h("span", "faint facts", {}, facts.join(" · "), facts.length > 0 && clock !== undefined ? " · " : "", clock),
    ],
    `${t("command")}: ${shown}, ${spoken.join(", ")}`,
    () => [
      h("pre", "block", { tabindex: "0" }, shown),
      output === ""
        ? h("div", "faint", {}, state === "running" ? "" : t("noOutput"))
        : h("pre", "block output", { tabindex: "0", "aria-label": t("output", lines) }, plainHosts(visible(output))),
      ...(output === "" && live === "" ? [] : [button(t("openOutput"), "link-button", () => port.output(id))]),
    ],
    open,
  );
  if (live !== "" && state === "running") {
    element.append(h("pre", "block output live", { "aria-label": t("liveOutput") }, plainHosts(visible(live))));
  }
  return element;
}

function drawCall(call: Call, detail: string, port: ItemPort, open: boolean): HTMLElement {
  if (detail.trim() === "") {
    return article("row call", `${call.title}, ${stateWord(call)}`, ...callParts(call, port));
  }
  // The answer to a question is shown after it.
  const answer = call.kind === "ask" && call.state === "done" ? [h("span", "faint answer", {}, oneLine(detail, 60))] : [];
  return folded(
    "call",
    [...callParts(call, port), unseen(`, ${stateWord(call)}`), ...answer],
    `${call.title}, ${stateWord(call)}`,
    () => [h("pre", "block", { tabindex: "0" }, plainHosts(visible(detail)))],
    open,
  );
}

function drawSubagent({ call, calls, earlier, report }: Extract<Item, { kind: "subagent" }>, port: ItemPort, open: boolean): HTMLElement {
  const title = call.subject ?? call.title;
  const live = call.state === "running" || call.state === "queued";
  return folded(
    "subagent",
    [stateIcon(call.state), icon("organization"), unseen(`${t("subagent")}: `), h("span", "grow cut", {}, title), unseen(`, ${stateWord(call)}`)],
    `${t("subagent")}: ${title}, ${stateWord(call)}`,
    () => [
      ...(earlier === 0 ? [] : [h("div", "faint", {}, t("earlierCalls", earlier))]),
      ...calls.map((own) => callRow(own, port)),
      ...(live || report.trim() === "" ? [] : [h("div", "markdown report", {}, renderMarkdown(report))]),
    ],
    open,
  );
}

function drawNotice({ text, reminder }: Extract<Item, { kind: "notice" }>, open: boolean): HTMLElement {
  const words = plainHosts(visible(text));
  if (!reminder) {
    return article("notice faint", words, icon("info"), h("span", "grow", {}, words));
  }
  return folded(
    "notice reminder",
    [h("span", "glyph", { "aria-hidden": "true" }, "·"), unseen(t("told"))],
    t("told"),
    () => [h("div", "faint", {}, words)],
    open,
  );
}

/** A hairline with the checkpoint of a turn, which unfolds to its files. */
function drawCheckpoint({ message, time, files }: Extract<Item, { kind: "checkpoint" }>, port: ItemPort, open: boolean): HTMLElement {
  const count = files.length === 1 ? t("checkpointFile") : t("checkpointFiles", files.length);
  const words = [t("checkpoint"), time].filter((part) => part !== "").join(" ");
  return folded(
    "checkpoint",
    [h("span", "", {}, words), h("span", "", {}, `· ${count}`)],
    `${words}, ${count}`,
    () => [
      h("div", "faint", {}, t("checkpointNote")),
      ...files.map(({ path, uri }) =>
        h("div", "row", {}, icon("file"), uri === undefined ? h("span", "grow cut", {}, visible(path)) : opener(visible(path), () => port.open(uri))),
      ),
      button(t("checkpointRestore"), "link-button", () => port.restore(message)),
    ],
    open,
  );
}

function drawEnd({ id, reason, summary, facts, actions, copies }: Extract<Item, { kind: "end" }>, port: ItemPort): HTMLElement {
  const word = t(`end${reason.charAt(0).toUpperCase()}${reason.slice(1)}`);
  const icons = {
    completed: "check",
    unfinished: "warning",
    needsInput: "question",
    cancelled: "circle-slash",
    failed: "error",
    limit: "debug-pause",
    interrupted: "debug-disconnect",
    restored: "discard",
  };
  const head = h("div", "row", {}, icon(icons[reason]), h("strong", "", {}, word), facts === "" ? undefined : h("span", "faint", {}, `· ${facts}`));
  const buttons = actions.map((action, index) => button(action.label, index === 0 ? "primary" : "secondary", () => port.act(action)));
  const element = article(
    `end ${reason}`,
    `${word}${reason === "unfinished" ? `, ${facts}` : ""}. ${summary}`,
    head,
    summary.trim() === "" ? undefined : h("div", "markdown", {}, renderMarkdown(summary)),
    buttons.length === 0 ? undefined : h("div", "buttons", {}, ...buttons),
  );
  return withActions(element, head, copies ? [copyAction(id, t("copyAnswer"), port)] : []);
}

/** An action on an item: a button in it, and keys while the item has the focus. */
interface ItemAction {
  readonly icon: string;
  readonly words: string;
  readonly className: string;
  readonly keys: "Enter" | "Control+C";
  readonly run: () => void;
}

function copyAction(id: string, words: string, port: ItemPort): ItemAction {
  return { icon: "copy", words, className: "copy", keys: "Control+C", run: () => port.copy(id) };
}

/** Adds buttons to a part of an item. Tab reaches them while the item is the stop of the list. */
function withActions(element: HTMLElement, part: HTMLElement, actions: readonly ItemAction[]): HTMLElement {
  if (actions.length === 0) {
    return element;
  }
  const buttons = actions.map(({ icon: name, words, className, run }) => {
    const own = iconButton(name, words, run);
    own.classList.add(className);
    own.tabIndex = -1;
    return own;
  });
  part.append(h("span", "item-actions", {}, ...buttons));
  element.setAttribute("aria-keyshortcuts", actions.map(({ keys }) => keys).join(" "));
  element.addEventListener("keydown", (event) => {
    if (event.target !== element || event.altKey || event.shiftKey) {
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
  });
  return element;
}

/** Words that only a screen reader says. */
function unseen(words: string): HTMLElement {
  return h("span", "unseen", {}, words);
}

/**
 * A row that unfolds by a click, Enter or Space. Its inside is made when it is first opened. The words
 * in the row are its name, so that it can be chosen by voice; `spoken` names the item as a whole.
 */
function folded(className: string, head: readonly (Node | undefined)[], spoken: string, inside: () => readonly Node[], open: boolean): HTMLElement {
  const body = h("div", "inside", { hidden: !open });
  const twistie = icon(open ? "chevron-down" : "chevron-right");
  const summary = h("button", "row fold", { type: "button", "aria-expanded": String(open), tabindex: "-1" }, twistie, ...head);
  const fill = (): void => {
    if (body.childElementCount === 0) {
      body.append(...inside());
    }
  };
  if (open) {
    fill();
  }
  summary.addEventListener("click", () => {
    const opened = body.hidden;
    fill();
    body.hidden = !opened;
    summary.setAttribute("aria-expanded", String(opened));
    twistie.className = `codicon codicon-${opened ? "chevron-down" : "chevron-right"}`;
  });
  return article(className, spoken, summary, body);
}

function callRow(call: Call, port: ItemPort): HTMLElement {
  return h("div", "row call", {}, ...callParts(call, port));
}

function callParts(call: Call, port: ItemPort): (HTMLElement | undefined)[] {
  const { title, path, lines, matches, note } = call;
  return [
    stateIcon(call.state),
    path === undefined ? h("span", matches === undefined ? "grow" : "cut", { title }, title) : opener(title, () => port.open(path)),
    lines === undefined ? undefined : h("span", "faint", { "aria-label": t("lines", lines) }, lines),
    matches === undefined ? undefined : h("span", "faint", {}, t("matches", matches)),
    note === undefined ? undefined : h("span", "faint", {}, note),
  ];
}

function opener(words: string, open: () => void): HTMLElement {
  const element = h("a", "link grow cut", { role: "link", tabindex: "0", title: words }, words);
  element.addEventListener("click", (event) => {
    event.stopPropagation();
    open();
  });
  return element;
}

function stateIcon(state: Call["state"]): HTMLElement {
  const element = icon(STATE_ICONS[state], state === "running");
  element.classList.add(`state-${state}`);
  return element;
}

function stateWord({ state, note }: Call): string {
  const word = t(`state${state.charAt(0).toUpperCase()}${state.slice(1)}`);
  return note === undefined ? word : `${word}, ${note}`;
}
