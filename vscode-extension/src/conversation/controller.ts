import type { TaskRequests } from "../commands/taskRequests";
import { reasonOf } from "../daemon/agent";
import type { Attachment } from "../protocol";
import type { Disposable } from "../stores/emitter";
import type { Reading } from "../stores/reading";
import type { Asking } from "../stores/approval";
import type { State } from "../stores/state";
import type { News, Store } from "../stores/store";
import { type CallPlace, toolKey } from "../stores/transcript";
import { decideFile, pendingOf } from "./edits";
import { ApprovalAnswers } from "./approvalAnswers";
import { Composing, isOfComposer } from "./composing";
import { type ItemFacts, copyText, turnItems } from "./items";
import type { ComposerMemory } from "./memory";
import { type FromPage, type Item, VERSION, readMessage } from "./messages";
import type { Page, Port } from "./port";
import { type Around, footerOf, viewState } from "./state";
import { restoredTurns } from "./restored";
import { Sync } from "./sync";

/** At most one repaint in this many milliseconds: a stream may bring hundreds of pieces a second. */
export const REPAINT_MS = 50;

interface Parts extends Around {
  readonly store: Store;
  readonly asking: Asking;
  readonly tasks: TaskRequests;
  readonly memory: ComposerMemory;
}

/** Pages that are read at most to reach a call. */
const MOST_PAGES = 20;

