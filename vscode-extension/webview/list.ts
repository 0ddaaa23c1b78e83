import { l10n } from "vscode";
import { Component, type VNode } from "preact";
import { memo } from "preact/compat";

import type { Item } from "../src/conversation/messages";
import type { Beyond, Direction } from "../src/stores/reading";
import { oneLine } from "../src/text/display";
import { type ItemPort, ItemView } from "./items";
import { wordsOf } from "./markdown";
import { button, h, icon, part } from "./parts";
import type { Turn } from "./turns";

/** Items that are drawn at once. Earlier turns are drawn when the reader comes to them. */
const PAGE = 300;

/** Distance from the first drawn item, in pixels, at which earlier turns are drawn. */
const NEAR_START = 200;

/** Keys that scroll up. */
const UP = new Set(["ArrowUp", "Home", "PageUp", "Tab"]);

/** Distance from the end, in pixels, at which a reader is at the end. */
const AT_END = 24;

interface Props {
  readonly turns: readonly Turn[];
  /** Number of the conversation: another one is read from its end. */
  readonly number: number;
  /** Parts of the conversation beyond the turns that are here. */
  readonly beyond: Beyond;
  readonly reminders: boolean;
  readonly port: ItemPort;
  readonly announce: (words: string) => void;
  readonly ask: (direction: Direction) => void;
  /** Stands below the turns. */
  readonly below: HTMLElement;
}

interface State {
  readonly number: number;
  readonly turns: readonly Turn[];
  /** First turn that is drawn. */
  readonly first: string;
  /** Item that Tab reaches: the last focused one. Without it, the newest. */
  readonly stop: string;
  readonly follows: boolean;
  /** Something came while the end was out of sight. */
  readonly hasNews: boolean;
}

/** Place of an item in sight, and of the focus, which both stay while the list is drawn. */
interface Place {
  readonly seen: string | undefined;
  readonly top: number;
  readonly focused: Element | null;
  /** Drawn items, by their distance from the one with the focus. */
  readonly distance: ReadonlyMap<string, number>;
}

/**
 * The conversation: a section for each turn, an element for each item. The browser skips items out of sight
 * (`content-visibility`), and turns far above the reader are not drawn: the cost of news does not grow with the history.
 */
export class List extends Component<Props, State> {
  override state: State = { number: -1, turns: [], first: "", stop: "", follows: true, hasNews: false };
  element!: HTMLElement;
  #turns!: HTMLElement;
  /** Scroll position at the last look. */
  #top = 0;
  /** The list was drawn since the browser last painted: a row that was shorter for a moment moves the rest up. */
  #isDrawn = false;
  /** The reader has scrolled up by hand since the list was last at its end. */
  #isScrolledUp = false;

  static override getDerivedStateFromProps({ turns, number, beyond }: Props, state: State): Partial<State> {
    const from = turns.findIndex(({ turn }) => turn === state.first);
    const fresh = number !== state.number;
    const follows = fresh ? true : state.follows && beyond.later === "none";
    // Many drawn pages are kept only while they are read.
    const first = fresh || from < 0 ? pageBefore(turns, turns.length) : follows && turns !== state.turns ? lastPages(turns, from) : from;
    return { number, turns, follows, first: turns[first]?.turn ?? "" };
  }

