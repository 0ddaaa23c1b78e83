// @vitest-environment jsdom
import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { Card, EditCard, Question } from "../../src/conversation/messages";
import { ARMED_AFTER_MS } from "../../src/stores/approval";
import { answerCard, answerOf } from "../answerKeys";
import { waitingCards } from "../cards";

interface Waiting {
  readonly cards?: readonly Card[];
  readonly decisions?: readonly EditCard[];
  readonly questions?: readonly Question[];
}

let page: HTMLElement;
let composer: HTMLTextAreaElement;
const post = vi.fn();
const announce = vi.fn();

beforeEach(() => {
  vi.useFakeTimers();
  // Sizes and places are not known in this environment: nothing is observed or scrolled.
  Element.prototype.scrollIntoView = () => undefined;
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe(): void {}
      disconnect(): void {}
    },
  );
  [page, composer] = [document.createElement("div"), document.createElement("textarea")];
  document.body.replaceChildren(page, composer);
  post.mockClear();
  announce.mockClear();
});
afterEach(() => {
  render(null, page);
  vi.useRealTimers();
});

const draw = ({ cards = [], decisions = [], questions = [] }: Waiting): void =>
  void act(() => render(waitingCards({ cards, decisions, questions }, { post, announce, after: () => composer.focus() }), page));
const pass = (ms: number): void => void act(() => void vi.advanceTimersByTime(ms));
const named = (name: string): HTMLButtonElement | undefined =>
  [...page.querySelectorAll("button")].find(({ textContent }) => textContent.includes(name));
const click = (name: string): void => void act(() => named(name)?.click());
const disabled = (): string[] => [...page.querySelectorAll<HTMLElement>("[aria-disabled=true]")].map(({ textContent }) => textContent);

const edit = (over: Partial<EditCard> = {}): EditCard => ({
  ...{ id: "file:///a", question: "Change a?", note: "", lines: [{ sign: "+", text: "new" }], more: 0, added: 1, removed: 0, rev: 3 },
  ...over,
});
const approval = (id: string): Card => ({
  ...{ id, question: "Run?", asker: "", command: id, folder: "", reason: "", risk: "" },
  ...{ forSession: "", rules: [], pattern: "", rulesFolder: "", change: false, quarantined: false },
});

it("take an answer to a question once the card was in sight for a moment, and show that", () => {
  draw({ questions: [{ id: "q", text: "Which?", options: ["Blue", "Red"] }] });
  expect(disabled()).toEqual(["1Blue", "2Red", "Skip"]);
  answerCard(page, "2");
  click("Blue");
  expect(post).not.toHaveBeenCalled();
  pass(ARMED_AFTER_MS);
  expect(disabled()).toEqual([]);
  answerCard(page, "2");
  expect(post).toHaveBeenCalledExactlyOnceWith({ type: "answer", id: "q", words: "Red" });
});

it("take the decision on an edit once the card was in sight for a moment; one can look at once", () => {
  draw({ decisions: [edit()] });
  expect(disabled()).toEqual(["Accept", "Reject"]);
  click("Accept");
  answerCard(page, "n");
  expect(post).not.toHaveBeenCalled();
  click("Show in Editor");
  expect(post).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ action: "open" }));
  pass(ARMED_AFTER_MS);
  expect(disabled()).toEqual([]);
  click("Accept");
  expect(post).toHaveBeenLastCalledWith(expect.objectContaining({ action: "accept", uri: "file:///a", rev: 3 }));
});

it("take no answer in the moment after they changed, or moved to the place of another", () => {
  draw({ decisions: [edit(), edit({ id: "file:///b" })] });
  pass(ARMED_AFTER_MS);
  draw({ decisions: [edit({ id: "file:///b" })] });
  click("Accept");
  expect(post).not.toHaveBeenCalled();
  pass(ARMED_AFTER_MS);
  draw({ decisions: [edit({ id: "file:///b", rev: 4 })] });
  click("Accept");
  expect(post).not.toHaveBeenCalled();
  pass(ARMED_AFTER_MS);
  click("Accept");
  expect(post).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ uri: "file:///b", rev: 4 }));
});

