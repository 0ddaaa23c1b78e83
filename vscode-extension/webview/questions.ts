import { type FromPage, MAX_TEXT, type Question } from "../src/conversation/messages";
import { oneLine, visible } from "../src/text/display";
import { takeAnswers } from "./answerKeys";
import { arm } from "./arming";
import { button, h, icon } from "./dom";
import { renderMarkdown, wordsOf } from "./markdown";
import { t } from "./strings";

type Answer = Extract<FromPage, { type: "answer" }>;

/** A question of the agent: answers to choose from, and a box for other words. */
export function questionCard({ id, text, options }: Question, post: (message: Answer) => void): HTMLElement {
  const say = (words: string): void => {
    if (isArmed()) {
      post({ type: "answer", id, words });
    }
  };
  const words = oneLine(wordsOf(renderMarkdown(text)), 2_000);
  const box = h("textarea", "words", { rows: "1", maxlength: `${MAX_TEXT}`, placeholder: t("answerWords"), "aria-label": t("answerWords") });
  const send = (): void => {
    if (box.value.trim() !== "") {
      post({ type: "answer", id, words: box.value });
    }
  };
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  });
  const choices = options.map((option, index) => {
    const own = button("", "choice", () => say(option));
    own.append(h("span", "faint", { "aria-hidden": "true" }, `${index + 1}`), h("span", "grow", {}, visible(option)));
    return own;
  });
  const skip = button(t("skip"), "secondary", () => say(""));
  const isArmed = arm([...choices, skip]);
  const element = h(
    "section",
    "card ask",
    { role: "group", "aria-label": `${t("question")}: ${words}`, tabindex: "-1" },
    h("div", "row", {}, icon("comment-discussion"), h("strong", "grow", {}, t("question"))),
    h("div", "markdown", {}, renderMarkdown(text)),
    ...(choices.length === 0 ? [] : [h("div", "choices", {}, ...choices)]),
    box,
    h("div", "buttons", {}, button(t("answer"), "primary", send), skip),
    choices.length === 0 ? undefined : h("div", "faint keys", {}, t("answerKeys", choices.length)),
  );
  takeAnswers(element, (key) => {
    const option = options[Number(key) - 1];
    if (option !== undefined) {
      say(option);
    }
    return option !== undefined;
  });
  return element;
}
