import type { ComponentChildren, JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { type Card, type EditCard, type FromPage, MAX_TEXT, type Question, type ViewState } from "../src/conversation/messages";
import { ARMED_AFTER_MS } from "../src/stores/approval";
import { oneLine, visible } from "../src/text/display";
import { takeAnswers } from "./answerKeys";
import { renderMarkdown, wordsOf } from "./markdown";
import { Button, Counts, Icon, Markdown } from "./parts";
import { t } from "./strings";

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
  readonly draw: (shown: Shown<T>) => JSX.Element;
  /** Words of a new card for a screen reader. */
  readonly spoken: (value: T) => string;
  readonly desk: Desk;
}

/**
 * Cards that wait for the user, oldest first. They take an answer only after they have been in sight, at the
 * same place, for a moment: a click that was meant for something else does not count.
 */
function Stack<T extends { readonly id: string }>({ values, draw: Draw, spoken, desk: { announce, after, post } }: StackProps<T>): JSX.Element {
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
  return (
    <div class="cards" ref={root}>
      {values.map((value) => (
        <Draw key={value.id} value={value} armed={armed} shownForMs={shownForMs} post={post} />
      ))}
    </div>
  );
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
  readonly children: ComponentChildren;
}

/** Frame of a card, which takes answers by key. */
function Frame({ id, role, name, take, children }: FrameProps): JSX.Element {
  const root = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (root.current !== null) {
      takeAnswers(root.current, take);
    }
  });
  return (
    <section class={role === "group" ? "card ask" : "card"} role={role} aria-label={name} tabIndex={-1} data-id={id} ref={root}>
      {children}
    </section>
  );
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
function Reason({ enabled = true, words, send, say, close }: ReasonProps): JSX.Element {
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  const end = (): void => {
    box.current?.closest<HTMLElement>(".card")?.focus();
    close();
  };
  return (
    <div class="say">
      <textarea class="words" rows={2} maxLength={MAX_TEXT} placeholder={words} aria-label={words} ref={box} />
      <div class="buttons">
        <Button
          class="secondary"
          enabled={enabled}
          run={() => {
            // Too soon: the words stay.
            if (enabled) {
              say(box.current?.value ?? "");
              end();
            }
          }}
        >
          {send}
        </Button>
        <Button class="secondary" run={end}>
          {t("cancel")}
        </Button>
      </div>
    </div>
  );
}

function Heading({ icon, words, children }: { readonly icon: string; readonly words: string; readonly children?: ComponentChildren }): JSX.Element {
  return (
    <div class={icon === "warning" ? "row question" : "row"}>
      <Icon name={icon} />
      <strong class="grow">{words}</strong>
      {children}
    </div>
  );
}

/** True for an answer by key that says yes or no, which is given. */
function takeYesNo(yes: () => void, no: () => void): (answer: string) => boolean {
  return (answer) => {
    const give = answer === "y" ? yes : answer === "n" ? no : undefined;
    give?.();
    return give !== undefined;
  };
}

type Decision = Extract<FromPage, { type: "approve" }>["decision"];

/** An approval that waits. */
function ApprovalCard({ value: card, armed, shownForMs, post }: Shown<Card>): JSX.Element {
  const { id, question, asker, command, folder, reason, risk, warning } = card;
  const [says, setSays] = useState(false);
  const answer = (decision: Decision, words = ""): void => {
    if (armed) {
      post({ type: "approve", id, decision, words, shownForMs: shownForMs() });
    }
  };
  const take = takeYesNo(
    () => answer("allowOnce"),
    () => answer("deny"),
  );
  const notes = [asker === "" ? "" : t("asker", asker), warning, reason, folder === "" ? "" : t("folder", folder)];
  return (
    <Frame id={id} role="alertdialog" name={`${t("approval")}: ${question}`} take={take}>
      <Heading icon="warning" words={question} />
      <pre class="block" tabIndex={0}>
        {command}
      </pre>
      {risk !== "" && (
        <div class="risk">
          <Icon name="warning" />
          <span class="grow">{risk}</span>
        </div>
      )}
      {notes.map((note) => note !== "" && <div class="faint note">{note}</div>)}
      <div class="buttons">
        {approvalChoices(card).map(([words, decision, title]) => (
          <Button
            class={words === t("leave") || (decision === "allowOnce" && risk === "" && !card.quarantined) ? "primary" : "secondary"}
            enabled={armed}
            title={title}
            run={() => (decision === "say" ? setSays(true) : answer(decision))}
          >
            {words}
          </Button>
        ))}
      </div>
      {says && (
        <Reason enabled={armed} words={t("denyWords")} send={t("denySend")} say={(words) => answer("deny", words)} close={() => setSays(false)} />
      )}
      <div class="faint keys">{t("keys")}</div>
    </Frame>
  );
}

