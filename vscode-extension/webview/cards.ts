import { l10n } from "vscode";
import type { ComponentChild, FunctionComponent, RefObject, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { type Card, type EditCard, type FromPage, MAX_TEXT, type Question, type ViewState } from "../src/conversation/messages";
import { ARMED_AFTER_MS } from "../src/stores/approval";
import { oneLine, visible } from "../src/text/display";
import { takeAnswers } from "./answerKeys";
import { renderMarkdown, wordsOf } from "./markdown";
import { armedIf, button, counts, h, icon, markdown, part } from "./parts";

type Post = (message: Extract<FromPage, { type: "answer" | "approve" | "edit" }>) => void;

/** Properties of a card of a stack. */
interface Shown<T> {
  readonly value: T;
  /** An answer counts. */
  readonly armed: boolean;
  /** Time for which the card has been where it is, in milliseconds. */
  readonly shownForMs: () => number;
  readonly post: Post;
}

/** Effects of cards on the rest of the page. */
export interface Desk {
  readonly post: Post;
  readonly announce: (words: string) => void;
  /** Takes the focus when the card that had it is gone, and no other waits. */
  readonly after: () => void;
}

interface StackProps<T> {
  readonly values: readonly T[];
  readonly draw: FunctionComponent<Shown<T>>;
  /** Words of a new card for a screen reader. */
  readonly spoken: (value: T) => string;
  readonly desk: Desk;
}

/**
 * Cards that wait for the user, oldest first. They take an answer only after they have been in sight, at the
 * same place, for a moment: a click that was meant for something else does not count.
 */
function Stack<T extends { readonly id: string }>({ values, draw, spoken, desk: { announce, after, post } }: StackProps<T>): VNode {
  const root = useRef<HTMLDivElement>(null);
  const { armed, shownForMs } = useArming(root, JSON.stringify(values));
  const known = useRef<ReadonlySet<string>>(new Set());
  const ids = new Set(values.map(({ id }) => id));
  const news = values.filter(({ id }) => !known.current.has(id));
  const focused = root.current?.contains(document.activeElement) === true ? document.activeElement?.closest<HTMLElement>(".card") : undefined;
  const losesFocus = focused != null && !ids.has(focused.dataset["id"] ?? "");
  const passedOn = usePassedOn();
  useLayoutEffect(() => {
    known.current = ids;
    news.forEach((value) => announce(spoken(value)));
    if (losesFocus || (news.length > 0 && passedOn.current)) {
      const next = root.current?.querySelector<HTMLElement>(".card");
      passedOn.current = next == null;
      (next == null ? after : () => next.focus())();
    }
  });
  const cards = values.map((value) => part(draw, { key: value.id, value, armed, shownForMs, post }));
  return h("div", "cards", { ref: root }, ...cards);
}

/** Arms the cards of a stack a moment after they changed, moved, or came into sight. */
function useArming(root: RefObject<HTMLElement | null>, content: string): Pick<Shown<unknown>, "armed" | "shownForMs"> {
  /** Content for which an answer counts. */
  const [armedFor, setArmedFor] = useState<string>();
  const since = useRef(0);
  useLayoutEffect(() => {
    let timer: number | undefined;
    const disarm = (): void => {
      since.current = performance.now();
      setArmedFor(undefined);
      clearTimeout(timer);
      timer = setTimeout(() => setArmedFor(content), ARMED_AFTER_MS);
    };
    disarm();
    const sizes = new ResizeObserver(disarm);
    if (root.current !== null) {
      sizes.observe(root.current);
    }
    document.addEventListener("visibilitychange", disarm);
    return () => {
      clearTimeout(timer);
      sizes.disconnect();
      document.removeEventListener("visibilitychange", disarm);
    };
  }, [content]);
  return { armed: armedFor === content, shownForMs: () => performance.now() - since.current };
}

/** True while the last card passed the focus on, and the user has done nothing since: it goes to the next card. */
function usePassedOn(): { current: boolean } {
  const passedOn = useRef(false);
  useEffect(() => {
    const act = (): void => {
      passedOn.current = false;
    };
    const actions = ["keydown", "pointerdown"];
    actions.forEach((action) => document.addEventListener(action, act, { capture: true }));
    return () => actions.forEach((action) => document.removeEventListener(action, act, { capture: true }));
  }, []);
  return passedOn;
}

interface FrameProps {
  readonly id: string;
  readonly role: "alertdialog" | "group";
  readonly name: string;
  readonly take: (answer: string) => boolean;
  readonly children?: ComponentChild[];
}

/** Frame of a card, which takes answers by key. */
function Frame({ id, role, name, take, children }: FrameProps): VNode {
  const root = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (root.current !== null) {
      takeAnswers(root.current, take);
    }
  });
  const attributes = { role, "aria-label": name, tabindex: -1, "data-id": id, ref: root };
  return h("section", role === "group" ? "card ask" : "card", attributes, children);
}

interface ReasonProps {
  /** The reason can be sent. */
  readonly enabled?: boolean;
  readonly words: string;
  readonly send: string;
  readonly say: (reason: string) => void;
  readonly close: () => void;
}

