import { l10n } from "vscode";
import { type VNode, render } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { type FromPage, type Item, MAX_TEXT, type ViewState } from "../src/conversation/messages";
import { Chips } from "./chips";
import { takeTransfer } from "./intake";
import { Mentions } from "./mentions";
import { button, h, icon, iconButton, isBusy, part } from "./parts";

/** Time after the last key at which the draft is kept, in milliseconds. */
const DRAFT_MS = 300;

/**
 * The box in which the user writes: plain text, so that input methods, undo and spelling work as everywhere. The text
 * is the browser's; what surrounds it is drawn again after each change.
 */
export class Composer {
  readonly element = document.createElement("div");
  readonly mentions: Mentions;
  readonly #text = document.createElement("textarea");
  readonly #chips: Chips;
  #history: readonly string[] = [];
  /** Place in the history; its length for the text that is being written. */
  #at = 0;
  #written = "";
  #session = "";
  #state: ViewState | undefined;
  /** Enter was pressed before the first state came: whether the message is a follow-up. */
  #early: boolean | undefined;
  #timer: number | undefined;
  #sent: string | undefined;
  /** Reason why something was not sent or attached; empty for none. */
  #error = "";
  /** Sent message that was taken back into the box. */
  #resent: { readonly id: string; readonly edited: boolean } | undefined;
  /** The next Escape stops the task. */
  #stops = false;
  #dropping = false;

