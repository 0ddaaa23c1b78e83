import {
  type Action,
  type Banner,
  type EditCard,
  type FromPage,
  type Question,
  type ToPage,
  VERSION,
  type ViewState,
} from "../src/conversation/messages";
import { duration } from "../src/text/duration";
import { answerCard, answerOf } from "./answerKeys";
import { CardList } from "./cardList";
import { Cards } from "./cards";
import { Composer } from "./composer";
import { button, h, icon } from "./dom";
import { editCard } from "./editCards";
import { type ItemPort, counts } from "./items";
import { List } from "./list";
import { questionCard } from "./questions";
import { setStrings, t } from "./strings";
import "./style.css";

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

const editor = acquireVsCodeApi();
const post = (message: FromPage): void => editor.postMessage({ v: VERSION, ...message });

const polite = h("div", "unseen", { "aria-live": "polite" });
const assertive = h("div", "unseen", { "aria-live": "assertive" });
const banners = h("div", "banners");
const strip = h("div", "strip", { hidden: true });
const empty = h("div", "empty", { hidden: true });
const edits = h("div", "edits", { hidden: true });
const composer = new Composer(post);
const interrupt = (words: string): void => {
  assertive.textContent = words;
};
const backToComposer = (): void => composer.focus();
const cards = new Cards(post, interrupt, backToComposer);
const questions = new CardList<Question>((question) => questionCard(question, post), interrupt, backToComposer);
const decisions = new CardList<EditCard>((card) => editCard(card, post), interrupt, backToComposer);
const below = h("div", "below", {}, empty, cards.element, decisions.element, questions.element);

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
    setTimeout(() => (polite.textContent = t("copied")), 50);
  },
  restore: (id) => post({ type: "restore", id }),
  resend: (message) => composer.resend(message, list.editedSince(message.id)),
  edit: (action, { uri = "", turn, rev }) => post({ type: "edit", action, uri, turn, rev, words: "" }),
};
const list = new List(
  itemPort,
  (words) => (polite.textContent = words),
  below,
  (direction) => post({ type: "page", direction }),
);
document.body.append(banners, strip, list.element, edits, composer.element, polite, assertive);

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
// The same keys work in the editor and in Cairn's other views, by commands of the extension.
document.addEventListener("keydown", (event) => {
  const answer = answerOf(event);
  if (answer !== undefined && answerCard(below, answer)) {
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
      setStrings(data.strings);
      document.title = t("conversation");
      list.name();
      composer.setup(data.history);
      break;
    case "reset":
      list.reset(data);
      break;
    case "patch":
      if (!list.patch(data)) {
        post({ type: "gap" });
      }
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
      list.show(data.id);
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

// Clocks of running commands.
setInterval(() => {
  const now = performance.now();
  for (const clock of document.querySelectorAll<HTMLElement>("[data-since]")) {
    clock.textContent = duration(Math.floor((now - Number(clock.dataset["since"])) / 1_000) * 1_000);
  }
}, 1_000);

function draw(state: ViewState): void {
  document.body.dataset["phase"] = state.phase;
  document.body.classList.toggle("read-only", state.readOnly !== "");
  banners.replaceChildren(...state.banners.map(drawBanner));
  drawStrip(state);
  drawEmpty(state);
  drawEdits(state);
  cards.update(state.cards);
  decisions.update(state.decisions);
  questions.update(state.questions);
  list.update(state.beyond);
  composer.update(state);
}

function drawBanner({ text, severity, actions }: Banner): HTMLElement {
  const buttons = actions.map((action) => button(action.label, "link-button", () => act(action)));
  return h("div", `banner ${severity}`, { role: "status" }, icon(severity), h("span", "grow", {}, text), ...buttons);
}

function drawStrip({ step, phase }: ViewState): void {
  const running = phase === "running" || phase === "waiting" || phase === "retrying";
  strip.hidden = !running;
  if (running) {
    const words = phase === "retrying" ? t("retrying") : step?.text === undefined || step.text === "" ? t("working") : step.text;
    const sign = phase === "waiting" ? icon("warning") : icon("loading", true);
    strip.replaceChildren(sign, h("span", "grow cut", { title: words }, words), h("span", "faint", {}, step?.place ?? ""));
  }
}

function drawEmpty({ phase, session, back, connected, start }: ViewState): void {
  empty.hidden = session !== "" || phase === "lost";
  const examples = start.examples.map((text) => button(text, "example", () => composer.write(text)));
  empty.replaceChildren(
    ...(back ? [button(`← ${t("back")}`, "link-button", () => post({ type: "back" }))] : []),
    h("h2", "", {}, t("emptyTitle")),
    ...(start.setup === undefined ? [] : [drawSetup(start.setup)]),
    h("p", "faint", {}, start.text),
    ...(connected ? examples : []),
  );
}

function drawSetup({ text, actions }: NonNullable<ViewState["start"]["setup"]>): HTMLElement {
  const buttons = actions.map((action, at) => button(action.label, at === 0 ? "primary" : "secondary", () => act(action)));
  return h("div", "setup", { role: "group", "aria-label": text }, h("p", "", {}, text), h("div", "buttons", {}, ...buttons));
}

function drawEdits({ edits: now }: ViewState): void {
  edits.hidden = now === undefined;
  if (now !== undefined) {
    edits.replaceChildren(
      icon("diff-multiple"),
      h("span", "grow", {}, h("span", "what", {}, now.edits), " ", counts(now.counts.added, now.counts.removed)),
      h(
        "span",
        "edit-buttons",
        {},
        button(t("review"), "link-button", () => post({ type: "command", name: "cairn.reviewAll" })),
        button(t("acceptAll"), "link-button", () => post({ type: "command", name: "cairn.acceptAll" })),
        button(t("rejectAll"), "link-button", () => post({ type: "command", name: "cairn.rejectAll" })),
      ),
    );
  }
}

post({ type: "ready" });
