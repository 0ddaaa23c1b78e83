import { l10n } from "vscode";
import { render } from "preact";

import { type Action, type FromPage, type ToPage, VERSION, type ViewState } from "../src/conversation/messages";
import type { Direction } from "../src/stores/reading";
import { answerCard, answerOf } from "./answerKeys";
import { type Desk, waitingCards } from "./cards";
import { Composer } from "./composer";
import { type ItemPort } from "./items";
import { List } from "./list";
import { part } from "./parts";
import { bannerRows, editsBar, start, strip } from "./surroundings";
import { changed } from "./turns";
import "./style.css";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

document.title = l10n.t("Conversation");
const editor = acquireVsCodeApi();
const post = (message: FromPage): void => editor.postMessage({ v: VERSION, ...message });

/** An element that a part of the page is drawn into. */
function place(className = ""): HTMLElement {
  const element = document.createElement("div");
  element.className = className;
  return element;
}

/** An element whose changes a screen reader says. */
function announcer(manner: "polite" | "assertive"): HTMLElement {
  const element = place("unseen");
  element.setAttribute("aria-live", manner);
  return element;
}

const [polite, assertive] = [announcer("polite"), announcer("assertive")];
const [banners, stripPlace, edits, below] = [place("banners"), place(), place(), place("below")];
const composer = new Composer(post);
const desk: Desk = { post, announce: (words) => (assertive.textContent = words), after: () => composer.focus() };

const act = ({ command, again, session, server }: Action): void => {
  if (server !== undefined) {
    post({ type: "server", address: server });
  } else if (command !== undefined) {
    post({ type: "command", name: command });
  } else if (again !== undefined) {
    post({ type: "again", turn: again });
  } else if (session !== undefined) {
    post({ type: "openSession", id: session });
  }
};
const itemPort: ItemPort = {
  open: (target) => post({ type: "open", target }),
  act,
  output: (id) => post({ type: "output", id }),
  copy: (id) => {
    post({ type: "copy", id });
    // Emptied first: the same words would not be read twice.
    polite.textContent = "";
    setTimeout(() => (polite.textContent = l10n.t("Copied")), 50);
  },
  restore: (id) => post({ type: "restore", id }),
  resend: (message) => composer.resend(message, list?.editedSince(message.id) === true),
  edit: (action, { uri = "", turn, rev }) => post({ type: "edit", action, uri, turn, rev, words: "" }),
};
const listPlace = place("contents");
document.body.append(banners, stripPlace, listPlace, edits, composer.element, polite, assertive);

// Links have no address that the page could follow: the extension is asked, and checks it.
const follow = (event: Event): void => {
  const target = event.target instanceof Element ? event.target.closest<HTMLElement>("a[data-target]")?.dataset["target"] : undefined;
  if (target !== undefined) {
    event.preventDefault();
    event.stopPropagation();
    post({ type: "open", target });
  }
};
document.addEventListener("click", follow);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target instanceof HTMLAnchorElement) {
    event.target.click();
    event.preventDefault();
  }
});
document.addEventListener("keydown", (event) => {
  // In a card Escape is for its own box.
  if (
    event.key === "Escape" &&
    !event.defaultPrevented &&
    !event.isComposing &&
    !(event.target instanceof Element && event.target.closest(".card") !== null)
  ) {
    composer.escape();
  }
});
// VS Code also gets the keys of the page: its key bindings give the answers `y` and `n` wherever the focus is. Only their
// characters must not land in the box.
document.addEventListener("keydown", (event) => {
  const answer = answerOf(event);
  const isBound = answer === "y" || answer === "n";
  if (answer !== undefined && (isBound ? below.querySelector(".card") !== null : answerCard(below, answer))) {
    event.preventDefault();
  }
});
// A file that is dropped next to the composer must not be opened as a page.
for (const kind of ["dragover", "drop"]) {
  document.addEventListener(kind, (event) => event.preventDefault());
}

/** True for a message of this version of the extension. */
function isOurs(data: unknown): data is ToPage {
  return typeof data === "object" && data !== null && (data as { v?: unknown }).v === VERSION;
}

addEventListener("message", ({ data }: MessageEvent<unknown>) => {
  if (!isOurs(data)) {
    return;
  }
  switch (data.type) {
    case "setup":
      composer.setup(data.history);
      break;
    case "turns":
      takeTurns(data);
      break;
    case "state":
      draw(data.state);
      post({ type: "alive" });
      break;
    case "draft":
      composer.draft(data.session, data.text);
      break;
    case "reminders":
      document.body.classList.toggle("reminders", data.shown);
      drawList({ reminders: data.shown });
      break;
    case "sent":
      composer.sent();
      break;
    case "failed":
      composer.failed(data.text, data.reason);
      break;
    case "refused":
      composer.refused(data.reason);
      break;
    case "mentions":
      composer.mentions.answer(data.id, data.rows);
      break;
    case "insert":
      composer.insert(data.text);
      break;
    case "focus":
      composer.focus();
      post({ type: "alive" });
      break;
    case "show":
      list?.show(data.id);
      break;
    case "answer":
      answerCard(below, data.answer);
      break;
    case "ask":
      post({ type: "alive" });
      break;
  }
});
let toldFocus = false;

/** Tells the extension whether the page has the focus, once for each change. */
function tellFocus(on: boolean): void {
  if (on !== toldFocus) {
    toldFocus = on;
    post({ type: "focused", on });
  }
}

/** The editor gives the focus to the page as a whole: the composer takes it. */
function takeFocus(): void {
  tellFocus(true);
  if (document.activeElement === document.body) {
    composer.focus();
  }
}
addEventListener("focus", takeFocus);
addEventListener("blur", () => tellFocus(false));
document.addEventListener("focusin", () => tellFocus(document.hasFocus()));
// No event reports a focus from before this script ran.
if (document.hasFocus()) {
  takeFocus();
}

let list: List | null = null;
const takeList = (instance: List | null): void => {
  list = instance;
};
const say = (words: string): void => {
  polite.textContent = words;
};
const ask = (direction: Direction): void => post({ type: "page", direction });
let shown: Pick<List["props"], "beyond" | "number" | "reminders" | "turns"> = {
  turns: [],
  number: 0,
  beyond: { earlier: "none", later: "none", fault: "" },
  reminders: false,
};
let rev = 0;

/** Takes the changes of the list, if none was missed. */
function takeTurns(message: Extract<ToPage, { type: "turns" }>): void {
  if (!message.fresh && message.rev !== rev + 1) {
    post({ type: "gap" });
    return;
  }
  rev = message.rev;
  drawList({ turns: changed(shown.turns, message), number: message.fresh ? rev : shown.number });
}

function drawList(news: Partial<typeof shown>): void {
  shown = { ...shown, ...news };
  render(part(List, { ...shown, port: itemPort, announce: say, ask, below, ref: takeList }), listPlace);
}

function draw(state: ViewState): void {
  document.body.dataset["phase"] = state.phase;
  document.body.classList.toggle("read-only", state.readOnly !== "");
  const empty = start(
    state,
    act,
    (text) => composer.write(text),
    () => post({ type: "back" }),
  );
  render(bannerRows(state.banners, act), banners);
  render(strip(state), stripPlace);
  render(editsBar(state.edits, post), edits);
  render([empty, waitingCards(state, desk)], below);
  drawList({ beyond: state.beyond });
  composer.update(state);
}

post({ type: "ready" });
