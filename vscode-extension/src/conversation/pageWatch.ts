/** Time that the page has for an answer, in milliseconds. */
export const ANSWER_MS = 5_000;

/** Time that it has once the editor itself has answered, in milliseconds. */
export const LAST_MS = 1_000;

/** Detects a page that no longer answers because its process or its document is gone. */
export class PageWatch {
  #ready = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param roundTrip resolves when the window of the editor has answered
   * @param lost called once for a page that is gone
   */
  constructor(
    private readonly roundTrip: () => PromiseLike<unknown>,
    private readonly lost: () => void,
  ) {}

  /** The page was sent a message that it answers. One that has not said anything yet is still loading. */
  asked(): void {
    if (this.#ready) {
      this.#timer ??= setTimeout(() => void this.#late(), ANSWER_MS);
    }
  }

  answered(): void {
    this.#ready = true;
    this.#clear();
  }

  /** No page is in sight. */
  stop(): void {
    this.#ready = false;
    this.#clear();
  }

  /** An editor that is asleep or disconnected does not answer either, and its page is not lost. */
  async #late(): Promise<void> {
    const waiting = this.#timer;
    await this.roundTrip();
    if (waiting === this.#timer) {
      this.#timer = setTimeout(() => {
        this.stop();
        this.lost();
      }, LAST_MS);
    }
  }

  #clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
