import type { ChipState, FromPage, ViewState } from "../src/conversation/messages";
import { h, icon } from "./dom";
import { t } from "./strings";

/** Row of attachments above the text: the active file or selection, and what the user added. */
export class Chips {
  readonly element = h("div", "chips", { hidden: true, role: "group" });
  #withContext = true;
  #state: ViewState | undefined;
  /** Chip that the keyboard is on, to find it again when the row is redrawn. */
  #at = -1;

  constructor(
    private readonly post: (message: FromPage) => void,
    private readonly leave: () => void,
  ) {
    this.element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** True if the active file or selection goes with the message. */
  get sendsContext(): boolean {
    return this.#withContext && this.#context(this.#state) !== undefined;
  }

  /** True if there is something besides the text that the user added. */
  get any(): boolean {
    return (this.#state?.chips.length ?? 0) > 0;
  }

  update(state: ViewState): void {
    this.#state = state;
    const context = this.#context(state);
    const chips = [...(context === undefined ? [] : [this.#drawContext(context)]), ...state.chips.map((chip) => this.#draw(chip))];
    const focused = this.element.contains(document.activeElement);
    this.element.setAttribute("aria-label", t("chips"));
    this.element.hidden = chips.length === 0;
    this.element.replaceChildren(...chips);
    if (focused) {
      this.#focus(Math.min(this.#at, chips.length - 1));
    }
  }

  /** Takes the keyboard to the last chip; false if there is none. */
  focusLast(): boolean {
    const { length } = this.#buttons();
    this.#focus(length - 1);
    return length > 0;
  }

  #buttons(): HTMLElement[] {
    return [...this.element.querySelectorAll<HTMLElement>("[data-chip]")];
  }

  #focus(at: number): void {
    this.#at = at;
    const button = this.#buttons()[at];
    if (button === undefined) {
      this.leave();
    } else {
      button.focus();
    }
  }

  #key(event: KeyboardEvent): void {
    const buttons = this.#buttons();
    const at = buttons.findIndex((button) => button === document.activeElement);
    const chip = buttons[at]?.dataset["chip"];
    if (chip === undefined) {
      return;
    }
    this.#at = at;
    switch (event.key) {
      case "ArrowLeft":
        this.#focus(Math.max(0, at - 1));
        break;
      case "ArrowRight":
        this.#focus(at + 1);
        break;
      case "ArrowDown":
      case "Escape":
        this.leave();
        break;
      case "Delete":
      case "Backspace":
        if (chip === "") {
          this.#toggle(false);
        } else {
          this.post({ type: "detach", id: chip });
        }
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  #toggle(on: boolean): void {
    this.#withContext = on;
    if (this.#state !== undefined) {
      this.update(this.#state);
    }
  }

  /** A running task gets only what the user added. */
  #context(state: ViewState | undefined): ViewState["chip"] {
    const running = state?.phase === "running" || state?.phase === "waiting" || state?.phase === "retrying";
    return running ? undefined : state?.chip;
  }

  #drawContext(chip: NonNullable<ViewState["chip"]>): HTMLElement {
    const on = this.#withContext;
    const words = on ? t("chipOn", chip.title) : t("chipOff", chip.title);
    const element = h(
      "button",
      `chip${on ? "" : " off"}`,
      { type: "button", "aria-pressed": String(on), "aria-label": words, title: words, "data-chip": "" },
      icon(chip.selection ? "selection" : "file"),
      h("span", "cut", {}, chip.label),
      icon(on ? "close" : "add"),
    );
    element.addEventListener("click", () => {
      this.#at = 0;
      this.#toggle(!on);
    });
    return element;
  }

  #draw({ id, icon: name, label, expands }: ChipState): HTMLElement {
    const words = expands ? t("chipText", label) : t("chipOther", label);
    const main = h(
      "button",
      "chip-main",
      { type: "button", "aria-label": words, title: words, "data-chip": id },
      icon(name),
      h("span", "cut", {}, label),
    );
    if (expands) {
      main.addEventListener("click", () => this.post({ type: "expand", id }));
    }
    const remove = h(
      "button",
      "chip-remove",
      { type: "button", tabindex: "-1", "aria-label": t("chipRemove", label), title: t("chipRemove", label) },
      icon("close"),
    );
    remove.addEventListener("click", () => {
      this.post({ type: "detach", id });
      this.leave();
    });
    return h("span", "chip added", {}, main, remove);
  }
}
