import type { Item, Patch, ToPage } from "../src/conversation/messages";
import { oneLine } from "../src/text/display";
import { button, h, icon } from "./dom";
import type { Beyond, Direction } from "../src/stores/reading";
import { type Drawn, type ItemPort, drawItem } from "./items";
import { wordsOf } from "./markdown";
import { t } from "./strings";

type Reset = Extract<ToPage, { type: "reset" }>;
type PatchMessage = Extract<ToPage, { type: "patch" }>;

interface Known extends Drawn {
  readonly item: Item;
}

/** Items of a turn, oldest first. */
interface Turn {
  readonly turn: string;
  readonly items: readonly Item[];
}

/** Items that are drawn at once. Earlier turns are drawn when the reader comes to them. */
const PAGE = 300;

/** Distance from the first drawn item, in pixels, at which earlier turns are drawn. */
const NEAR_START = 200;

/** Keys that scroll up. */
const UP = new Set(["ArrowUp", "Home", "PageUp", "Tab"]);

/** Distance from the end, in pixels, at which a reader is at the end. */
const AT_END = 24;

/**
 * The conversation: a section for each turn, an element for each item. Turns far above the reader are
 * kept as data only, so that the cost of news does not grow with the history.
 */
export class List {
  readonly element = h("main", "log", { role: "log", "aria-live": "off", tabindex: "-1" });
  /** Turns, and what stands below them. */
  readonly #turns = h("div", "turns");
  readonly #earlier = button("", "link-button beyond earlier", () => this.#wantEarlier());
  readonly #later = button("", "link-button beyond later", () => this.ask("later"));
  /** What the extension has beyond the turns that are here. */
  #beyond: Beyond = { earlier: "none", later: "none", fault: "" };
  /** Turns above those that are drawn, oldest first. */
  #undrawn: Turn[] = [];
  readonly #pill = button("", "pill", () => this.toEnd());
  readonly #sections = new Map<string, HTMLElement>();
  readonly #items = new Map<string, Known>();
  /** Item that Tab reaches: the last focused one, else the newest. */
  #stop: HTMLElement | undefined;
  #rev = 0;
  #follows = true;
  /** Scroll position at the last look. */
  #top = 0;
  /** The list was drawn since the browser last painted: a row that was shorter for a moment moves the rest up. */
  #isDrawn = false;
  /** The reader has scrolled up by hand since the list was last at its end. */
  #isScrolledUp = false;