it("keep a reason that is being written, with focus and selection, when their edits change", () => {
  draw({ decisions: [edit()] });
  click("with a Reason");
  const box = page.querySelector("textarea");
  expect(document.activeElement).toBe(box);
  Object.assign(box ?? {}, { value: "Too long." });
  box?.setSelectionRange(4, 8);
  draw({ decisions: [edit({ rev: 4 })] });
  expect(document.activeElement).toBe(page.querySelector("textarea"));
  expect([box?.isConnected, box?.value, box?.selectionStart, box?.selectionEnd]).toEqual([true, "Too long.", 4, 8]);
  click("and Send");
  expect(post).toHaveBeenLastCalledWith(expect.objectContaining({ action: "reject", rev: 4, words: "Too long." }));
});

it("show the rules that Always would store, word for word, before a second button stores them", () => {
  draw({ cards: [{ ...approval("first"), rules: ["npm test -- a", "npm run lint"], pattern: "npm test *" }] });
  pass(ARMED_AFTER_MS);
  click("Always…");
  expect(post).not.toHaveBeenCalled();
  expect([...page.querySelectorAll(".say pre")].map(({ textContent }) => textContent)).toEqual(["npm test -- a", "npm run lint", "npm test *"]);
  click("Always Allow in This Folder");
  expect(post).toHaveBeenLastCalledWith(expect.objectContaining({ id: "first", decision: "allowAlways" }));
  click("Allow with Any Further Words");
  expect(post).toHaveBeenLastCalledWith(expect.objectContaining({ id: "first", decision: "allowPattern" }));
});

it("keep the words of a denial that is sent too soon", () => {
  draw({ cards: [approval("first")] });
  pass(ARMED_AFTER_MS);
  click("with a Message");
  Object.assign(page.querySelector("textarea") ?? {}, { value: "Not now." });
  draw({ cards: [approval("first"), approval("second")] });
  click("and Send");
  expect([post.mock.calls, page.querySelector("textarea")?.value]).toEqual([[], "Not now."]);
  pass(ARMED_AFTER_MS);
  click("and Send");
  expect(post).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ decision: "deny", words: "Not now." }));
});

it("pass the focus on from a card that changes between its answer and its end", () => {
  draw({ decisions: [edit()] });
  click("with a Reason");
  Object.assign(page.querySelector("textarea") ?? {}, { value: "Too long." });
  named("and Send")?.focus();
  click("and Send");
  draw({ decisions: [edit({ rev: 4 })] });
  expect(document.activeElement).toBe(page.querySelector(".card"));
  draw({});
  expect(document.activeElement).toBe(composer);
});

it("move the focus from an answered approval to the next one, even if that one appears later", () => {
  draw({ cards: [approval("first")] });
  expect(announce).toHaveBeenLastCalledWith(expect.stringContaining("first"));
  page.querySelector<HTMLElement>(".card")?.focus();
  draw({});
  expect(document.activeElement).toBe(composer);
  draw({ cards: [approval("second")] });
  expect(document.activeElement?.textContent).toContain("second");
  draw({ cards: [approval("third")] });
  expect(document.activeElement?.textContent).toContain("third");

  draw({});
  composer.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
  draw({ cards: [approval("fourth")] });
  expect(document.activeElement, "news do not take the focus from one who writes").toBe(composer);
});

it("give an answer by key to the card with the focus, else to the first card that has it", () => {
  const question = (id: string, options: string[]): Question => ({ id, text: "Which?", options });
  draw({ questions: [question("one", ["Blue"]), question("two", ["Red", "Green"])] });
  pass(ARMED_AFTER_MS);
  expect(answerCard(page, "1")).toBe(true);
  expect(post).toHaveBeenLastCalledWith({ type: "answer", id: "one", words: "Blue" });
  expect(answerCard(page, "2")).toBe(true);
  expect(post).toHaveBeenLastCalledWith({ type: "answer", id: "two", words: "Green" });
  page.querySelectorAll<HTMLElement>(".card")[1]?.focus();
  expect(answerCard(page, "1")).toBe(true);
  expect(post).toHaveBeenLastCalledWith({ type: "answer", id: "two", words: "Red" });
  expect(answerCard(page, "y")).toBe(false);
  expect(answerCard(page, "3")).toBe(false);
});

it("read answers from keys with Alt alone", () => {
  const key = (code: string, more: KeyboardEventInit = {}) => answerOf(new KeyboardEvent("keydown", { code, altKey: true, ...more }));
  expect([key("KeyY"), key("KeyN"), key("Digit3")]).toEqual(["y", "n", "3"]);
  expect([key("KeyA"), key("Digit0"), key("KeyY", { ctrlKey: true }), key("KeyY", { altKey: false })]).toEqual(Array(4).fill(undefined));
});
