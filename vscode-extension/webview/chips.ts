import { l10n } from "vscode";
import type { VNode } from "preact";

import type { ChipState, FromPage, ViewState } from "../src/conversation/messages";
import { h, icon, isBusy } from "./parts";

/** What the row needs from its composer. */
interface Owner {
  /** Contains the row. */
  readonly element: HTMLElement;
  draw(): void;
  /** Takes the focus. */
  focus(): void;
}

/** Row of attachments above the text: the active file or selection, and what the user added. */
export class Chips {
  #withContext = true;
  /** Place of the chip that had the keyboard last. */
  #at = -1;

  constructor(
    private readonly post: (message: FromPage) => void,
    private readonly owner: Owner,
  ) {}

  /** True if the active file or selection goes with the message. */
  sendsContext(state: ViewState): boolean {
    return this.#withContext && contextOf(state) !== undefined;
  }

  view(state: ViewState): VNode | null {
    const context = contextOf(state);
    const chips = [...(context === undefined ? [] : [this.#context(context)]), ...state.chips.map((chip) => this.#added(chip))];
    return chips.length === 0
      ? null
      : h(
          "div",
          "chips",
          { role: "group", "aria-label": l10n.t("Attached to the message"), onKeyDown: (event: KeyboardEvent) => this.#key(event) },
          ...chips,
        );
  }

  /** Draws the row. If the chip with the keyboard is gone, its neighbor gets the focus. */
  around(draw: () => void): void {
    const had = this.#focused() >= 0;
    draw();
    if (had && this.#focused() < 0) {
      this.#focus(Math.min(this.#at, this.#buttons().length - 1));
    }
  }

  /** Takes the keyboard to the last chip; false if there is none. */
  focusLast(): boolean {
    const { length } = this.#buttons();
    this.#focus(length - 1);
    return length > 0;
  }

  #buttons(): HTMLElement[] {
    return [...this.owner.element.querySelectorAll<HTMLElement>("[data-chip]")];
  }

  #focused(): number {
    return this.#buttons().findIndex((button) => button === document.activeElement);
  }

  #focus(at: number): void {
    this.#at = at;
    const button = this.#buttons()[at];
    if (button === undefined) {
      this.owner.focus();
    } else {
      button.focus();
    }
  }

  #key(event: KeyboardEvent): void {
    const at = this.#focused();
    const chip = this.#buttons()[at]?.dataset["chip"];
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
        this.owner.focus();
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
    this.owner.draw();
  }

  #context(chip: NonNullable<ViewState["chip"]>): VNode {
    const on = this.#withContext;
    const words = on
      ? l10n.t("{0}: sent with the task. Press to leave it out.", chip.title)
      : l10n.t("{0}: not sent. Press to send it with the task.", chip.title);
    return h(
      "button",
      `chip${on ? "" : " off"}`,
      { key: "", type: "button", "aria-pressed": String(on), "aria-label": words, title: words, "data-chip": "", onClick: () => this.#toggle(!on) },
      icon(chip.selection ? "selection" : "file"),
      h("span", "cut", {}, chip.label),
      icon(on ? "close" : "add"),
    );
  }

  #added({ id, icon: name, label, expands }: ChipState): VNode {
    const words = expands ? l10n.t("{0}. Enter puts it into the message, Delete removes it.", label) : l10n.t("{0}. Delete removes it.", label);
    const expand = expands ? () => this.post({ type: "expand", id }) : undefined;
    const main = { type: "button", "aria-label": words, title: words, "data-chip": id, onClick: expand };
    const drop = (): void => {
      this.post({ type: "detach", id });
      this.owner.focus();
    };
    const remove = { type: "button", tabindex: -1, "aria-label": l10n.t("Remove {0}", label), title: l10n.t("Remove {0}", label), onClick: drop };
    return h(
      "span",
      "chip added",
      { key: id },
      h("button", "chip-main", main, icon(name), h("span", "cut", {}, label)),
      h("button", "chip-remove", remove, icon("close")),
    );
  }
}

/** The active file or selection. A running task gets only what the user added. */
function contextOf(state: ViewState): ViewState["chip"] {
  return isBusy(state) ? undefined : state.chip;
}