/** Answers to an approval, in the order of their buttons. `say`: to be written. */
function approvalChoices({ forSession, always, change, quarantined }: Card): [words: string, decision: Decision | "say", title?: string][] {
  const look: [string, Decision][] = change ? [[t("showChange"), "change"]] : [];
  if (quarantined) {
    return [[t("leave"), "deny"], [t("moveBack"), "allowOnce", forSession], ...look];
  }
  const keep: [string, Decision][] = always ? [[t("always"), "always"]] : [];
  return [
    [t("allowOnce"), "allowOnce"],
    [t("allowSession"), "allowSession", forSession],
    ...keep,
    [t("deny"), "deny"],
    [t("denyWhy"), "say"],
    ...look,
  ];
}

/** Edits of a file that the agent waits for, with their lines and the decisions. */
function DecisionCard({ value: card, armed, post }: Shown<EditCard>): JSX.Element {
  const { id, question, note, lines, more, added, removed, rev } = card;
  const [says, setSays] = useState(false);
  const act = (action: Extract<FromPage, { type: "edit" }>["action"], words = ""): void => {
    // A written reason was meant.
    if (action === "open" || words !== "" || armed) {
      post({ type: "edit", action, uri: id, turn: "", rev, words });
    }
  };
  const take = takeYesNo(
    () => act("accept"),
    () => act("reject"),
  );
  const choices: [words: string, needsArming: boolean, run: () => void][] = [
    [t("accept"), true, () => act("accept")],
    [t("reject"), true, () => act("reject")],
    [t("rejectWhy"), false, () => setSays(true)],
    [t("showEdit"), false, () => act("open")],
  ];
  return (
    <Frame id={id} role="alertdialog" name={decisionName(card)} take={take}>
      <Heading icon="warning" words={question}>
        <Counts added={added} removed={removed} />
      </Heading>
      {lines.length > 0 && (
        <pre class="block diff" tabIndex={0}>
          {lines.map(({ sign, text }) => (
            <span class={sign === "+" ? "plus" : "minus"}>{`${sign} ${text}\n`}</span>
          ))}
        </pre>
      )}
      {more > 0 && <div class="faint note">{more === 1 ? t("moreLine") : t("moreLines", more)}</div>}
      {note !== "" && <div class="faint note">{note}</div>}
      <div class="buttons">
        {choices.map(([words, needsArming, run], at) => (
          <Button class={at === 0 ? "primary" : "secondary"} enabled={armed || !needsArming} run={run}>
            {words}
          </Button>
        ))}
      </div>
      {says && <Reason words={t("rejectWords")} send={t("rejectSend")} say={(words) => act("reject", words.trim())} close={() => setSays(false)} />}
      <div class="faint keys">{t("editKeys")}</div>
    </Frame>
  );
}

/** A question of the agent: answers to choose from, and a box for other words. */
function QuestionCard({ value: question, armed, post }: Shown<Question>): JSX.Element {
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
  return (
    <Frame id={id} role="group" name={questionName(question)} take={take}>
      <Heading icon="comment-discussion" words={t("question")} />
      <Markdown text={text} />
      <Choices options={options} enabled={armed} choose={say} />
      <textarea
        class="words"
        rows={1}
        maxLength={MAX_TEXT}
        placeholder={t("answerWords")}
        aria-label={t("answerWords")}
        ref={box}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            send();
          }
        }}
      />
      <div class="buttons">
        <Button class="primary" run={send}>
          {t("answer")}
        </Button>
        <Button class="secondary" enabled={armed} run={() => say("")}>
          {t("skip")}
        </Button>
      </div>
      {options.length > 0 && <div class="faint keys">{t("answerKeys", options.length)}</div>}
    </Frame>
  );
}

interface ChoicesProps {
  readonly options: readonly string[];
  readonly enabled: boolean;
  readonly choose: (option: string) => void;
}

function Choices({ options, enabled, choose }: ChoicesProps): JSX.Element | null {
  return options.length === 0 ? null : (
    <div class="choices">
      {options.map((option, index) => (
        <Button class="choice" enabled={enabled} run={() => choose(option)}>
          <span class="faint" aria-hidden="true">
            {index + 1}
          </span>
          <span class="grow">{visible(option)}</span>
        </Button>
      ))}
    </div>
  );
}

/** All that waits for the user. */
export function WaitingCards({
  state,
  desk,
}: {
  readonly state: Pick<ViewState, "cards" | "decisions" | "questions">;
  readonly desk: Desk;
}): JSX.Element {
  return (
    <>
      <Stack
        values={state.cards}
        draw={ApprovalCard}
        spoken={({ question, risk, command }) => `${t("approval")}. ${question} ${risk} ${command}`}
        desk={desk}
      />
      <Stack values={state.decisions} draw={DecisionCard} spoken={decisionName} desk={desk} />
      <Stack values={state.questions} draw={QuestionCard} spoken={questionName} desk={desk} />
    </>
  );
}

function decisionName({ question, added, removed }: EditCard): string {
  return `${t("decision")}: ${question} ${t("addedRemoved", added, removed)}`;
}

function questionName({ text }: Question): string {
  return `${t("question")}: ${oneLine(wordsOf(renderMarkdown(text)), 2_000)}`;
}