  constructor(private readonly post: (message: FromPage) => void) {
    this.element.className = "composer";
    this.#text.className = "input";
    this.#text.rows = 1;
    this.#text.spellcheck = true;
    const owner = { element: this.element, draw: () => this.#draw(), focus: () => this.focus(), changed: () => this.#changed() };
    this.#chips = new Chips(post, owner);
    this.mentions = new Mentions(this.#text, post, owner);
    this.#takeTransfers();
    this.#text.addEventListener("keydown", (event) => this.#key(event));
    this.#text.addEventListener("input", () => {
      this.#at = this.#history.length;
      this.#changed();
      this.mentions.follow();
    });
    this.#text.addEventListener("blur", () => this.#keep());
    // Whatever else is pressed is not the second press.
    for (const other of ["keydown", "pointerdown"]) {
      addEventListener(other, (event) => (event instanceof KeyboardEvent && event.key === "Escape" ? undefined : this.#askAgain(false)));
    }
    addEventListener("pagehide", () => this.#keep());
    addEventListener("resize", () => this.#grow());
    this.#draw();
  }

  setup(history: readonly string[]): void {
    this.#history = history;
    this.#at = history.length;
    this.#draw();
  }

  focus(): void {
    this.#text.focus();
  }

  /** Stops the running task by the second of two presses of Escape; the first one explains this. */
  escape(): void {
    if (this.#state === undefined || !isBusy(this.#state)) {
      return;
    }
    if (this.#stops) {
      this.post({ type: "stop" });
    }
    this.#askAgain(!this.#stops);
  }

  #askAgain(on: boolean): void {
    if (this.#stops !== on) {
      this.#stops = on;
      this.#draw();
    }
  }

  /** Writes an example into the box, for the user to change or send. */
  write(text: string): void {
    this.#put(text);
    this.#keep();
    this.focus();
  }

  /** Takes a sent message back into the box, below what is written there, and offers to restore the files edited since. */
  resend({ id, text, attachments }: Extract<Item, { kind: "user" }>, edited: boolean): void {
    if (this.#text.disabled) {
      return;
    }
    const now = this.#text.value;
    this.write(now.trim() === "" || text === "" ? now + text : `${now}\n${text}`);
    if (attachments.length > 0) {
      this.post({ type: "resend", id });
    }
    this.#text.setSelectionRange(this.#text.value.length, this.#text.value.length);
    this.#resent = { id, edited };
    this.#draw();
  }

  /** The kept draft of the session that came into view. Words that are in the box already stay. */
  draft(session: string, text: string): void {
    if (session === this.#session && this.#text.value !== "") {
      return;
    }
    // The first message of a new conversation gave it a session: what is written since belongs to it.
    const goesOn = this.#session === "" && text === "" && this.#sent !== undefined;
    if (session !== this.#session && !goesOn) {
      this.#keep();
    }
    this.#session = session;
    if (!goesOn) {
      this.#put(text);
    }
  }

  sent(): void {
    this.#sent = undefined;
  }

  /** A message did not arrive: its words come back, with the reason above them. */
  failed(text: string, reason: string): void {
    this.#sent = undefined;
    if (text !== "") {
      const now = this.#text.value;
      this.#put(now === "" || now === text ? text : `${text}\n${now}`);
      this.#keep();
    }
    this.#fail(l10n.t("Not sent. {0}", reason));
  }

  /** Shows why pasted or dropped content was not attached. */
  refused(reason: string): void {
    this.#fail(reason);
  }

  /** Puts text where the cursor is, as if it was typed. */
  insert(text: string): void {
    this.focus();
    this.#text.setRangeText(text, this.#text.selectionStart, this.#text.selectionEnd, "end");
    this.#changed();
  }

  update(state: ViewState): void {
    const early = this.#early;
    this.#early = undefined;
    this.#state = state;
    this.#stops &&= isBusy(state);
    this.#draw();
    if (early !== undefined) {
      this.#submit(early);
    }
  }

  #draw(): void {
    const state = this.#state;
    this.#text.setAttribute("aria-label", l10n.t("Message to the agent"));
    this.#text.placeholder = state === undefined ? "" : placeholder(state);
    this.#text.disabled = state !== undefined && state.readOnly !== "";
    const expand = iconButton("screen-full", l10n.t("Write in an Editor (Ctrl+Shift+Enter)"), () => this.#writeInEditor());
    const box = h(
      "div",
      this.#dropping ? "box dropping" : "box",
      {},
      state && this.#chips.view(state),
      // One line has enough room here.
      h("div", "writing", {}, part(Held, { node: this.#text }), this.#text.value.includes("\n") && expand),
      state && this.#bar(state),
    );
    const parts = [state && this.#queue(state), this.#errorNote(), this.#resendNote(), this.mentions.view(), box];
    this.#chips.around(() => render(parts, this.element));
  }

  #bar(state: ViewState): VNode {
    const { mode, model, meter } = state;
    const command = (name: "cairn.chooseMode" | "cairn.chooseModel") => () => this.post({ type: "command", name });
    const chooseMode = { type: "button", title: mode.title, onClick: command("cairn.chooseMode") };
    const chooseModel = { type: "button", title: model, onClick: command("cairn.chooseModel") };
    const stopWords = this.#stops ? l10n.t("Esc again stops the task") : l10n.t("Stop");
    const stopping = { class: `icon-button stop${this.#stops ? " again" : ""}`, "data-words": this.#stops ? stopWords : "" };
    return h(
      "div",
      "bar",
      {},
      h("button", "tool", chooseMode, icon(mode.icon), h("span", "", {}, mode.name), icon("chevron-down")),
      model !== "" && h("button", "tool model", chooseModel, h("span", "cut", {}, model), icon("chevron-down")),
      h("span", "grow"),
      h("span", `meter faint${meter?.warning === true ? " warning" : ""}`, { title: meter?.title }, meter?.text),
      isBusy(state) && iconButton("debug-stop", stopWords, () => this.post({ type: "stop" }), stopping),
      iconButton("send", l10n.t("Send"), () => this.#submit(false), { disabled: state.readOnly !== "" || !state.connected }),
    );
  }

  #errorNote(): VNode | null {
    const close = (): void => {
      this.#error = "";
      this.#draw();
    };
    const parts = [icon("error"), h("span", "grow", {}, this.#error), button(l10n.t("Cancel"), "link-button", close)];
    return this.#error === "" ? null : h("div", "send-error", { role: "alert" }, ...parts);
  }

  #resendNote(): VNode | null {
    if (this.#resent === undefined) {
      return null;
    }
    const { id, edited } = this.#resent;
    const restore = edited && button(l10n.t("Restore Files…"), "link-button", () => this.post({ type: "restore", id }));
    return h(
      "div",
      "resend-note faint",
      { role: "status" },
      icon("info"),
      h("span", "grow", {}, l10n.t("Sent as a new message. What the agent did since stays.")),
      restore,
    );
  }

  #takeTransfers(): void {
    const port = { post: this.post, refuse: (words: string) => this.#fail(words) };
    this.#text.addEventListener("paste", (event) => {
      if (takeTransfer(event.clipboardData, port)) {
        event.preventDefault();
      }
    });
    // Also next to the box: who drags a file does not aim at it.
    const drops = (on: boolean) => (): void => {
      if (this.#dropping !== on) {
        this.#dropping = on;
        this.#draw();
      }
    };
    document.addEventListener("dragover", drops(true));
    for (const end of ["dragleave", "dragend", "drop"]) {
      document.addEventListener(end, drops(false));
    }
    document.addEventListener("drop", (event) => {
      if (takeTransfer(event.dataTransfer, port)) {
        this.focus();
      }
    });
  }

  #queue({ queue: { items, held } }: ViewState): VNode | null {
    if (items.length === 0) {
      return null;
    }
    const rows = items.map(({ id, text, attached }) =>
      h(
        "div",
        "row queued",
        { key: id, role: "listitem" },
        icon("list-ordered"),
        h("span", "grow cut", { title: text }, text),
        attached !== "" && h("span", "faint cut", { title: attached }, attached),
        iconButton("play", l10n.t("Send Now"), () => this.post({ type: "queue", action: "send", id })),
        // Its attachments would be lost on the way back into the box.
        attached === "" && iconButton("edit", l10n.t("Edit"), () => this.#take(id, text)),
        iconButton("close", l10n.t("Remove"), () => this.post({ type: "queue", action: "drop", id })),
      ),
    );
    const note = held && h("div", "faint note", {}, l10n.t("Paused: the last task did not complete. Send one to continue."));
    return h("div", "queue", {}, h("div", "", { role: "list", "aria-label": l10n.t("Queue") }, ...rows), note);
  }

  /** Takes a queued message back into the box, where it can be changed and queued again. */
  #take(id: string, text: string): void {
    const now = this.#text.value;
    this.post({ type: "queue", action: "drop", id });
    this.write(now.trim() === "" ? text : `${now}\n${text}`);
  }

  #key(event: KeyboardEvent): void {
    // An input method uses Enter for itself.
    if (event.isComposing || event.key === "Process") {
      return;
    }
    if (this.mentions.key(event)) {
      return;
    }
    if (event.key === "Enter" && event.shiftKey && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#writeInEditor();
    } else if (event.key === "Backspace" && this.#text.value === "" && this.#chips.focusLast()) {
      event.preventDefault();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#submit(event.altKey);
    } else if ((event.key === "ArrowUp" || event.key === "ArrowDown") && !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey) {
      this.#recall(event);
    }
  }

  /** Moves the text into an editor, where a long one is easier to write. */
  #writeInEditor(): void {
    const text = this.#text.value;
    if (text.length > MAX_TEXT) {
      this.#fail(
        l10n.t("The text is too long: at most {0} characters can be sent. Put it into a file, and name the file.", MAX_TEXT.toLocaleString()),
      );
      return;
    }
    clearTimeout(this.#timer);
    this.post({ type: "writeInEditor", session: this.#session, text });
    this.#put("");
  }

  #submit(queue: boolean): void {
    const { value } = this.#text;
    const state = this.#state;
    if (state === undefined) {
      this.#early = queue;
      return;
    }
    if ((value.trim() === "" && state.chips.length === 0) || state.readOnly !== "") {
      return;
    }
    if (value.length > MAX_TEXT) {
      this.#fail(
        l10n.t("The text is too long: at most {0} characters can be sent. Put it into a file, and name the file.", MAX_TEXT.toLocaleString()),
      );
      return;
    }
    this.#error = "";
    if (value.trim() !== "") {
      this.#history = [...this.#history.filter((known) => known !== value), value];
    }
    this.#sent = value;
    this.#put("");
    clearTimeout(this.#timer);
    this.post({ type: "send", text: value, context: this.#chips.sendsContext(state), queue });
  }

  /** Up at the beginning of the first line, and down at the end, walk through what was sent before. */
  #recall(event: KeyboardEvent): void {
    const { value, selectionStart, selectionEnd } = this.#text;
    const up = event.key === "ArrowUp";
    const walking = this.#at < this.#history.length;
    const atEdge = selectionStart === selectionEnd && (up ? selectionStart === 0 || walking : walking);
    const next = this.#at + (up ? -1 : 1);
    if (!atEdge || next < 0 || next > this.#history.length || (up && !walking && value !== "")) {
      return;
    }
    event.preventDefault();
    if (!walking) {
      this.#written = value;
    }
    this.#at = next;
    this.#put(this.#history[next] ?? this.#written);
    this.#at = next;
    this.#changed();
  }

  #put(text: string): void {
    this.#text.value = text;
    this.#at = this.#history.length;
    this.#resent = undefined;
    this.#grow();
  }

  #changed(): void {
    this.#error = "";
    this.#resent = this.#text.value === "" ? undefined : this.#resent;
    this.#grow();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#keep(), DRAFT_MS);
  }

  /** Has the extension keep the draft. One that is too long stays in the box only. */
  #keep(): void {
    clearTimeout(this.#timer);
    if (this.#text.value.length <= MAX_TEXT) {
      this.post({ type: "draft", session: this.#session, text: this.#text.value });
    }
  }

  #fail(words: string): void {
    this.#error = words;
    this.#draw();
  }

  #grow(): void {
    this.#draw();
    this.#text.style.height = "auto";
    this.#text.style.height = `${Math.min(this.#text.scrollHeight, Math.max(60, innerHeight * 0.4))}px`;
  }
}

/** An element that is not drawn again: the browser keeps its text, its selection and its undo. */
function Held({ node }: { readonly node: HTMLElement }): VNode {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => place.current?.append(node), [node]);
  return h("div", "held", { ref: place });
}

function placeholder(state: ViewState): string {
  if (state.phase === "starting") {
    return l10n.t("You can write already: Cairn is starting");
  }
  return isBusy(state)
    ? l10n.t("Message the running task · Alt+Enter queues")
    : state.session === ""
      ? l10n.t("Describe a task · Enter sends")
      : l10n.t("Reply · Enter sends");
}
