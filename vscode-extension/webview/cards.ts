import { ARMED_AFTER_MS } from "../src/stores/approval";
import { type Card, type FromPage } from "../src/conversation/messages";
import { takeAnswers } from "./answerKeys";
import { button, h, icon } from "./dom";
import { t } from "./strings";

type Approve = Extract<FromPage, { type: "approve" }>;

interface Shown {
  readonly element: HTMLElement;
  readonly buttons: readonly HTMLButtonElement[];
  readonly answer: (decision: Approve["decision"], words?: string) => void;
  /** Time from which the card has been where it is. */
  since: number;
}

/**
 * Approvals that wait, oldest first. A card takes an answer only after it has been in sight, at the
 * same place, for a moment: a click that was meant for something else does not count.
 */
export class Cards {
  readonly element = h("div", "cards");
  readonly #cards = new Map<string, Shown>();
  #timer: number | undefined;
  /** The last card passed the focus on, and the user has done nothing since: it goes to the next card. */
  #isFocusPassedOn = false;

  constructor(
    private readonly post: (message: Approve) => void,
    private readonly announce: (words: string) => void,
    /** Takes the focus when the card that had it is answered, and no other waits. */
    private readonly after: () => void,
  ) {
    document.addEventListener("visibilitychange", () => this.#disarm());
    for (const action of ["keydown", "pointerdown"]) {
      document.addEventListener(action, () => (this.#isFocusPassedOn = false), { capture: true });
    }
    new ResizeObserver(() => this.#disarm()).observe(this.element);
  }

  update(cards: readonly Card[]): void {
    const ids = new Set(cards.map(({ id }) => id));
    let moved = false;
    let hadFocus = false;
    for (const [id, { element }] of this.#cards) {
      if (!ids.has(id)) {
        hadFocus ||= element.contains(document.activeElement);
        element.remove();
        this.#cards.delete(id);
        moved = true;
      }
    }
    for (const card of cards) {
      if (!this.#cards.has(card.id)) {
        const shown = this.#draw(card);
        this.#cards.set(card.id, shown);
        this.element.append(shown.element);
        this.announce(`${t("approval")}. ${card.question} ${card.risk} ${card.command}`);
        moved = true;
        hadFocus ||= this.#isFocusPassedOn;
      }
    }
    if (moved) {
      this.#disarm();
    }
    if (hadFocus) {
      const [next] = this.#cards.values();
      this.#isFocusPassedOn = next === undefined;
      if (next === undefined) {
        this.after();
      } else {
        next.element.focus();
      }
    }
  }

  /** All cards are new from now on: they may stand elsewhere, or came into sight. */
  #disarm(): void {
    const now = performance.now();
    for (const shown of this.#cards.values()) {
      shown.since = now;
      for (const own of shown.buttons) {
        own.setAttribute("aria-disabled", "true");
      }
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#arm(), ARMED_AFTER_MS);
  }

  #arm(): void {
    for (const { buttons } of this.#cards.values()) {
      for (const own of buttons) {
        own.removeAttribute("aria-disabled");
      }
    }
  }

  #draw(card: Card): Shown {
    const { id, question, asker, command, folder, reason, risk, warning, forSession, always, change, quarantined } = card;
    const heading = h("div", "row question", {}, icon("warning"), h("strong", "grow", {}, question));
    const notes = [
      ...(asker === "" ? [] : [t("asker", asker)]),
      ...(warning === "" ? [] : [warning]),
      ...(reason === "" ? [] : [reason]),
      ...(folder === "" ? [] : [t("folder", folder)]),
    ].map((note) => h("div", "faint note", {}, note));
    const block = h("pre", "block", { tabindex: "0" }, command);
    const words = h("textarea", "words", { rows: "2", placeholder: t("denyWords"), "aria-label": t("denyWords") });
    const say = h("div", "say", { hidden: true }, words);
    const answer: Shown["answer"] = (decision, said = "") => {
      const shown = this.#cards.get(id);
      if (shown === undefined || shown.buttons[0]?.getAttribute("aria-disabled") === "true") {
        return;
      }
      this.post({ type: "approve", id, decision, words: said, shownForMs: performance.now() - shown.since });
    };
    const buttons = quarantined
      ? [button(t("leave"), "primary", () => answer("deny")), button(t("moveBack"), "secondary", () => answer("allowOnce"))]
      : [
          button(t("allowOnce"), risk === "" ? "primary" : "secondary", () => answer("allowOnce")),
          button(t("allowSession"), "secondary", () => answer("allowSession")),
          ...(always ? [button(t("always"), "secondary", () => answer("always"))] : []),
          button(t("deny"), "secondary", () => answer("deny")),
          button(t("denyWhy"), "secondary", () => {
            say.hidden = false;
            words.focus();
          }),
        ];
    if (change) {
      buttons.push(button(t("showChange"), "secondary", () => answer("change")));
    }
    const send = button(t("denySend"), "secondary", () => answer("deny", words.value));
    say.append(
      h(
        "div",
        "buttons",
        {},
        send,
        button(t("cancel"), "secondary", () => (say.hidden = true)),
      ),
    );
    const all = [...buttons, send];
    buttons[1]?.setAttribute("title", forSession);
    const element = h(
      "section",
      "card",
      { role: "alertdialog", "aria-label": `${t("approval")}: ${question}`, tabindex: "-1" },
      heading,
      block,
      risk === "" ? undefined : h("div", "risk", {}, icon("warning"), h("span", "grow", {}, risk)),
      ...notes,
      h("div", "buttons", {}, ...buttons),
      say,
      h("div", "faint keys", {}, t("keys")),
    );
    takeAnswers(element, (key) => {
      if (key === "y" || key === "n") {
        answer(key === "y" ? "allowOnce" : "deny");
      }
      return key === "y" || key === "n";
    });
    return { element, buttons: all, answer, since: performance.now() };
  }
}