/** Box for the reason of an answer. It has the focus when it opens, and its card when it closes. */
function Reason({ enabled = true, words, send, say, close }: ReasonProps): VNode {
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  const end = (): void => {
    box.current?.closest<HTMLElement>(".card")?.focus();
    close();
  };
  const sendIt = (): void => {
    // Too soon: the words stay.
    if (enabled) {
      say(box.current?.value ?? "");
      end();
    }
  };
  const text = h("textarea", "words", { rows: 2, maxlength: MAX_TEXT, placeholder: words, "aria-label": words, ref: box });
  return h(
    "div",
    "say",
    {},
    text,
    h("div", "buttons", {}, button(send, "secondary", sendIt, armedIf(enabled)), button(l10n.t("Cancel"), "secondary", end)),
  );
}

function heading(sign: string, words: string, more?: VNode): VNode {
  return h("div", sign === "warning" ? "row question" : "row", {}, icon(sign), h("strong", "grow", {}, words), more);
}

/** Takes an answer by key that says yes or no. */
function takeYesNo(yes: () => void, no: () => void): (answer: string) => boolean {
  return (answer) => {
    const give = answer === "y" ? yes : answer === "n" ? no : undefined;
    give?.();
    return give !== undefined;
  };
}

type Decision = Extract<FromPage, { type: "approve" }>["decision"];

/** An approval that waits. */
function ApprovalCard({ value: card, armed, shownForMs, post }: Shown<Card>): VNode {
  const { id, question, asker, command, folder, reason, risk, quarantined } = card;
  const [opened, setOpened] = useState<"always" | "say">();
  const answer = (decision: Decision, words = ""): void => {
    if (armed) {
      post({ type: "approve", id, decision, words, shownForMs: shownForMs() });
    }
  };
  const yes = (): void => answer("allowOnce");
  const no = (): void => answer("deny");
  const notes = [asker === "" ? "" : l10n.t("asked by {0}", asker), reason, folder === "" ? "" : l10n.t("in {0}", folder)];
  const reasonBox = {
    enabled: armed,
    words: l10n.t("Message to the agent: why not, or what instead"),
    send: l10n.t("Deny and Send"),
    say: (words: string) => answer("deny", words),
    close: () => setOpened(undefined),
  };
  const choices = approvalChoices(card).map(([words, decision, title], at) => {
    const className = at === 0 && (quarantined || risk === "") ? "primary" : "secondary";
    const opens = decision === "say" || decision === "always";
    return button(words, className, () => (opens ? setOpened(decision) : answer(decision)), {
      ...armedIf(armed),
      ...(opens && { "aria-expanded": opened === decision }),
      title,
    });
  });
  return part(
    Frame,
    { id, role: "alertdialog", name: `${l10n.t("Approval needed")}: ${question}`, take: takeYesNo(yes, no) },
    heading("warning", question),
    notes.map((note) => note !== "" && h("div", "faint note", {}, note)),
    // Next to the buttons: in a small view it is in sight with them.
    h("pre", "block", { tabindex: 0 }, command),
    risk !== "" && h("div", "risk", {}, icon("warning"), h("span", "grow", {}, risk)),
    h("div", "buttons", {}, ...choices),
    opened === "say" && part(Reason, reasonBox),
    opened === "always" && part(Rules, { card, armed, answer }),
    h("div", "faint keys", {}, l10n.t("Alt+Y allows · Alt+N denies")),
  );
}

interface RulesProps {
  readonly card: Card;
  readonly armed: boolean;
  readonly answer: (decision: Decision) => void;
}

/** The rules that "always" would store, word for word. They have the focus when they open, so that they are in sight. */
function Rules({ card: { rules, pattern, rulesFolder }, armed, answer }: RulesProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const block = (text: string): VNode => h("pre", "block", { tabindex: 0 }, text);
  const choice = (words: string, decision: Decision): VNode => button(words, "secondary", () => answer(decision), armedIf(armed));
  return h(
    "div",
    "say",
    { role: "group", "aria-label": l10n.t("Word for word:"), tabindex: -1, ref: box },
    h("div", "faint note", {}, l10n.t("Word for word:")),
    ...rules.map(block),
    rulesFolder !== "" && h("div", "faint note", {}, l10n.t("in {0}", rulesFolder)),
    h(
      "div",
      "buttons",
      {},
      choice(rulesFolder === "" ? l10n.t("Always Allow in This Folder") : l10n.t("Always Allow in the Folder It Enters"), "allowAlways"),
    ),
    pattern !== "" && block(pattern),
    pattern !== "" && h("div", "buttons", {}, choice(l10n.t("Allow with Any Further Words"), "allowPattern")),
  );
}

