import type { Memory } from "./mode";

const KEY = "cairn.drafts";
const HISTORY_KEPT = 20;
const DRAFTS_KEPT = 20;

interface Remembered {
  /** Unsent text by its purpose, oldest first. */
  readonly drafts: readonly (readonly [string, string])[];
  /** Texts that were sent, newest first. */
  readonly history: readonly string[];
}

/** Text for the agent that must not get lost: drafts of tasks and replies, and sent texts. */
export class DraftStore {
  readonly #drafts: Map<string, string>;
  #history: readonly string[];

  constructor(private readonly memory: Memory) {
    const { drafts, history } = (memory.get(KEY) as Remembered | undefined) ?? { drafts: [], history: [] };
    this.#drafts = new Map(drafts);
    this.#history = history;
  }

  get history(): readonly string[] {
    return this.#history;
  }

  of(purpose: string): string {
    return this.#drafts.get(purpose) ?? "";
  }

  /** Stores the present text as a draft. An empty text is not stored. */
  keep(purpose: string, text: string): void {
    if (this.of(purpose) === text) {
      return;
    }
    this.#drafts.delete(purpose);
    if (text.trim() !== "") {
      this.#drafts.set(purpose, text);
    }
    for (const oldest of [...this.#drafts.keys()].slice(0, -DRAFTS_KEPT)) {
      this.#drafts.delete(oldest);
    }
    this.#save();
  }

  /** The text reached the agent. */
  sent(purpose: string, text: string): void {
    this.#drafts.delete(purpose);
    this.#history = [text, ...this.#history.filter((other) => other !== text)].slice(0, HISTORY_KEPT);
    this.#save();
  }

  #save(): void {
    void this.memory.update(KEY, { drafts: [...this.#drafts], history: this.#history } satisfies Remembered);
  }
}
