import { type FromPage, type Item, MAX_TEXT, type ViewState } from "../src/conversation/messages";
import { Chips } from "./chips";
import { button, h, icon, iconButton } from "./dom";
import { takeTransfer } from "./intake";
import { Mentions } from "./mentions";
import { t } from "./strings";

/** Time after the last key at which the draft is kept, in milliseconds. */
const DRAFT_MS = 300;

/** The box in which the user writes: plain text, so that input methods, undo and spelling work as everywhere. */
export class Composer {
  readonly element = h("div", "composer");
  readonly #error = h("div", "send-error", { role: "alert", hidden: true });
  readonly #note = h("div", "resend-note faint", { role: "status", hidden: true });
  readonly #queue = h("div", "queue", { hidden: true });
  readonly #box = h("div", "box");
  readonly #text = h("textarea", "input", { rows: "1", spellcheck: "true" });
  readonly #chips: Chips;
  readonly mentions: Mentions;
  readonly #mode = h("button", "tool", { type: "button" });
  readonly #model = h("button", "tool model", { type: "button" });
  readonly #meter = h("span", "meter faint");
  readonly #expand: HTMLButtonElement;
  readonly #stop: HTMLButtonElement;
  readonly #send: HTMLButtonElement;
  #history: readonly string[] = [];
  /** Place in the history; its length for the text that is being written. */
  #at = 0;
  #written = "";
  #session = "";
  #state: ViewState | undefined;
  #timer: number | undefined;
  #sent: string | undefined;

