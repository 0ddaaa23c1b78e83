import type { TaskRequests } from "../commands/taskRequests";
import { reasonOf } from "../daemon/agent";
import type { Attachment, MessageNotification } from "../protocol";
import type { Disposable } from "../stores/emitter";
import type { Reading } from "../stores/reading";
import type { Asking } from "../stores/approval";
import type { Sessions } from "../stores/session";
import type { State } from "../stores/state";
import type { News, Store } from "../stores/store";
import { type CallPlace, type Entry, type Turns, messageKey, toolKey } from "../stores/transcript";
import { decideFile, pendingOf } from "./edits";
import { ApprovalAnswers } from "./approvalAnswers";
import { Composing, isOfComposer } from "./composing";
import { type ItemFacts, copyText, messageVersion, turnItems } from "./items";
import type { ComposerMemory } from "./memory";
import { type FromPage, VERSION, readMessage } from "./messages";
import type { Page, Port } from "./port";
import { type Around, footerOf, viewState } from "./state";
import { restoredTurns } from "./restored";
import { pageStrings } from "./strings";
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
  readonly #dirty = new Set<string>();
  #restored: ReadonlyMap<string, number> = new Map();
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
  /** The newest entries were part of what the page was sent. */
  #hadNewest = true;
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
      parts.reading.onDidChange(() => this.#touch(...this.#sync.turns, ...this.#turns().keys())),
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

  /** Takes over a text that was written elsewhere; false if that session is not in view, or has a draft. */
  adopt(session: string, text: string): boolean {
    const { memory } = this.parts;
    if (this.#page === undefined || session !== this.#session || memory.draft(session) !== "") {
      return false;
    }
    memory.setDraft(session, text);
    this.#page.post({ v: VERSION, type: "draft", session, text });
    return true;
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
        this.#page?.post({ v: VERSION, type: "setup", strings: pageStrings, history: memory.history });
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
        this.#touch(...[this.#answers.give(message) ?? []].flat());
        break;
      case "queue":
        await this.#queued(message);
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

  async #queued({ action, id, text }: Extract<FromPage, { type: "queue" }>): Promise<void> {
    const { tasks } = this.parts;
    switch (action) {
      case "send":
        await this.#try(tasks.sendQueued(this.#session, id));
        break;
      case "drop":
        await this.#try(tasks.dropQueued(this.#session, id));
        break;
      case "edit":
        await this.#try(tasks.editQueued(this.#session, id, text));
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
    const { sessions, transcript, reviews, approvals } = this.#state;
    if (change.kind === "opened" || change.kind === "connected" || change.kind === "removed") {
      this.#stale = true;
      this.#fresh = false;
    } else if (!(change.kind === "message" && this.#grow(before, change.message))) {
      this.#compareTurns(before.transcript.turnsOf(this.#session), transcript.turnsOf(this.#session));
    }
    if (sessions !== before.sessions) {
      this.#followSessions(before.sessions);
    }
    if (reviews !== before.reviews) {
      this.#touch(...this.#turns().keys());
    }
    for (const { approvalId } of before.approvals.waiting) {
      if (approvals.get(approvalId) === undefined) {
        this.#answers.settled(approvalId);
      }
    }
    this.#schedule();
  }

  #followSessions(before: Sessions): void {
    const { sessions } = this.#state;
    // A turn that begins, or a session that is opened, is what the user wants to see.
    if (sessions.current !== before.current || sessions.running) {
      this.#fresh = false;
    }
    // Only the newest turn offers what can be done next.
    const [was, now] = [before.turn, sessions.turn];
    if (was?.turnId !== now?.turnId || was?.phase.kind !== now?.phase.kind) {
      this.#touch(was?.turnId ?? "", now?.turnId ?? "");
    }
  }

  #compareTurns(before: Turns, now: Turns): void {
    for (const turn of new Set([...before.keys(), ...now.keys()])) {
      if (before.get(turn) !== now.get(turn)) {
        this.#dirty.add(turn);
      }
    }
  }

  /** True if the page can be sent what a message grew by. */
  #grow({ transcript }: State, { sessionId, turnId, itemId, delta, text, incomplete }: MessageNotification): boolean {
    const isOf = ({ id }: Entry): boolean => id === messageKey({ sessionId, itemId });
    const was = transcript.turnsOf(sessionId).get(turnId)?.findLast(isOf);
    const entry = this.#state.transcript.turnsOf(sessionId).get(turnId)?.findLast(isOf);
    return (
      sessionId === this.#session &&
      text === undefined &&
      !incomplete &&
      !this.#dirty.has(turnId) &&
      was?.kind === "message" &&
      entry?.kind === "message" &&
      this.#sync.grow(turnId, entry.id, delta, messageVersion(was), messageVersion(entry))
    );
  }

  #touch(...turns: readonly string[]): void {
    for (const turn of turns) {
      this.#dirty.add(turn);
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
    this.#compareRestored();
    if (moved || this.#stale) {
      const drafts = [...this.#turns()].map(([turn, entries]) => [turn, turnItems(entries, this.#facts)] as const);
      page.post(this.#sync.reset(drafts));
      this.#hadNewest = this.parts.reading.hasNewest;
      page.post({ v: VERSION, type: "draft", session: state.session, text: this.parts.memory.draft(state.session) });
    } else {
      this.#compare();
      const patch = this.#sync.flush();
      if (patch !== undefined) {
        page.post(patch);
      }
    }
    this.#stale = false;
    this.#dirty.clear();
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

  /** A restored checkpoint changes how earlier turns are drawn. */
  #compareRestored(): void {
    const [before, turns] = [this.#restored, this.#turns()];
    this.#restored = restoredTurns(turns);
    for (const turn of turns.keys()) {
      if (before.get(turn) !== this.#restored.get(turn)) {
        this.#dirty.add(turn);
      }
    }
  }

  /** Compares the turns that may differ with what the page has, from the newest on: the place of a new one is before a known one. */
  #compare(): void {
    const turns = this.#turns();
    if (this.#hadNewest !== this.parts.reading.hasNewest) {
      this.#hadNewest = this.parts.reading.hasNewest;
      [...this.#sync.turns, ...turns.keys()].forEach((turn) => this.#dirty.add(turn));
    }
    let before = "";
    for (const [turn, entries] of [...turns].reverse()) {
      if (this.#dirty.delete(turn)) {
        this.#sync.turn(turn, turnItems(entries, this.#facts), before);
      }
      before = turn;
    }
    for (const turn of this.#dirty) {
      this.#sync.turn(turn, []);
    }
  }

  readonly #facts: ItemFacts = {
    restored: (turn) => this.#restored.get(turn),
    pending: (uri, turn) => pendingOf(this.#state.reviews, uri, turn),
    footer: (end, files) => footerOf(this.#state, end, files),
  };
}
