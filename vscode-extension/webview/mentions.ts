import { l10n } from "vscode";
import type { VNode } from "preact";

import type { CommandName, FromPage, MentionRow } from "../src/conversation/messages";
import { type Trigger, commandRows, triggerAt } from "../src/text/trigger";
import { h, icon } from "./parts";

/** Time after the last key before the extension is asked, in milliseconds. */
const ASK_MS = 80;

interface Row extends MentionRow {
  readonly take: () => void;
}

/** List that opens while `@` and a name, or `/` and a command, is written. */
export class Mentions {
  /** Name of the open list; `undefined` while it is closed. */
  #name: string | undefined;
  #rows: readonly Row[] = [];
  #at = 0;
  #trigger: Trigger | undefined;
  #asked = 0;
  #timer: number | undefined;
  /** Start of a mention whose list the user closed: it stays closed. */
  #closed = -1;

  constructor(
    private readonly text: HTMLTextAreaElement,
    private readonly post: (message: FromPage) => void,
    private readonly owner: { draw(): void; changed(): void },
  ) {
    text.setAttribute("aria-autocomplete", "list");
    text.addEventListener("blur", () => this.close());
    text.addEventListener("click", () => this.follow());
  }

  view(): VNode | null {
    if (this.#name === undefined) {
      return null;
    }
    const options = this.#rows.map((row, index) => {
      const words = row.detail === "" ? row.label : `${row.label}, ${row.detail}`;
      const take = (event: MouseEvent): void => {
        // The text keeps the focus.
        event.preventDefault();
        row.take();
      };
      const attributes = {
        id: `mention-${index}`,
        "aria-label": words,
        title: words,
        "aria-selected": String(index === this.#at),
        onMouseDown: take,
      };
      const parts = [icon(row.icon), h("span", "name cut", {}, row.label), h("span", "faint cut grow", {}, row.detail)];
      return h("div", "mention", { role: "option", ...attributes }, ...parts);
    });
    const rows = options.length === 0 ? [h("div", "faint note", {}, l10n.t("Nothing found"))] : options;
    return h("div", "mentions", { role: "listbox", id: "mentions", "aria-label": this.#name }, ...rows);
  }

  /** Follows the text and the cursor. */
  follow(): void {
    const { value, selectionStart, selectionEnd } = this.text;
    const trigger = selectionStart === selectionEnd ? triggerAt(value, selectionStart) : undefined;
    clearTimeout(this.#timer);
    this.#trigger = trigger;
    if (trigger === undefined || trigger.start === this.#closed) {
      this.#closed = trigger === undefined ? -1 : this.#closed;
      this.#hide();
      return;
    }
    if (trigger.sign === "/") {
      this.#show(
        l10n.t("Commands"),
        commandRows(trigger.query).map((row) => ({
          icon: row.icon,
          label: `/${row.name}`,
          detail: row.words,
          take: () => this.#run(row.command),
        })),
      );
      return;
    }
    const id = ++this.#asked;
    this.#timer = setTimeout(() => this.post({ type: "mention", id, query: trigger.query }), ASK_MS);
  }

  /** Takes the answer of the extension; an old one is dropped. */
  answer(id: number, rows: readonly MentionRow[]): void {
    const trigger = this.#trigger;
    if (id === this.#asked && trigger?.sign === "@" && document.activeElement === this.text) {
      this.#show(
        l10n.t("Files, symbols and more to attach"),
        rows.map((row, index) => ({ ...row, take: () => this.#choose(id, index, row.label) })),
      );
    }
  }

  /** Handles a key while the list is open; false if the key is not for it. */
  key(event: KeyboardEvent): boolean {
    if (this.#name === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return false;
    }
    switch (event.key) {
      case "ArrowDown":
        this.#mark((this.#at + 1) % Math.max(1, this.#rows.length));
        break;
      case "ArrowUp":
        this.#mark((this.#at + this.#rows.length - 1) % Math.max(1, this.#rows.length));
        break;
      case "Escape":
        this.#closed = this.#trigger?.start ?? -1;
        this.close();
        break;
      case "Enter":
      case "Tab": {
        const row = this.#rows[this.#at];
        if (row === undefined) {
          this.close();
          return false;
        }
        row.take();
        break;
      }
      default:
        return false;
    }
    event.preventDefault();
    return true;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#asked++;
    this.#hide();
  }

  #hide(): void {
    this.#name = undefined;
    this.#rows = [];
    this.text.removeAttribute("aria-controls");
    this.text.removeAttribute("aria-activedescendant");
    this.owner.draw();
  }

  #show(name: string, rows: readonly Row[]): void {
    this.#name = name;
    this.#rows = rows;
    this.#mark(0);
    this.text.setAttribute("aria-controls", "mentions");
  }

  #mark(at: number): void {
    this.#at = at;
    this.owner.draw();
    const option = document.getElementById(`mention-${at}`);
    option?.scrollIntoView({ block: "nearest" });
    if (option === null) {
      this.text.removeAttribute("aria-activedescendant");
    } else {
      this.text.setAttribute("aria-activedescendant", option.id);
    }
  }

  #choose(id: number, row: number, label: string): void {
    this.#replace(`@${label} `);
    this.post({ type: "choose", id, row });
  }

  #run(name: CommandName): void {
    this.#replace("");
    this.post({ type: "command", name });
  }

  /** Puts words in the place of the mention, so that they can be undone like typed ones. */
  #replace(words: string): void {
    const trigger = this.#trigger;
    this.close();
    if (trigger !== undefined) {
      this.text.setRangeText(words, trigger.start, trigger.end, "end");
      this.#trigger = undefined;
      this.owner.changed();
    }
  }
}