/** Answers to an approval, in the order of their buttons. `say`: to be written. */
function approvalChoices({ forSession, rules, change, quarantined }: Card): [words: string, decision: Decision | "always" | "say", title?: string][] {
  const look: [string, Decision][] = change ? [[l10n.t("Show the Change"), "change"]] : [];
  if (quarantined) {
    return [[l10n.t("Leave in Quarantine"), "deny"], [l10n.t("Move to Workspace"), "allowOnce", forSession], ...look];
  }
  const keep: [string, "always"][] = rules.length > 0 ? [[l10n.t("Always…"), "always"]] : [];
  return [
    [l10n.t("Allow Once"), "allowOnce"],
    [l10n.t("Allow for This Session"), "allowSession", forSession],
    ...keep,
    [l10n.t("Deny"), "deny"],
    [l10n.t("Deny with a Message…"), "say"],
    ...look,
  ];
}

/** Edits of a file that the agent waits for, with their lines and the decisions. */
function DecisionCard({ value: card, armed, post }: Shown<EditCard>): VNode {
  const { id, question, note, lines, more, added, removed, rev } = card;
  const [says, setSays] = useState(false);
  const act = (action: Extract<FromPage, { type: "edit" }>["action"], words = ""): void => {
    // A written reason was meant.
    if (action === "open" || words !== "" || armed) {
      post({ type: "edit", action, uri: id, turn: "", rev, words });
    }
  };
  const accept = (): void => act("accept");
  const reject = (): void => act("reject");
  const reason = {
    words: l10n.t("Reason for the agent"),
    send: l10n.t("Reject and Send"),
    say: (words: string) => act("reject", words.trim()),
    close: () => setSays(false),
  };
  const diff = lines.map(({ sign, text }) => h("span", sign === "+" ? "plus" : "minus", {}, `${sign} ${text}\n`));
  return part(
    Frame,
    { id, role: "alertdialog", name: decisionName(card), take: takeYesNo(accept, reject) },
    heading("warning", question, counts(added, removed)),
    lines.length > 0 && h("pre", "block diff", { tabindex: 0 }, ...diff),
    more > 0 && h("div", "faint note", {}, more === 1 ? l10n.t("1 more line") : l10n.t("{0} more lines", more)),
    note !== "" && h("div", "faint note", {}, note),
    h(
      "div",
      "buttons",
      {},
      button(l10n.t("Accept"), "primary", accept, armedIf(armed)),
      button(l10n.t("Reject"), "secondary", reject, armedIf(armed)),
      button(l10n.t("Reject with a Reason…"), "secondary", () => setSays(true)),
      button(l10n.t("Show in Editor"), "secondary", () => act("open")),
    ),
    says && part(Reason, reason),
    h("div", "faint keys", {}, l10n.t("Alt+Y accepts · Alt+N rejects")),
  );
}

/** A question of the agent: answers to choose from, and a box for other words. */
function QuestionCard({ value: question, armed, post }: Shown<Question>): VNode {
  const { id, text, options } = question;
  const box = useRef<HTMLTextAreaElement>(null);
  const say = (words: string): void => {
    if (armed) {
      post({ type: "answer", id, words });
    }
  };
  const send = (): void => {
    const words = box.current?.value ?? "";
    if (words.trim() !== "") {
      post({ type: "answer", id, words });
    }
  };
  const take = (answer: string): boolean => {
    const option = options[Number(answer) - 1];
    if (option !== undefined) {
      say(option);
    }
    return option !== undefined;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  };
  const choices = options.map((option, index) => {
    const words = [h("span", "faint", { "aria-hidden": "true" }, index + 1), h("span", "grow", {}, visible(option))];
    return button(words, "choice", () => say(option), armedIf(armed));
  });
  const label = l10n.t("Your answer · Enter sends");
  return part(
    Frame,
    { id, role: "group", name: questionName(question), take },
    heading("comment-discussion", l10n.t("The agent asks")),
    markdown(text),
    options.length > 0 && h("div", "choices", {}, ...choices),
    h("textarea", "words", { rows: 1, maxlength: MAX_TEXT, placeholder: label, "aria-label": label, ref: box, onKeyDown }),
    h(
      "div",
      "buttons",
      {},
      button(l10n.t("Answer"), "primary", send),
      button(l10n.t("Skip"), "secondary", () => say(""), armedIf(armed)),
    ),
    options.length > 0 && h("div", "faint keys", {}, l10n.t("Alt+1 to Alt+{0} choose here", options.length)),
  );
}

/** All that waits for the user. */
export function waitingCards({ cards, decisions, questions }: Pick<ViewState, "cards" | "decisions" | "questions">, desk: Desk): VNode[] {
  const approvalName = ({ question, risk, command }: Card): string => `${l10n.t("Approval needed")}. ${question} ${risk} ${command}`;
  return [
    part(Stack<Card>, { values: cards, draw: ApprovalCard, spoken: approvalName, desk }),
    part(Stack<EditCard>, { values: decisions, draw: DecisionCard, spoken: decisionName, desk }),
    part(Stack<Question>, { values: questions, draw: QuestionCard, spoken: questionName, desk }),
  ];
}

function decisionName({ question, added, removed }: EditCard): string {
  return `${l10n.t("Decision needed")}: ${question} ${l10n.t("{0} added, {1} removed", added, removed)}`;
}

function questionName({ text }: Question): string {
  return `${l10n.t("The agent asks")}: ${oneLine(wordsOf(renderMarkdown(text)), 2_000)}`;
}
