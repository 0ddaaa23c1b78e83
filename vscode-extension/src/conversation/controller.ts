import { l10n } from "vscode";

import type { TaskRequests } from "../commands/taskRequests";
import { reasonOf } from "../daemon/agent";
import type { Attachment } from "../protocol";
import { ARMED_AFTER_MS } from "../stores/approval";
import type { Disposable } from "../stores/emitter";
import type { TranscriptChange, TranscriptStore } from "../stores/transcript";
import { decideFile, pendingOf } from "./edits";
import { oneLine } from "../text/display";
import { AttachmentTray, contentOf } from "./attachments";
import { MOST } from "./attachmentLimits";
import { type ItemFacts, copyText, messageVersion, textVersion, turnItems } from "./items";
import type { ComposerMemory } from "./memory";
import type { Mention } from "./mentions";
import { type FromPage, VERSION, readMessage } from "./messages";
import type { Page, Port } from "./port";
import { type StateSources, footerOf, viewState } from "./state";
import { pageStrings } from "./strings";
import { Sync } from "./sync";

/** At most one repaint in this many milliseconds: a stream may bring hundreds of pieces a second. */
export const REPAINT_MS = 50;

/** Answers to approvals that are named beside their calls, the newest. */
const ANSWERS_KEPT = 200;

interface Parts extends StateSources {
  readonly transcript: TranscriptStore;
  readonly tasks: TaskRequests;
  readonly memory: ComposerMemory;
}