  override render({ turns, beyond, port }: Props, { stop, follows, hasNews }: State): VNode {
    const from = this.#from();
    const shown = turns.slice(from);
    const reached = shown.some(({ items }) => items.some(({ id }) => id === stop)) ? stop : this.#newest(shown);
    const { earlier, later, fault } = beyond;
    const earlierWords =
      from > 0 || earlier === "more"
        ? [`↑ ${l10n.t("Show Earlier")}`]
        : earlier === "loading"
          ? [icon("loading", true), ` ${l10n.t("Loading earlier messages…")}`]
          : [icon("error"), ` ${l10n.t("Earlier messages could not be read: {0} Try Again", oneLine(fault, 200))}`];
    const laterWords = later === "loading" ? [icon("loading", true), ` ${l10n.t("Loading later messages…")}`] : [`↓ ${l10n.t("Show Later")}`];
    const sections = shown.map(({ turn, items }) =>
      part(TurnView, { key: turn, items, port, reached: items.some(({ id }) => id === reached) ? reached : "" }),
    );
    return h(
      "main",
      "log",
      { role: "log", "aria-live": "off", "aria-label": l10n.t("Conversation"), tabindex: -1, ref: this.#mount, ...this.#handlers },
      button(earlierWords, "link-button beyond earlier", () => this.#wantEarlier(), { hidden: from === 0 && earlier === "none" }),
      h("div", "turns", { ref: (element: HTMLElement | null) => element !== null && (this.#turns = element) }, ...sections),
      button(laterWords, "link-button beyond later", () => this.props.ask("later"), { hidden: later === "none" }),
      h("div", "", { ref: this.#placeBelow }),
      button(`↓ ${later === "none" ? l10n.t("New messages") : l10n.t("Newest messages")}`, "pill", () => this.toEnd(), {
        hidden: later === "none" && (follows || !hasNews),
      }),
    );
  }

  override componentDidMount(): void {
    this.element.addEventListener("wheel", ({ deltaY }) => (this.#isScrolledUp ||= deltaY < 0), { passive: true });
    this.element.addEventListener("touchmove", () => (this.#isScrolledUp = true), { passive: true });
    for (const part of [this.element, this.#turns, this.props.below]) {
      new ResizeObserver(() => this.#keepEnd()).observe(part);
    }
    this.#keepEnd();
  }

  override getSnapshotBeforeUpdate(): Place {
    const { top } = this.element.getBoundingClientRect();
    const items = this.#drawn();
    const seen = this.state.follows ? undefined : items.find((item) => item.getBoundingClientRect().bottom > top);
    const focused = this.element.contains(document.activeElement) ? document.activeElement : null;
    const ids = items.map(idOf);
    const at = focused === null ? -1 : ids.indexOf(idOf(focused.closest(".item")));
    const from = at >= 0 ? at : focused?.matches(".later") === true ? ids.length - 1 : 0;
    const distance = new Map(focused === null || this.props.below.contains(focused) ? [] : ids.map((id, place) => [id, Math.abs(place - from)]));
    return { seen: seen && idOf(seen), top: seen?.getBoundingClientRect().top ?? 0, focused, distance };
  }

  override componentDidUpdate(before: Props, { follows }: State, { seen, top, focused, distance }: Place): void {
    const { turns, number, beyond, announce } = this.props;
    this.element.style.overflowAnchor = this.state.follows ? "none" : "auto";
    const item = seen === undefined ? null : this.#itemOf(seen);
    if (item !== null && number === before.number) {
      // At scroll position 0 the browser does not keep the visible rows in place.
      this.element.scrollTop += item.getBoundingClientRect().top - top;
      this.#top = this.element.scrollTop;
    }
    if (distance.size > 0 && (document.activeElement !== focused || focused?.closest("[hidden]") !== null)) {
      this.#focusNearest(distance);
    }
    if (beyond.earlier === "loading" && before.beyond.earlier !== "loading") {
      announce(l10n.t("Loading earlier messages…"));
    }
    if (turns !== before.turns) {
      this.#isDrawn = true;
      // Scroll events come before the callbacks of a frame.
      requestAnimationFrame(() => (this.#isDrawn = false));
      if (number === before.number) {
        this.#announceNews(before.turns);
        if (!this.state.follows && !this.state.hasNews) {
          this.setState({ hasNews: true });
        }
        if (!this.state.follows && this.element.scrollTop < NEAR_START && this.#from() > 0) {
          this.#draw(this.#from());
        }
      }
    }
    // The reader's own actions near the end do not scroll the list.
    if (turns !== before.turns || beyond.earlier !== before.beyond.earlier || !follows) {
      this.#keepEnd();
    }
  }

  /** True if a file was edited after this item, as far as the conversation tells. */
  editedSince(id: string): boolean {
    const items = this.props.turns.flatMap((turn) => turn.items);
    return items.slice(items.findIndex((item) => item.id === id) + 1).some(({ kind }) => kind === "edit");
  }

  /** Leads to an item, and unfolds it. */
  show(id: string): void {
    const at = this.props.turns.findIndex(({ items }) => items.some((item) => item.id === id));
    const turn = this.props.turns[Math.min(at, this.#from())];
    if (at < 0 || turn === undefined) {
      return;
    }
    this.#isScrolledUp = true;
    this.setState({ first: turn.turn, follows: false }, () => {
      const item = this.#itemOf(id);
      item?.querySelector<HTMLElement>('.fold[aria-expanded="false"]')?.click();
      item?.scrollIntoView({ block: "center" });
      item?.querySelector<HTMLElement>(":scope > .fold")?.focus({ preventScroll: true });
      if (item !== null && !item.contains(document.activeElement)) {
        item.focus({ preventScroll: true });
      }
    });
  }

  /** Goes to the newest message, and asks for it if it is not here. */
  toEnd(): void {
    if (this.props.beyond.later !== "none") {
      this.props.ask("newest");
      return;
    }
    this.setState({ follows: true, hasNews: false }, () => this.#keepEnd());
  }

  readonly #mount = (element: HTMLElement | null): void => {
    if (element !== null) {
      this.element = element;
    }
  };

  /** One function for all draws: a part that moves loses the focus. */
  readonly #placeBelow = (place: HTMLElement | null): void => place?.append(this.props.below);

  readonly #handlers = {
    onScroll: (): void => this.#scrolled(),
    onKeyDown: (event: KeyboardEvent): void => {
      this.#isScrolledUp ||= UP.has(event.key) || (event.key === " " && event.shiftKey);
      this.#move(event);
    },
    // The bar is part of another element.
    onPointerDown: ({ offsetX, target }: PointerEvent): void => {
      this.#isScrolledUp ||= target === this.element && offsetX >= this.element.clientWidth;
    },
    onFocusIn: ({ target }: FocusEvent): void => {
      const item = target instanceof Element ? target.closest(".item") : null;
      if (item !== null) {
        this.setState({ stop: idOf(item) });
      }
    },
  };

  #scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const [toEnd, { later }] = [scrollHeight - scrollTop - clientHeight, this.props.beyond];
    if (later === "none" && toEnd <= AT_END) {
      this.#isScrolledUp = false;
      if (!this.state.follows || this.state.hasNews) {
        this.setState({ follows: true, hasNews: false });
      }
    } else if (this.state.follows && this.#isDrawn && !this.#isScrolledUp) {
      this.#keepEnd();
      return;
    } else if (scrollTop < this.#top) {
      this.setState({ follows: false });
      if (scrollTop < NEAR_START) {
        this.#wantEarlier();
      }
    } else if (later === "more" && scrollTop > this.#top && toEnd < NEAR_START) {
      this.props.ask("later");
    }
    this.#top = scrollTop;
  }

  #keepEnd(): void {
    if (this.state.follows) {
      // A conversation that has not begun is read from its start.
      this.element.scrollTop = this.props.turns.length === 0 ? 0 : this.element.scrollHeight;
      this.#top = this.element.scrollTop;
    }
  }

  /** Number of turns above those that are drawn. */
  #from(): number {
    return Math.max(
      0,
      this.props.turns.findIndex(({ turn }) => turn === this.state.first),
    );
  }

  #drawn(): HTMLElement[] {
    return [...this.#turns.querySelectorAll<HTMLElement>(".item")];
  }

  #itemOf(id: string): HTMLElement | null {
    return this.#drawn().find((item) => idOf(item) === id) ?? null;
  }

  /** Newest item that Tab can reach. */
  #newest(shown: readonly Turn[]): string {
    const isStop = (item: Item): boolean => this.props.reminders || item.kind !== "notice" || !item.reminder;
    const of = shown.findLast(({ items }) => items.some(isStop));
    return of?.items.findLast(isStop)?.id ?? "";
  }

  #focusNearest(distance: ReadonlyMap<string, number>): void {
    const left = this.#drawn().filter((item) => distance.has(idOf(item)));
    const [nearest] = left.sort((a, b) => (distance.get(idOf(a)) ?? 0) - (distance.get(idOf(b)) ?? 0));
    (nearest === undefined ? this.element : stopOf(nearest)).focus({ preventScroll: true });
  }

  #announceNews(before: readonly Turn[]): void {
    const known = new Map(before.map(({ turn, items }) => [turn, items]));
    for (const { turn, items } of this.props.turns.filter((now) => known.get(now.turn) !== now.items)) {
      const old = new Set(known.get(turn));
      for (const item of items.filter((now) => now.kind === "text" && !now.streaming && !old.has(now))) {
        const element = this.#itemOf(item.id);
        this.props.announce(element === null ? "" : oneLine(wordsOf(element), 2_000));
      }
    }
  }

  /** Draws the turns before this one, as many as make a page. */
  #draw(end: number, then: () => void = () => {}): void {
    const from = pageBefore(this.props.turns, end);
    this.setState({ first: this.props.turns[from]?.turn ?? "" }, then);
  }

  /** Draws earlier turns, and asks for those that are not here once the last of them is drawn. */
  #wantEarlier(then?: () => void): void {
    const { turns, beyond, ask } = this.props;
    const from = this.#from();
    if (pageBefore(turns, from) === 0 && (beyond.earlier === "more" || beyond.earlier === "failed")) {
      ask("earlier");
    }
    this.#draw(from, then);
  }

  #stops(): HTMLElement[] {
    return this.#drawn()
      .filter((item) => this.props.reminders || !item.matches(".reminder"))
      .map(stopOf);
  }

  #move(event: KeyboardEvent): void {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || target.matches("textarea, input, pre") || target.closest(".cards") !== null) {
      return;
    }
    const item = target.closest<HTMLElement>(".item");
    const at = item === null ? this.#stops().length : this.#stops().indexOf(stopOf(item));
    if (key === "End" && this.props.beyond.later !== "none") {
      event.preventDefault();
      this.props.ask("newest");
    } else if (key === "Home") {
      event.preventDefault();
      this.setState({ first: this.props.turns[0]?.turn ?? "" }, () => this.#wantEarlier(() => this.#stops()[0]?.focus()));
    } else if (key === "ArrowUp" && at === 0 && item !== null) {
      event.preventDefault();
      this.#wantEarlier(() => this.#stops()[this.#stops().indexOf(stopOf(item)) - 1]?.focus());
    } else if (key === "PageUp" && this.element.scrollTop === 0) {
      this.#wantEarlier();
    } else {
      const to = { ArrowUp: at - 1, ArrowDown: at + 1, End: this.#stops().length - 1 }[key];
      const stop = to === undefined ? undefined : this.#stops()[to];
      if (stop !== undefined) {
        event.preventDefault();
        stop.focus();
      }
    }
  }
}

interface TurnProps {
  readonly items: readonly Item[];
  readonly port: ItemPort;
  /** Item that Tab reaches; empty if it is in another turn. */
  readonly reached: string;
}

const TurnView = memo(({ items, port, reached }: TurnProps): VNode => {
  const views = items.map((item) => part(ItemView, { key: item.id, item, port, reached: item.id === reached }));
  return h("section", "turn", {}, ...views);
});

/** Index of the first turn of a page that ends before this one. */
function pageBefore(turns: readonly Turn[], end: number): number {
  let from = end;
  for (let left = PAGE; left > 0 && from > 0; left -= turns[from]?.items.length ?? 0) {
    from -= 1;
  }
  return from;
}

/** Index of the first turn that is kept of those from this one on, which are at most two pages. */
function lastPages(turns: readonly Turn[], from: number): number {
  let count = turns.slice(from).reduce((sum, { items }) => sum + items.length, 0);
  let first = from;
  for (; count > 2 * PAGE && first < turns.length - 1; first += 1) {
    count -= turns[first]?.items.length ?? 0;
  }
  return first;
}

function idOf(item: Element | null): string {
  return item instanceof HTMLElement ? (item.dataset["id"] ?? "") : "";
}

/** Part of an item that takes the focus: its fold, if it has one. */
function stopOf(item: HTMLElement): HTMLElement {
  return item.querySelector<HTMLElement>(":scope > .fold") ?? item;
}