/** Conversation of the session in view: sends the page what changed, and does what the page asks for. */
export class ConversationController implements Disposable {
  readonly #sync = new Sync();
  readonly #subscriptions: readonly Disposable[];
  /** Sent items of each turn, with the values that made them. */
  #drawn: ReadonlyMap<string, { readonly key: readonly unknown[]; readonly items: readonly Item[] }> = new Map();
  readonly #answers: ApprovalAnswers;
  readonly #composing: Composing;
  #page: Page | undefined;
  /** The page has asked for its content. What was posted before may be lost. */
  #ready = false;
  /** Session that the page shows; empty for none. */
  #session = "";
  #fresh = false;
  #reminders = false;
  #focus = false;
  /** Item to which the page leads as soon as it has it. */
  #show = "";
  #sent = "";
  #stale = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly parts: Parts,
    private readonly port: Port,
  ) {
    this.#answers = new ApprovalAnswers(parts.store, parts.asking, port);
    this.#composing = new Composing(parts.memory, parts.tasks, port, {
      session: () => this.#session,
      post: (message) => this.#page?.post(message),
      changed: () => this.#flush(),
    });
    const { store } = parts;
    this.#subscriptions = [
      store.on(["status", "sessions", "plans", "transcript", "reviews", "approvals", "modes", "questions"], (news) => this.#follow(news)),
      parts.reading.onDidChange(() => this.#schedule()),
      parts.servers.onDidChange(() => this.#schedule()),
    ];
  }

  get #state(): State {
    return this.parts.store.state;
  }

  dispose(): void {
    clearTimeout(this.#timer);
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  /** A page came into sight, or none is. */
  show(page: Page | undefined): void {
    this.#page = page;
    this.#ready = false;
    this.#sent = "";
    this.#answers.clear();
    if (page === undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
  }

  /** The active editor or its selection changed. */
  contextChanged(): void {
    this.#schedule();
  }

  /** Shows or hides what the agent was told besides the words of the user. */
  showReminders(shown: boolean): void {
    this.#reminders = shown;
    this.#page?.post({ v: VERSION, type: "reminders", shown });
  }

  /** Gives an answer by key to the page, which knows what has been in sight for long enough. */
  answer(answer: string): void {
    this.#page?.post({ v: VERSION, type: "answer", answer });
  }

  /** Puts the focus into the composer, or on a call; a page that is not there yet gets it when it is. */
  focus(call?: CallPlace): void {
    this.#focus = true;
    if (call !== undefined) {
      void this.#goTo(toolKey(call));
    }
    this.#flush();
  }

  /** Leads to a call, which can be in an earlier part of the conversation. */
  async #goTo(id: string): Promise<void> {
    const { reading } = this.parts;
    const session = this.#session;
    for (let pages = 0; pages < MOST_PAGES && reading.get(id) === undefined && reading.beyond(session).earlier === "more"; pages += 1) {
      await reading.load(session, "earlier");
    }
    const entry = reading.get(id);
    if (entry?.kind === "tool") {
      this.#show = entry.parent ?? id;
      this.#flush();
    }
  }

  /** Begins a new conversation, which has a session from its first message on. A running task gets the text instead. */
  begin(text = "", attachments: readonly Attachment[] = []): void {
    const { memory } = this.parts;
    const { sessions } = this.#state;
    this.#fresh = !sessions.running;
    const session = this.#fresh ? "" : (sessions.current ?? "");
    this.#composing.tray.restore(session, memory.attachments(session));
    this.focus();
    const draft = memory.draft(session);
    if (text !== "") {
      const added = draft === "" ? text : `\n${text}`;
      if (this.#page !== undefined && this.#ready) {
        this.#page.post({ v: VERSION, type: "insert", text: added });
      } else {
        memory.setDraft(session, draft + added);
      }
    }
    this.#composing.attach(session, attachments);
  }

  receive(value: unknown): void {
    const message = readMessage(value);
    if (message === undefined) {
      this.port.log("The conversation view sent a message that is not understood.");
      return;
    }
    void this.#do(message);
  }

  async #do(message: FromPage): Promise<void> {
    const { memory, tasks } = this.parts;
    const { sessions } = this.#state;
    if (isOfComposer(message)) {
      await this.#composing.take(message);
      return;
    }
    switch (message.type) {
      case "ready":
        this.#ready = true;
        this.#composing.pageBegan();
        void this.parts.reading.load(this.#session, "newest");
        this.#page?.post({ v: VERSION, type: "setup", history: memory.history });
        this.#page?.post({ v: VERSION, type: "reminders", shown: this.#reminders });
        this.#reset();
        break;
      case "gap":
        this.#reset();
        break;
      case "send":
        if (!this.parts.reading.hasNewest) {
          this.#stale = true;
          void this.parts.reading.load(this.#session, "newest");
        }
        await this.#composing.send(message.text, message.context, message.queue);
        break;
      case "server":
        this.port.run("cairn.chooseModel", message.address);
        break;
      case "again": {
        const turn = sessions.turn;
        if (turn?.turnId === message.turn && turn.phase.kind === "ended" && turn.text !== "") {
          await this.#composing.again(turn);
        }
        break;
      }
      case "openSession":
        this.port.run("cairn.openSession", message.id);
        break;
      case "focused":
        this.port.focused(message.on);
        break;
      case "page":
        if (message.direction === "newest") {
          this.#stale = true;
        }
        await this.parts.reading.load(this.#session, message.direction);
        break;
      case "stop":
        if (sessions.turn?.phase.kind === "started") {
          await this.#try(tasks.cancel(sessions.turn));
        }
        break;
      case "back":
        this.#fresh = false;
        this.#flush();
        break;
      case "approve":
        this.#answers.give(message);
        break;
      case "queue":
        await this.#try(message.action === "send" ? tasks.sendQueued(this.#session, message.id) : tasks.dropQueued(this.#session, message.id));
        break;
      case "open":
        this.port.open(message.target);
        break;
      case "output":
        this.port.run("cairn.showOutput", message.id);
        break;
      case "copy":
        copyText(this.port, this.parts.reading.get(message.id), this.#turns());
        break;
      case "resend": {
        const entry = this.parts.reading.get(message.id);
        if (entry?.kind === "message" && entry.role === "user") {
          await this.#composing.resend(entry);
        }
        break;
      }
      case "restore": {
        const turns = [...this.#turns().keys()];
        const from = turns.indexOf(this.parts.reading.get(message.id)?.turn ?? "");
        this.port.run("cairn.restoreCheckpoint", from < 0 ? undefined : turns.slice(from));
        break;
      }
      case "answer":
        this.parts.asking.answer(message.id, message.words);
        break;
      case "edit":
        decideFile(this.#state.reviews, this.port, message);
        break;
      case "command":
        this.port.run(message.name);
        break;
      case "alive":
        break;
    }
  }

  async #try(request: Promise<void>): Promise<void> {
    try {
      await request;
    } catch (error) {
      this.#page?.post({ v: VERSION, type: "failed", text: "", reason: reasonOf(error) });
    }
  }

  #follow({ before, change }: News): void {
    const { sessions, approvals } = this.#state;
    if (change.kind === "opened" || change.kind === "connected" || change.kind === "removed") {
      this.#stale = true;
      this.#fresh = false;
    } else if (sessions !== before.sessions && (sessions.current !== before.sessions.current || sessions.running)) {
      // A turn that begins is what the user wants to see.
      this.#fresh = false;
    }
    for (const { approvalId } of before.approvals.waiting) {
      if (!approvals.waiting.some((waiting) => waiting.approvalId === approvalId)) {
        this.#answers.settled(approvalId);
      }
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#page !== undefined) {
      this.#timer ??= setTimeout(() => this.#flush(), REPAINT_MS);
    }
  }

  #turns(): ReturnType<Reading["turnsOf"]> {
    return this.parts.reading.turnsOf(this.#session);
  }

  /** Sends everything, as to a page that has nothing. */
  #reset(): void {
    this.#stale = true;
    this.#sent = "";
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const page = this.#page;
    if (page === undefined) {
      return;
    }
    const context = this.port.context();
    const shown = viewState(this.#state, this.parts, this.#fresh, context);
    const moved = shown.session !== this.#session;
    this.#session = shown.session;
    this.#composing.tray.restore(shown.session, this.parts.memory.attachments(shown.session));
    const chip = this.#composing.tray.covers(shown.session, context) ? undefined : shown.chip;
    const state = { ...shown, chip, chips: this.#composing.tray.chips(shown.session) };
    this.#answers.shown(state.cards.map(({ id }) => id));
    const fresh = moved || this.#stale;
    const message = this.#sync.message(this.#items(), fresh);
    if (message !== undefined) {
      page.post(message);
    }
    if (fresh) {
      page.post({ v: VERSION, type: "draft", session: state.session, text: this.parts.memory.draft(state.session) });
    }
    this.#stale = false;
    const text = JSON.stringify(state);
    if (text !== this.#sent) {
      this.#sent = text;
      page.post({ v: VERSION, type: "state", state });
      this.port.changed(state);
    }
    if (this.#focus) {
      this.#focus = false;
      page.post({ v: VERSION, type: "focus" });
    }
    if (this.#show !== "") {
      page.post({ v: VERSION, type: "show", id: this.#show });
      this.#show = "";
    }
  }

  /** Items of each turn; those of a turn of which nothing changed are the same. */
  #items(): ReadonlyMap<string, readonly Item[]> {
    const state = this.#state;
    const turns = this.#turns();
    const restored = restoredTurns(turns);
    const facts: ItemFacts = {
      restored: (turn) => restored.get(turn),
      pending: (uri, turn) => pendingOf(state.reviews, uri, turn),
      footer: (end, files) => footerOf(state, end, files),
    };
    const before = this.#drawn;
    this.#drawn = new Map(
      [...turns].map(([turn, entries]) => {
        // Only the newest turn offers what can be done next.
        const key = [entries, state.reviews, restored.get(turn), turn === state.sessions.turn?.turnId ? state : undefined];
        const last = before.get(turn);
        const isSame = last?.key.every((part, at) => part === key[at]) === true;
        return [turn, isSame ? last : { key, items: turnItems(entries, facts) }];
      }),
    );
    return new Map([...this.#drawn].map(([turn, { items }]) => [turn, items]));
  }
}