  constructor(
    private readonly port: ItemPort,
    private readonly announce: (words: string) => void,
    below: HTMLElement,
    private readonly ask: (direction: Direction) => void = () => {},
  ) {
    this.element.append(this.#earlier, this.#turns, this.#later, below, this.#pill);
    this.#drawBeyond();
    this.#pill.hidden = true;
    this.element.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = this.element;
      const toEnd = scrollHeight - scrollTop - clientHeight;
      if (this.#beyond.later === "none" && toEnd <= AT_END) {
        this.#isScrolledUp = false;
        this.#setFollows(true);
      } else if (this.#follows && this.#isDrawn && !this.#isScrolledUp) {
        this.#keepEnd();
        return;
      } else if (scrollTop < this.#top) {
        this.#setFollows(false);
        if (scrollTop < NEAR_START) {
          this.#wantEarlier();
        }
      } else if (this.#beyond.later === "more" && scrollTop > this.#top && toEnd < NEAR_START) {
        this.ask("later");
      }
      this.#top = scrollTop;
    });
    this.element.addEventListener("wheel", ({ deltaY }) => (this.#isScrolledUp ||= deltaY < 0), { passive: true });
    this.element.addEventListener("touchmove", () => (this.#isScrolledUp = true), { passive: true });
    this.element.addEventListener("keydown", ({ key, shiftKey }) => (this.#isScrolledUp ||= UP.has(key) || (key === " " && shiftKey)));
    // The bar is part of another element.
    this.element.addEventListener("pointerdown", ({ offsetX, target }) => {
      this.#isScrolledUp ||= target === this.element && offsetX >= this.element.clientWidth;
    });
    new ResizeObserver(() => this.#keepEnd()).observe(this.#turns);
    new ResizeObserver(() => this.#keepEnd()).observe(below);
    new ResizeObserver(() => this.#keepEnd()).observe(this.element);
    this.element.addEventListener("keydown", (event) => this.#move(event));
    this.element.addEventListener("focusin", (event) => this.#rove(event.target));
  }

  /** True if a file was edited after this item, as far as the conversation tells. */
  editedSince(id: string): boolean {
    const items = [...this.#turns.querySelectorAll<HTMLElement>(".item")];
    return items.slice(items.findIndex(({ dataset }) => dataset["id"] === id) + 1).some((item) => item.matches(".edit"));
  }

  /** Leads to an item, and unfolds it. */
  show(id: string): void {
    while (!this.#items.has(id) && this.#undrawn.length > 0) {
      this.#drawEarlier();
    }
    const element = this.#items.get(id)?.element;
    if (element === undefined) {
      return;
    }
    this.#isScrolledUp = true;
    this.#setFollows(false);
    element.querySelector<HTMLElement>('.fold[aria-expanded="false"]')?.click();
    element.scrollIntoView({ block: "center" });
    stopOf(element).focus({ preventScroll: true });
  }

  get empty(): boolean {
    return this.#items.size === 0 && this.#undrawn.length === 0;
  }

  /** Names the list, once the strings have arrived. */
  name(): void {
    this.element.setAttribute("aria-label", t("conversation"));
    this.#drawBeyond();
  }

  /** Takes over what the extension has beyond the turns that are here. */
  update(beyond: Beyond): void {
    const was = this.#beyond;
    this.#beyond = beyond;
    if (beyond.later !== "none") {
      this.#setFollows(false);
    }
    this.#keepFocus(() => this.#drawBeyond());
    if (beyond.earlier === "loading" && was.earlier !== "loading") {
      this.announce(t("loadingEarlier"));
    }
  }

  #drawBeyond(): void {
    const { earlier, later, fault } = this.#beyond;
    const here = this.#undrawn.length > 0;
    this.#earlier.hidden = !here && earlier === "none";
    if (here || earlier === "more") {
      this.#earlier.replaceChildren(`↑ ${t("showEarlier")}`);
    } else if (earlier === "loading") {
      this.#earlier.replaceChildren(icon("loading", true), ` ${t("loadingEarlier")}`);
    } else {
      this.#earlier.replaceChildren(icon("error"), ` ${t("earlierFailed", oneLine(fault, 200))}`);
    }
    this.#later.hidden = later === "none";
    this.#later.replaceChildren(...(later === "loading" ? [icon("loading", true), ` ${t("loadingLater")}`] : [`↓ ${t("showLater")}`]));
    this.#pill.textContent = `↓ ${t(later === "none" ? "newItems" : "newest")}`;
    this.#pill.hidden = later === "none" && (this.#follows || this.#pill.hidden);
  }

  reset({ rev, turns }: Reset): void {
    this.#rev = rev;
    this.#keepFocus(() => {
      this.#items.clear();
      this.#sections.clear();
      this.#turns.replaceChildren();
      this.#undrawn = [...turns];
      this.#drawEarlier();
      this.#drawBeyond();
    });
    this.#setFollows(true);
    this.#keepEnd();
  }

  /** True if the patch follows what is here; false if one was missed. */
  patch({ rev, patches, append, gone }: PatchMessage): boolean {
    if (rev !== this.#rev + 1) {
      return false;
    }
    this.#rev = rev;
    this.#isDrawn = true;
    // Scroll events come before the callbacks of a frame.
    requestAnimationFrame(() => (this.#isDrawn = false));
    this.#keepFocus(() => this.#patch(patches, append, gone));
    this.#keepEnd();
    return true;
  }

  #patch(patches: readonly Patch[], append: PatchMessage["append"], gone: PatchMessage["gone"]): void {
    this.#inPlace(() => this.#apply(patches));
    for (const { id, delta } of append) {
      this.#items.get(id)?.grow?.(delta);
    }
    this.#inPlace(() => gone.forEach((turn) => this.#erase(turn)));
    this.#undrawn = this.#undrawn.filter(({ turn }) => !gone.includes(turn));
    if (!this.#follows && this.element.scrollTop < NEAR_START && this.#undrawn.length > 0) {
      this.#drawEarlier();
    }
    this.#eraseEarliest();
    this.#firstStop();
    this.#pill.hidden = this.#follows;
    this.#drawBeyond();
  }

  #apply(patches: readonly Patch[]): void {
    for (const patch of patches) {
      const { turn, before, put, drop } = patch;
      const at = this.#undrawn.findIndex((known) => known.turn === turn);
      if (at >= 0) {
        this.#undrawn[at] = { turn, items: patched(this.#undrawn[at]?.items ?? [], patch) };
        continue;
      }
      if (!this.#sections.has(turn) && this.#isAbove(before)) {
        const next = this.#undrawn.findIndex((known) => known.turn === before);
        this.#undrawn.splice(next < 0 ? this.#undrawn.length : next, 0, { turn, items: patched([], patch) });
        continue;
      }
      const section = this.#sections.get(turn) ?? this.#section(turn);
      if (section.parentElement === null) {
        this.#turns.insertBefore(section, this.#sections.get(before) ?? null);
      }
      for (const id of drop) {
        this.#items.get(id)?.element.remove();
        this.#items.delete(id);
      }
      for (const { item, after } of put) {
        this.#put(section, item, after);
      }
    }
  }

  /** True if a new turn before this one is above all that is drawn. */
  #isAbove(before: string): boolean {
    const first = (this.#turns.firstElementChild as HTMLElement | null)?.dataset["turn"];
    return before !== "" && (before === first || this.#undrawn.some(({ turn }) => turn === before));
  }

  /** Changes the list while the focus stays in it: on its item, else on the nearest one that is left. */
  #keepFocus(change: () => void): void {
    const focused = document.activeElement;
    if (![this.#turns, this.#earlier, this.#later].some((part) => part.contains(focused))) {
      change();
      return;
    }
    const ids = this.#drawnIds();
    const item = focused?.closest<HTMLElement>(".item")?.dataset["id"];
    const at = item !== undefined ? ids.indexOf(item) : this.#later.contains(focused) ? ids.length - 1 : 0;
    const distance = new Map(ids.map((id, index) => [id, Math.abs(index - at)]));
    change();
    if (document.activeElement === focused && focused?.closest("[hidden]") === null) {
      return;
    }
    const left = this.#drawnIds().filter((id) => distance.has(id));
    const [nearest = ""] = left.sort((a, b) => (distance.get(a) ?? 0) - (distance.get(b) ?? 0));
    const element = this.#items.get(nearest)?.element;
    (element === undefined ? (this.#stop ?? this.element) : stopOf(element)).focus({ preventScroll: true });
  }

  #drawnIds(): string[] {
    return [...this.#turns.querySelectorAll<HTMLElement>(".item")].map(({ dataset }) => dataset["id"] ?? "");
  }

  /** Changes the list while what the reader sees stays where it is: at its very start the browser does not see to that. */
  #inPlace(change: () => void): void {
    if (this.#follows) {
      change();
      return;
    }
    const top = this.element.getBoundingClientRect().top;
    const seen = [...this.#turns.querySelectorAll<HTMLElement>(".item")].find((item) => item.getBoundingClientRect().bottom > top);
    const placeOf = (): number | undefined => this.#items.get(seen?.dataset["id"] ?? "")?.element.getBoundingClientRect().top;
    const was = placeOf();
    change();
    const now = placeOf();
    if (was !== undefined && now !== undefined && now !== was) {
      this.element.scrollTop += now - was;
    }
    this.#top = this.element.scrollTop;
  }

  /** Draws earlier turns, and asks for those that are not here once the last of them is drawn. */
  #wantEarlier(): void {
    this.#drawEarlier();
    if (this.#undrawn.length === 0 && (this.#beyond.earlier === "more" || this.#beyond.earlier === "failed")) {
      this.ask("earlier");
    }
  }

  /** Draws the turns before the first drawn one, as many as make a page. What is in sight stays there. */
  #drawEarlier(): void {
    if (this.#undrawn.length > 0) {
      this.#inPlace(() => this.#drawPage());
      this.#drawBeyond();
      this.#firstStop();
    }
  }

  #drawPage(): void {
    const sections: HTMLElement[] = [];
    for (let left = PAGE; left > 0 && this.#undrawn.length > 0;) {
      const { turn, items } = this.#undrawn.pop() ?? { turn: "", items: [] };
      const section = this.#section(turn);
      section.append(...items.map((item) => this.#draw(item, false)));
      sections.unshift(section);
      left -= items.length;
    }
    this.#turns.prepend(...sections);
  }

  /** Keeps the earliest turns as data only while the reader is at the end and many pages are drawn. */
  #eraseEarliest(): void {
    while (this.#follows && this.#items.size > 2 * PAGE && this.#turns.childElementCount > 1) {
      const turn = (this.#turns.firstElementChild as HTMLElement).dataset["turn"] ?? "";
      this.#undrawn.push({ turn, items: this.#erase(turn) });
    }
  }

  /** Removes a turn from the page, and returns its items. */
  #erase(turn: string): Item[] {
    const section = this.#sections.get(turn);
    const ids = [...(section?.children ?? [])].map((element) => (element as HTMLElement).dataset["id"] ?? "");
    const items = ids.flatMap((id) => this.#items.get(id)?.item ?? []);
    for (const id of ids) {
      this.#items.delete(id);
    }
    section?.remove();
    this.#sections.delete(turn);
    return items;
  }

  /** Goes to the newest message, and asks for it if it is not here. */
  toEnd(): void {
    if (this.#beyond.later !== "none") {
      this.ask("newest");
      return;
    }
    this.#setFollows(true);
    this.#keepEnd();
  }

  /** While the end is followed, the browser must not keep the place of what is in sight. */
  #setFollows(follows: boolean): void {
    this.#follows = follows;
    this.element.style.overflowAnchor = follows ? "none" : "auto";
    this.#pill.hidden ||= follows;
  }

  #keepEnd(): void {
    if (this.#follows) {
      // A conversation that has not begun is read from its start.
      this.element.scrollTop = this.empty ? 0 : this.element.scrollHeight;
      this.#top = this.element.scrollTop;
    }
  }

  #section(turn: string): HTMLElement {
    const section = h("section", "turn", { "data-turn": turn });
    this.#sections.set(turn, section);
    return section;
  }

  #put(section: HTMLElement, item: Item, after: string): void {
    const old = this.#items.get(item.id);
    const wasOpen = old?.element.querySelector(":scope > .fold")?.getAttribute("aria-expanded") === "true";
    const focused = old?.element.contains(document.activeElement) === true;
    const element = this.#draw(item, wasOpen);
    old?.element.remove();
    if (after === "") {
      section.prepend(element);
    } else {
      (this.#items.get(after)?.element ?? section.lastElementChild)?.after(element);
      if (element.parentElement === null) {
        section.append(element);
      }
    }
    if (focused) {
      stopOf(element).focus();
    }
    if (item.kind === "text" && !item.streaming) {
      this.announce(oneLine(wordsOf(element), 2_000));
    }
  }

  #draw(item: Item, open: boolean): HTMLElement {
    const drawn = drawItem(item, this.port, open);
    if (item.undone === true) {
      drawn.element.classList.add("undone");
      drawn.element.setAttribute("aria-description", t("undone"));
    }
    drawn.element.dataset["id"] = item.id;
    this.#items.set(item.id, { item, ...drawn });
    return drawn.element;
  }

  #firstStop(): void {
    if (this.#stop?.isConnected !== true) {
      this.#stopAt(this.#stops().at(-1));
    }
  }

  #stops(): HTMLElement[] {
    const shown = document.body.classList.contains("reminders") ? ".item" : ".item:not(.reminder)";
    return [...this.#turns.querySelectorAll<HTMLElement>(shown)].map(stopOf);
  }

  #rove(target: EventTarget | null): void {
    const item = target instanceof Element ? target.closest<HTMLElement>(".item") : null;
    if (item !== null) {
      this.#stopAt(stopOf(item));
    }
  }

  #stopAt(stop: HTMLElement | undefined): void {
    setReach(this.#stop, -1);
    this.#stop = stop;
    setReach(stop, 0);
  }

  #move(event: KeyboardEvent): void {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || target.matches("textarea, input, pre") || target.closest(".cards, .questions") !== null) {
      return;
    }
    const item = target.closest<HTMLElement>(".item");
    let stops = this.#stops();
    let at = item === null ? stops.length : stops.indexOf(stopOf(item));
    if (key === "Home") {
      while (this.#undrawn.length > 0) {
        this.#drawEarlier();
      }
    }
    if ((at === 0 && key === "ArrowUp") || key === "Home" || (key === "PageUp" && this.element.scrollTop === 0)) {
      this.#wantEarlier();
      stops = this.#stops();
      at = item === null ? 0 : stops.indexOf(stopOf(item));
    }
    if (key === "End" && this.#beyond.later !== "none") {
      event.preventDefault();
      this.ask("newest");
      return;
    }
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: stops.length - 1 }[key];
    const stop = to === undefined ? undefined : stops[to];
    if (stop !== undefined) {
      event.preventDefault();
      stop.focus();
    }
  }
}

/** Items of a turn after a patch to it. */
function patched(items: readonly Item[], { put, drop }: Patch): Item[] {
  const now = items.filter(({ id }) => !drop.includes(id));
  for (const { item, after } of put) {
    const old = now.findIndex(({ id }) => id === item.id);
    if (old >= 0) {
      now.splice(old, 1);
    }
    now.splice(now.findIndex(({ id }) => id === after) + 1, 0, item);
  }
  return now;
}

/** Lets Tab reach a stop of the list and the actions of its item, or leave them out. */
function setReach(stop: HTMLElement | undefined, tabIndex: number): void {
  if (stop !== undefined) {
    stop.tabIndex = tabIndex;
    for (const action of stop.closest(".item")?.querySelectorAll<HTMLElement>(".item-actions > button") ?? []) {
      action.tabIndex = tabIndex;
    }
  }
}

/** Part of an item that takes the focus: its fold, if it has one. */
function stopOf(item: HTMLElement): HTMLElement {
  return item.querySelector<HTMLElement>(":scope > .fold") ?? item;
}