  constructor(private readonly post: (message: FromPage) => void) {
    this.#chips = new Chips(post, () => this.focus());
    this.mentions = new Mentions(this.#text, post, () => this.#changed());
    this.#expand = iconButton("screen-full", "", () => this.#writeInEditor());
    this.#stop = iconButton("debug-stop", "", () => this.post({ type: "stop" }));
    this.#send = iconButton("send", "", () => this.#submit(false));
    this.#stop.hidden = true;
    this.#stop.classList.add("stop");
    this.#mode.addEventListener("click", () => this.post({ type: "command", name: "cairn.chooseMode" }));
    this.#model.addEventListener("click", () => this.post({ type: "command", name: "cairn.chooseModel" }));
    const bar = h("div", "bar", {}, this.#mode, this.#model, h("span", "grow"), this.#meter, this.#stop, this.#send);
    this.#box.append(this.#chips.element, h("div", "writing", {}, this.#text, this.#expand), bar);
    this.element.append(this.#queue, this.#error, this.#note, this.mentions.element, this.#box);
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
  }

  setup(history: readonly string[]): void {
    this.#history = history;
    this.#at = history.length;
    this.#text.setAttribute("aria-label", t("message"));
    this.#name(this.#expand, t("writeInEditor"));
    this.#name(this.#stop, t("stop"));
    this.#name(this.#send, t("send"));
  }

  focus(): void {
    this.#text.focus();
  }

  /** Stops the running task by the second of two presses of Escape; the first one explains this. */
  escape(): void {
    if (this.#stop.hidden) {
      return;
    }
    if (this.#stop.classList.contains("again")) {
      this.post({ type: "stop" });
    }
    this.#askAgain(!this.#stop.classList.contains("again"));
  }

  #askAgain(on: boolean): void {
    this.#stop.classList.toggle("again", on);
    this.#name(this.#stop, on ? t("stopAgain") : t("stop"));
    this.#stop.dataset["words"] = on ? t("stopAgain") : "";
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
    const restore = button(t("resendRestore"), "link-button", () => this.post({ type: "restore", id }));
    this.#note.replaceChildren(icon("info"), h("span", "grow", {}, t("resendNote")), ...(edited ? [restore] : []));
    this.#note.hidden = false;
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
    this.#fail(t("notSent", reason));
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
    this.#state = state;
    const running = state.phase === "running" || state.phase === "waiting" || state.phase === "retrying";
    this.#stop.hidden = !running;
    if (!running) {
      this.#askAgain(false);
    }
    this.#text.placeholder =
      state.phase === "starting"
        ? t("placeholderWait")
        : running
          ? t("placeholderRunning")
          : state.session === ""
            ? t("placeholderNew")
            : t("placeholderReply");
    this.#text.disabled = state.readOnly !== "";
    this.#send.disabled = state.readOnly !== "" || !state.connected;
    this.#mode.replaceChildren(icon(state.mode.icon), h("span", "", {}, state.mode.name), icon("chevron-down"));
    this.#mode.title = state.mode.title;
    this.#model.hidden = state.model === "";
    this.#model.replaceChildren(h("span", "cut", {}, state.model), icon("chevron-down"));
    this.#model.title = state.model;
    this.#meter.textContent = state.meter?.text ?? "";
    this.#meter.title = state.meter?.title ?? "";
    this.#meter.classList.toggle("warning", state.meter?.warning === true);
    this.#chips.update(state);
    this.#drawQueue(state);
  }

  #name(element: HTMLElement, words: string): void {
    element.title = words;
    element.setAttribute("aria-label", words);
  }

  #takeTransfers(): void {
    const port = { post: this.post, refuse: (words: string) => this.#fail(words) };
    this.#text.addEventListener("paste", (event) => {
      if (takeTransfer(event.clipboardData, port)) {
        event.preventDefault();
      }
    });
    // Also next to the box: who drags a file does not aim at it.
    document.addEventListener("dragover", () => this.#box.classList.add("dropping"));
    for (const end of ["dragleave", "dragend", "drop"]) {
      document.addEventListener(end, () => this.#box.classList.remove("dropping"));
    }
    document.addEventListener("drop", (event) => {
      if (takeTransfer(event.dataTransfer, port)) {
        this.focus();
      }
    });
  }

  #drawQueue({ queue }: ViewState): void {
    this.#queue.hidden = queue.items.length === 0;
    const rows = queue.items.map(({ id, text, attached }) =>
      h(
        "div",
        "row queued",
        { role: "listitem" },
        icon("list-ordered"),
        h("span", "grow cut", { title: text }, text),
        attached === "" ? undefined : h("span", "faint cut", { title: attached }, attached),
        iconButton("play", t("queueSend"), () => this.post({ type: "queue", action: "send", id, text: "" })),
        // Its attachments would be lost on the way back into the box.
        attached === "" ? iconButton("edit", t("queueEdit"), () => this.#take(id, text)) : undefined,
        iconButton("close", t("queueDrop"), () => this.post({ type: "queue", action: "drop", id, text: "" })),
      ),
    );
    const held = queue.held ? h("div", "faint note", {}, t("queueHeld")) : undefined;
    this.#queue.replaceChildren(h("div", "", { role: "list", "aria-label": t("queue") }, ...rows), ...(held === undefined ? [] : [held]));
  }

  /** Takes a queued message back into the box, where it can be changed and queued again. */
  #take(id: string, text: string): void {
    const now = this.#text.value;
    this.post({ type: "queue", action: "drop", id, text: "" });
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
      this.#fail(t("tooLong", MAX_TEXT.toLocaleString()));
      return;
    }
    clearTimeout(this.#timer);
    this.post({ type: "writeInEditor", session: this.#session, text });
    this.#put("");
  }

  #submit(queue: boolean): void {
    const { value } = this.#text;
    const state = this.#state;
    if ((value.trim() === "" && !this.#chips.any) || state === undefined || state.readOnly !== "") {
      return;
    }
    if (value.length > MAX_TEXT) {
      this.#fail(t("tooLong", MAX_TEXT.toLocaleString()));
      return;
    }
    this.#error.hidden = true;
    if (value.trim() !== "") {
      this.#history = [...this.#history.filter((known) => known !== value), value];
    }
    this.#sent = value;
    this.#put("");
    clearTimeout(this.#timer);
    this.post({ type: "send", text: value, context: this.#chips.sendsContext, queue });
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
    this.#note.hidden = true;
    this.#grow();
  }

  #changed(): void {
    this.#error.hidden = true;
    this.#note.hidden ||= this.#text.value === "";
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
    this.#error.replaceChildren(
      icon("error"),
      h("span", "grow", {}, words),
      button(t("cancel"), "link-button", () => (this.#error.hidden = true)),
    );
    this.#error.hidden = false;
  }

  #grow(): void {
    // One line has enough room here.
    this.#expand.hidden = !this.#text.value.includes("\n");
    this.#text.style.height = "auto";
    this.#text.style.height = `${Math.min(this.#text.scrollHeight, Math.max(60, innerHeight * 0.4))}px`;
  }
}
