// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { Card, EditCard } from "../../src/conversation/messages";
import { ARMED_AFTER_MS } from "../../src/stores/approval";
import { answerCard, answerOf } from "../answerKeys";
import { CardList } from "../cardList";
import { Cards } from "../cards";
import { editCard } from "../editCards";
import { questionCard } from "../questions";
import { setStrings } from "../strings";

beforeEach(() => {
  vi.useFakeTimers();
  setStrings({ accept: "Accept", reject: "Reject", rejectSend: "Reject and Send", showEdit: "Show Edit", skip: "Skip", addedRemoved: "{0} {1}" });
});
afterEach(() => void vi.useRealTimers());

const named = (card: HTMLElement, name: string) => [...card.querySelectorAll("button")].find(({ textContent }) => textContent.includes(name));
const disabled = (card: HTMLElement) =>
  [...card.querySelectorAll<HTMLElement>("[aria-disabled=true]")].map(({ textContent }) => textContent).filter((text) => text !== "");

it("takes an answer to a question once the card was in sight for a moment, and shows that", () => {
  const post = vi.fn();
  const card = questionCard({ id: "q", text: "Which?", options: ["Blue", "Red"] }, post);
  document.body.replaceChildren(card);
  const press = () => answerCard(document.body, "2");
  expect(disabled(card)).toEqual(["1Blue", "2Red", "Skip"]);
  press();
  named(card, "Blue")?.click();
  expect(post).not.toHaveBeenCalled();
  vi.advanceTimersByTime(ARMED_AFTER_MS);
  expect(disabled(card)).toEqual([]);
  press();
  expect(post).toHaveBeenCalledExactlyOnceWith({ type: "answer", id: "q", words: "Red" });
});

it("takes the decision on an edit once the card was in sight for a moment; one can look at once", () => {
  const post = vi.fn();
  const lines = [{ sign: "+" as const, text: "new" }];
  const card = editCard({ id: "file:///a", question: "Change a?", note: "", lines, more: 0, added: 1, removed: 0, rev: 3 }, post);
  expect(disabled(card)).toEqual(["Accept", "Reject"]);
  named(card, "Accept")?.click();
  document.body.replaceChildren(card);
  answerCard(document.body, "n");
  expect(post).not.toHaveBeenCalled();
  named(card, "Show Edit")?.click();
  expect(post).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ action: "open" }));
  vi.advanceTimersByTime(ARMED_AFTER_MS);
  expect(disabled(card)).toEqual([]);
  named(card, "Accept")?.click();
  expect(post).toHaveBeenLastCalledWith(expect.objectContaining({ action: "accept", uri: "file:///a", rev: 3 }));
});

it("keeps a reason that is being written, with focus and selection, when its card is drawn again", () => {
  setStrings({ rejectWhy: "Reject with a Reason…", rejectSend: "Reject and Send", addedRemoved: "{0} {1}" });
  const list = new CardList((card: EditCard) => editCard(card, vi.fn()), vi.fn(), vi.fn());
  document.body.replaceChildren(list.element);
  const card = { id: "file:///a", question: "Change a?", note: "", lines: [], more: 0, added: 1, removed: 0, rev: 3 };
  const box = () => list.element.querySelector("textarea");
  list.update([card]);
  named(list.element, "with a Reason")?.click();
  expect(document.activeElement).toBe(box());
  const before = box();
  Object.assign(before ?? {}, { value: "Too long." });
  before?.dispatchEvent(new Event("input"));
  before?.setSelectionRange(4, 8);
  list.update([{ ...card, rev: 4 }]);
  expect(box()).not.toBe(before);
  expect(document.activeElement).toBe(box());
  expect([box()?.value, box()?.selectionStart, box()?.selectionEnd]).toEqual(["Too long.", 4, 8]);
  expect(box()?.closest<HTMLElement>(".say")?.hidden).toBe(false);
});

it("passes the focus on from a card that is drawn again between its answer and its end", () => {
  setStrings({ rejectWhy: "Reject with a Reason…", rejectSend: "Reject and Send", addedRemoved: "{0} {1}" });
  const after = vi.fn();
  const list = new CardList((card: EditCard) => editCard(card, vi.fn()), vi.fn(), after);
  document.body.replaceChildren(list.element);
  const card = { id: "file:///b", question: "Change b?", note: "", lines: [], more: 0, added: 1, removed: 0, rev: 3 };
  list.update([card]);
  named(list.element, "with a Reason")?.click();
  const box = list.element.querySelector("textarea");
  Object.assign(box ?? {}, { value: "Too long." });
  named(list.element, "and Send")?.focus();
  named(list.element, "and Send")?.click();
  list.update([{ ...card, rev: 4 }]);
  expect(document.activeElement).toBe(list.element.querySelector(".card"));
  list.update([]);
  expect(after).toHaveBeenCalledOnce();
});

it("moves the focus from an answered approval to the next one, even if that one appears later", () => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe(): void {}
    },
  );
  const composer = document.createElement("textarea");
  const cards = new Cards(vi.fn(), vi.fn(), () => composer.focus());
  document.body.replaceChildren(cards.element, composer);
  const card = (id: string): Card => ({
    ...{ id, question: "Run?", asker: "", command: id, folder: "", reason: "", risk: "", warning: "" },
    ...{ forSession: "", always: false, change: false, quarantined: false },
  });
  const focused = () => document.activeElement?.textContent;
  cards.update([card("first")]);
  cards.element.querySelector<HTMLElement>(".card")?.focus();
  cards.update([]);
  expect(document.activeElement).toBe(composer);
  cards.update([card("second")]);
  expect(focused()).toContain("second");

  cards.update([]);
  composer.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
  cards.update([card("third")]);
  expect(document.activeElement, "news do not take the focus from one who writes").toBe(composer);
});

it("gives an answer by key to the card with the focus, else to the first card that has it", () => {
  const post = vi.fn();
  const question = (id: string, options: string[]) => questionCard({ id, text: "Which?", options }, post);
  const [first, second] = [question("one", ["Blue"]), question("two", ["Red", "Green"])];
  document.body.replaceChildren(first, second);
  vi.advanceTimersByTime(ARMED_AFTER_MS);
  expect(answerCard(document.body, "1")).toBe(true);
  expect(post).toHaveBeenLastCalledWith({ type: "answer", id: "one", words: "Blue" });
  expect(answerCard(document.body, "2")).toBe(true);
  expect(post).toHaveBeenLastCalledWith({ type: "answer", id: "two", words: "Green" });
  second.focus();
  expect(answerCard(document.body, "1")).toBe(true);
  expect(post).toHaveBeenLastCalledWith({ type: "answer", id: "two", words: "Red" });
  expect(answerCard(document.body, "y")).toBe(false);
  expect(answerCard(document.body, "3")).toBe(false);
});

it("reads answers from keys with Alt alone", () => {
  const key = (code: string, more: KeyboardEventInit = {}) => answerOf(new KeyboardEvent("keydown", { code, altKey: true, ...more }));
  expect([key("KeyY"), key("KeyN"), key("Digit3")]).toEqual(["y", "n", "3"]);
  expect([key("KeyA"), key("Digit0"), key("KeyY", { ctrlKey: true }), key("KeyY", { altKey: false })]).toEqual(Array(4).fill(undefined));
});
