import { h } from "./dom";

interface Shown {
  readonly text: string;
  readonly element: HTMLElement;
}

/** Cards that wait for the user, by id: drawn when they come or change, removed when they are gone. */
export class CardList<T extends { readonly id: string }> {
  readonly element = h("div", "cards");
  readonly #shown = new Map<string, Shown>();

  constructor(
    private readonly draw: (value: T) => HTMLElement,
    private readonly announce: (words: string) => void,
    /** Takes the focus when the card that had it is gone. */
    private readonly after: () => void,
  ) {}

  update(values: readonly T[]): void {
    const ids = new Set(values.map(({ id }) => id));
    for (const [id, { element }] of this.#shown) {
      if (!ids.has(id)) {
        const hadFocus = element.contains(document.activeElement);
        element.remove();
        this.#shown.delete(id);
        if (hadFocus) {
          this.after();
        }
      }
    }
    for (const value of values) {
      const before = this.#shown.get(value.id);
      const text = JSON.stringify(value);
      if (before?.text === text) {
        continue;
      }
      const element = this.draw(value);
      this.#shown.set(value.id, { text, element });
      if (before === undefined) {
        this.element.append(element);
        this.announce(element.getAttribute("aria-label") ?? "");
      } else {
        const focused = placeOfFocus(before.element);
        before.element.replaceWith(element);
        focused?.(element);
      }
    }
  }
}

/**
 * The focus in a card, and the selection in its text field: gives both to the card that takes its place. A part that is
 * hidden there cannot have the focus: then the card has it.
 */
function placeOfFocus(card: HTMLElement): ((next: HTMLElement) => void) | undefined {
  const active = document.activeElement;
  if (active === null || !card.contains(active)) {
    return undefined;
  }
  const partsOf = (element: HTMLElement): HTMLElement[] => [...element.querySelectorAll<HTMLElement>("button, textarea, input")];
  const index = partsOf(card).findIndex((part) => part === active);
  const selection = isField(active) ? ([active.selectionStart, active.selectionEnd] as const) : undefined;
  return (next) => {
    const same = partsOf(next)[index];
    const part = same === undefined || same.closest("[hidden]") !== null ? next : same;
    part.focus();
    if (selection !== undefined && isField(part)) {
      part.setSelectionRange(...selection);
    }
  };
}

function isField(element: Element): element is HTMLTextAreaElement | HTMLInputElement {
  return element instanceof HTMLTextAreaElement || (element instanceof HTMLInputElement && element.type === "text");
}
