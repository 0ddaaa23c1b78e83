import { type EditCard, type FromPage, MAX_TEXT } from "../src/conversation/messages";
import { takeAnswers } from "./answerKeys";
import { arm } from "./arming";
import { button, h, icon } from "./dom";
import { counts } from "./items";
import { t } from "./strings";

type Edit = Extract<FromPage, { type: "edit" }>;

/** Reasons that are being written, by file: a card that is drawn again keeps its own. */
const reasons = new Map<string, string>();

/** Edits of a file that the agent waits for, with their lines and the decisions. */
export function editCard({ id, question, note, lines, more, added, removed, rev }: EditCard, post: (message: Edit) => void): HTMLElement {
  const act = (action: Edit["action"], words = ""): void => {
    // A written reason was meant.
    if (action === "open" || words !== "" || isArmed()) {
      reasons.delete(id);
      post({ type: "edit", action, uri: id, turn: "", rev, words });
    }
  };
  const decide = [button(t("accept"), "primary", () => act("accept")), button(t("reject"), "secondary", () => act("reject"))];
  const isArmed = arm(decide);
  const { say, words } = reasonBox(id, (reason) => act("reject", reason));
  const block = h("pre", "block diff", { tabindex: "0" });
  block.append(...lines.map(({ sign, text }) => h("span", sign === "+" ? "plus" : "minus", {}, `${sign} ${text}\n`)));
  const element = h(
    "section",
    "card",
    { role: "alertdialog", "aria-label": `${t("decision")}: ${question} ${t("addedRemoved", added, removed)}`, tabindex: "-1" },
    h("div", "row question", {}, icon("warning"), h("strong", "grow", {}, question), counts(added, removed)),
    lines.length === 0 ? undefined : block,
    more === 0 ? undefined : h("div", "faint note", {}, more === 1 ? t("moreLine") : t("moreLines", more)),
    note === "" ? undefined : h("div", "faint note", {}, note),
    h(
      "div",
      "buttons",
      {},
      ...decide,
      button(t("rejectWhy"), "secondary", () => {
        reasons.set(id, words.value);
        say.hidden = false;
        words.focus();
      }),
      button(t("showEdit"), "secondary", () => act("open")),
    ),
    say,
    h("div", "faint keys", {}, t("editKeys")),
  );
  takeAnswers(element, (key) => {
    if (key === "y" || key === "n") {
      act(key === "y" ? "accept" : "reject");
    }
    return key === "y" || key === "n";
  });
  return element;
}

/** Box for the reason of a rejection. It is hidden until a reason is begun. */
function reasonBox(id: string, send: (reason: string) => void): { say: HTMLElement; words: HTMLTextAreaElement } {
  const label = t("rejectWords");
  const words = h("textarea", "words", { rows: "2", maxlength: `${MAX_TEXT}`, placeholder: label, "aria-label": label });
  words.value = reasons.get(id) ?? "";
  words.addEventListener("input", () => reasons.set(id, words.value));
  const cancel = (): void => {
    reasons.delete(id);
    say.hidden = true;
  };
  const buttons = [button(t("rejectSend"), "secondary", () => send(words.value.trim())), button(t("cancel"), "secondary", cancel)];
  const say = h("div", "say", { hidden: !reasons.has(id) }, words, h("div", "buttons", {}, ...buttons));
  return { say, words };
}