/** Conversation of the session in view: sends the page what changed, and does what the page asks for. */
export class ConversationController implements Disposable {
  readonly #sync = new Sync();
  readonly #subscriptions: readonly Disposable[];
  readonly #dirty = new Set<string>();
  /** Time at which each waiting approval came on screen. */
  readonly #asked = new Map<string, number>();
  #answers = new Map<string, string>();
  readonly #tray: AttachmentTray;
  /** Rows of the newest mention, by its number. */
  #mentions: { readonly id: number; readonly rows: readonly Mention[] } = { id: -1, rows: [] };
  #page: Page | undefined;
  /** The page has asked for its content. What was posted before may be lost. */
  #ready = false;
  /** Session that the page shows; empty for none. */
  #session = "";
  #newest = "";
  #fresh = false;
  #reminders = false;
  #focus = false;
  #state = "";
  #stale = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly parts: Parts,
    private readonly port: Port,
  ) {
    this.#tray = new AttachmentTray((session, attachments) => parts.memory.setAttachments(session, attachments));
    const { transcript, sessions, status, plans, reviews, approvals, modes, queue, questions } = parts;
    const update = (): void => this.#schedule();
    this.#subscriptions = [
      transcript.onDidChange((change) => this.#changed(change)),
      sessions.onDidChange(() => {
        // A turn that begins, or a session that is opened, is what the user wants to see.
        if (sessions.current !== this.#session || sessions.running) {
          this.#fresh = false;
        }
        // Only the newest turn offers what can be done next.
        const newest = sessions.turn?.turnId ?? "";
        if (newest !== this.#newest) {
          this.#touch(this.#newest, newest);
          this.#newest = newest;
        }
        this.#schedule();
      }),
      sessions.onDidEndTurn(({ turnId }) => this.#touch(turnId)),
      reviews.onDidChange(() => this.#touch(...this.#turns().keys())),
      status.onDidChange(update),
      plans.onDidChange(update),
      approvals.onDidAdd(update),
      approvals.onDidSettle((id) => {
        this.#asked.delete(id);
        // The cards below move to another place: they count as new.
        const now = this.port.now();
        for (const waiting of this.#asked.keys()) {
          this.#asked.set(waiting, now);
        }
        this.#schedule();
      }),
      modes.onDidChange(update),
      queue.onDidChange(update),
      questions.onDidChange(update),
    ];
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
    this.#state = "";
    this.#asked.clear();
    if (page === undefined) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
  }

  /** The active editor or its selection changed. */
  contextChanged(): void {
    this.#schedule();
  }

  /** Shows or hides what the agent was told beside the words of the user. */
  showReminders(shown: boolean): void {
    this.#reminders = shown;
    this.#page?.post({ v: VERSION, type: "reminders", shown });
  }

  /** Puts the focus into the composer; a page that is not there yet gets it when it is. */
  focus(): void {
    this.#focus = true;
    this.#flush();
  }

  /** Begins a new conversation, which has a session from its first message on. A running task gets the text instead. */
  begin(text = "", attachments: readonly Attachment[] = []): void {
    const { sessions, memory } = this.parts;
    this.#fresh = !sessions.running;
    const session = this.#fresh ? "" : (sessions.current ?? "");
    this.#tray.restore(session, memory.attachments(session));
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
    this.#attach(session, attachments);
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
    const { memory, sessions, tasks } = this.parts;
    switch (message.type) {
      case "ready":
        this.#ready = true;
        this.#mentions = { id: -1, rows: [] };
        this.#page?.post({ v: VERSION, type: "setup", strings: pageStrings(), history: memory.history });
        this.#page?.post({ v: VERSION, type: "reminders", shown: this.#reminders });
        this.#reset();
        break;
      case "gap":
        this.#reset();
        break;
      case "send":
        await this.#send(message.text, message.context, message.queue);
        break;
      case "again": {
        const turn = sessions.turn;
        if (turn?.turnId === message.turn && turn.phase.kind === "ended" && turn.text !== "") {
          await this.#send(turn.text, false, false);
        }
        break;
      }
      case "openSession":
        this.port.run("cairn.openSession", message.id);
        break;
      case "focused":
        this.port.focused(message.on);
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
      case "draft":
        memory.setDraft(message.session, message.text);
        break;
      case "approve":
        this.#approve(message);
        break;
      case "queue":
        await this.#queued(message);
        break;
      case "writeInEditor":
        memory.setDraft(message.session, "");
        this.port.run("cairn.openPrompt", message.text, message.session);
        break;
      case "attachText":
      case "attachImage":
      case "attachFiles": {
        const { attachments, others } = await contentOf(message, this.port);
        this.#attach(this.#session, attachments);
        if (others > 0) {
          this.#refuse(l10n.t("Only files and folders of the workspace can be attached."));
        }
        break;
      }
      case "detach":
        this.#tray.remove(this.#session, message.id);
        this.#flush();
        break;
      case "expand": {
        const text = this.#tray.remove(this.#session, message.id)?.text;
        this.#page?.post({ v: VERSION, type: "insert", text: text ?? "" });
        this.#flush();
        break;
      }
      case "mention":
        await this.#mention(message.id, message.query);
        break;
      case "choose":
        await this.#choose(message.id, message.row);
        break;
      case "open":
        this.port.open(message.target);
        break;
      case "output":
        this.port.run("cairn.showOutput", message.id);
        break;
      case "copy":
        copyText(this.port, this.parts.transcript.get(message.id), this.#turns());
        break;
      case "restore": {
        const turns = [...this.#turns().keys()];
        const from = turns.indexOf(this.parts.transcript.get(message.id)?.turn ?? "");
        this.port.run("cairn.restoreCheckpoint", from < 0 ? undefined : turns.slice(from));
        break;
      }
      case "answer":
        this.parts.questions.answer(message.id, message.words);
        break;
      case "edit":
        decideFile(this.parts.reviews, this.port, message);
        break;
      case "command":
        this.port.run(message.name);
        break;
      case "alive":
        break;
    }
  }

  /** Sends the user's words. If that fails, the page gets them back. */
  async #send(text: string, withContext: boolean, queue: boolean): Promise<void> {
    const { tasks, memory } = this.parts;
    const session = this.#session;
    const attachments = this.#tray.take(session);
    if (text.trim() === "" && attachments.length === 0) {
      return;
    }
    this.#flush();
    // Until it has arrived it is a draft: a window that closes meanwhile does not lose it.
    memory.setDraft(session, text);
    try {
      await tasks.say(text, session === "" ? undefined : session, withContext ? this.port.context() : {}, queue, attachments);
    } catch (error) {
      this.#tray.settle(session, attachments);
      this.#flush();
      this.#page?.post({ v: VERSION, type: "failed", text, reason: reasonOf(error) });
      this.port.refused(text, error);
      return;
    }
    this.#tray.settle(session, []);
    if (text.trim() !== "") {
      memory.sent(text);
    }
    if (memory.draft(session) === text) {
      memory.setDraft(session, "");
    }
    this.#page?.post({ v: VERSION, type: "sent" });
  }

  #attach(session: string, attachments: readonly Attachment[]): void {
    if (!attachments.every((attachment) => this.#tray.add(session, attachment))) {
      this.#refuse(l10n.t("At most {0} attachments can be sent with a message.", MOST));
    }
    this.#flush();
  }

  #refuse(reason: string): void {
    this.#page?.post({ v: VERSION, type: "refused", reason });
  }

  async #mention(id: number, query: string): Promise<void> {
    const rows = await this.port.mentions(query).catch((error: unknown) => {
      this.port.log(`A mention was not answered: ${reasonOf(error)}`);
      return [];
    });
    // A later mention may have been asked for meanwhile, and answered.
    if (id > this.#mentions.id) {
      this.#mentions = { id, rows };
      const shown = rows.map(({ icon, label, detail }) => ({ icon, label: oneLine(label, 100), detail: oneLine(detail, 200) }));
      this.#page?.post({ v: VERSION, type: "mentions", id, rows: shown });
    }
  }

  async #choose(id: number, row: number): Promise<void> {
    const mention = id === this.#mentions.id ? this.#mentions.rows[row] : undefined;
    if (mention === undefined) {
      return;
    }
    try {
      const attachment = await mention.attachment();
      if (attachment === undefined) {
        this.#refuse(l10n.t("{0}: there is nothing to attach.", mention.label));
      } else {
        this.#attach(this.#session, [attachment]);
      }
    } catch (error) {
      this.#refuse(l10n.t("{0} cannot be attached: {1}", mention.label, reasonOf(error)));
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

  /** An answer counts only for a question that was on screen for long enough, by the page and by our own clock. */
  #approve({ id, decision, words, shownForMs }: Extract<FromPage, { type: "approve" }>): void {
    const params = this.parts.approvals.get(id);
    const asked = this.#asked.get(id);
    if (params === undefined) {
      return;
    }
    if (decision === "change" || decision === "always") {
      this.port.run(decision === "change" ? "cairn.approval.showChange" : "cairn.approval.always", id);
      return;
    }
    if (asked === undefined || shownForMs < ARMED_AFTER_MS || this.port.now() - asked < ARMED_AFTER_MS) {
      return;
    }
    const said = { allowOnce: l10n.t("allowed once"), allowSession: l10n.t("allowed for this session"), deny: l10n.t("denied") }[decision];
    if (this.parts.approvals.answer(id, decision, words) !== "counted") {
      return;
    }
    this.#answers.set(`tool:${params.sessionId}/${params.callId}`, said);
    this.#answers = new Map([...this.#answers].slice(-ANSWERS_KEPT));
    this.#touch(params.turnId);
  }

  #changed({ place, grown }: TranscriptChange): void {
    if (place === undefined) {
      this.#stale = true;
    } else if (place.session !== this.#session) {
      // Another session than the one in view: nothing to draw.
      return;
    } else if (grown === undefined || this.#dirty.has(place.turn) || !this.#grow(place.turn, grown)) {
      this.#dirty.add(place.turn);
    }
    this.#schedule();
  }

  #grow(turn: string, { id, delta }: { readonly id: string; readonly delta: string }): boolean {
    const entry = this.parts.transcript.get(id);
    return (
      entry?.kind === "message" &&
      this.#sync.grow(turn, id, delta, textVersion(entry.text.length - delta.length, entry.ended, entry.incomplete), messageVersion(entry))
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

  #turns(): ReturnType<TranscriptStore["turnsOf"]> {
    return this.parts.transcript.turnsOf(this.#session);
  }

  /** Sends everything, as to a page that has nothing. */
  #reset(): void {
    this.#stale = true;
    this.#state = "";
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
    const shown = viewState(this.parts, this.#fresh, context);
    const moved = shown.session !== this.#session;
    this.#session = shown.session;
    this.#tray.restore(shown.session, this.parts.memory.attachments(shown.session));
    const chip = this.#tray.covers(shown.session, context) ? undefined : shown.chip;
    const state = { ...shown, chip, chips: this.#tray.chips(shown.session) };
    for (const { id } of state.cards) {
      this.#asked.set(id, this.#asked.get(id) ?? this.port.now());
    }
    if (moved || this.#stale) {
      const drafts = [...this.#turns()].map(([turn, entries]) => [turn, turnItems(entries, this.#facts)] as const);
      page.post(this.#sync.reset(drafts));
      page.post({ v: VERSION, type: "draft", session: state.session, text: this.parts.memory.draft(state.session) });
    } else {
      for (const turn of this.#dirty) {
        this.#sync.turn(turn, turnItems(this.#turns().get(turn) ?? [], this.#facts));
      }
      const patch = this.#sync.flush();
      if (patch !== undefined) {
        page.post(patch);
      }
    }
    this.#stale = false;
    this.#dirty.clear();
    const text = JSON.stringify(state);
    if (text !== this.#state) {
      this.#state = text;
      page.post({ v: VERSION, type: "state", state });
      this.port.changed(state);
    }
    if (this.#focus) {
      this.#focus = false;
      page.post({ v: VERSION, type: "focus" });
    }
  }

  readonly #facts: ItemFacts = {
    pending: (uri, turn) => pendingOf(this.parts.reviews, uri, turn),
    answered: (call) => this.#answers.get(call) ?? "",
    footer: (end, files) => footerOf(this.parts, end, files),
  };
}
