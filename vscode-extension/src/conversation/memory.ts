import type { Attachment } from "../protocol";
import type { Memory } from "../stores/mode";
import { MAX_TEXT } from "./messages";

const DRAFTS = "cairn.composer.drafts";
const HISTORY = "cairn.composer.history";
const ATTACHMENTS = "cairn.composer.attachments";
/** Size of the attachments that are kept, in characters. */
const ATTACHMENT_CHARS = 400_000;
const DRAFTS_KEPT = 20;
const HISTORY_KEPT = 100;
/** Longest text in the history. A longer one is kept only as a draft. */
const HISTORY_CHARS = 10_000;

type Attachments = readonly (readonly [session: string, attachments: readonly Attachment[]])[];
type Drafts = readonly (readonly [session: string, text: string])[];

/** Texts of the composer that outlive the window: a draft for each session, and what was sent in this workspace. */
export class ComposerMemory {
  readonly #drafts: Map<string, string>;
  readonly #attachments: Map<string, readonly Attachment[]>;
  #history: readonly string[];

  constructor(private readonly memory: Memory) {
    this.#drafts = new Map((memory.get(DRAFTS) as Drafts | undefined) ?? []);
    this.#attachments = new Map((memory.get(ATTACHMENTS) as Attachments | undefined) ?? []);
    this.#history = (memory.get(HISTORY) as readonly string[] | undefined) ?? [];
  }

  /** Sent texts, oldest first. */
  get history(): readonly string[] {
    return this.#history;
  }

  draft(session: string): string {
    return this.#drafts.get(session) ?? "";
  }

  /** Keeps the draft of a session; an empty one forgets it. Drafts of the sessions touched last are kept. */
  setDraft(session: string, text: string): void {
    this.#drafts.delete(session);
    if (text !== "") {
      this.#drafts.set(session, text.slice(0, MAX_TEXT));
    }
    for (const oldest of [...this.#drafts.keys()].slice(0, -DRAFTS_KEPT)) {
      this.#drafts.delete(oldest);
    }
    void this.memory.update(DRAFTS, [...this.#drafts]);
  }

  attachments(session: string): readonly Attachment[] {
    return this.#attachments.get(session) ?? [];
  }

  /** Keeps the attachments of a draft. Images are too large for it: they last as long as the window. */
  setAttachments(session: string, attachments: readonly Attachment[]): void {
    const kept = attachments.filter(({ kind }) => kind !== "image");
    const hadNone = !this.#attachments.delete(session);
    if (hadNone && kept.length === 0) {
      return;
    }
    if (kept.length > 0 && JSON.stringify(kept).length <= ATTACHMENT_CHARS) {
      this.#attachments.set(session, kept);
    }
    for (const oldest of [...this.#attachments.keys()].slice(0, -DRAFTS_KEPT)) {
      this.#attachments.delete(oldest);
    }
    void this.memory.update(ATTACHMENTS, [...this.#attachments]);
  }

  /** Adds a text that was sent; one that was sent before moves to the end. */
  sent(text: string): void {
    if (text.length <= HISTORY_CHARS) {
      this.#history = [...this.#history.filter((known) => known !== text), text].slice(-HISTORY_KEPT);
      void this.memory.update(HISTORY, this.#history);
    }
  }
}
