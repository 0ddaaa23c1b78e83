/** Time that the page has for an answer, in milliseconds. */
export const ANSWER_MS = 5_000;

/** Time that it has once the editor itself has answered, in milliseconds. */
export const LAST_MS = 1_000;

/** Time without a message after which the page is asked, in milliseconds. */
export const IDLE_MS = 30_000;

/** Detects a page that no longer answers because its process or its document is gone. */
export class PageWatch {
  #ready = false;
  /** True from a message that the page answers until its answer. */
  #waiting = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param roundTrip resolves when the window of the editor has answered
   * @param ask sends the page a message that it answers
   * @param lost called once for a page that is gone
   */
  constructor(
    private readonly roundTrip: () => PromiseLike<unknown>,
    private readonly ask: () => void,
    private readonly lost: () => void,
  ) {}

  /** The page was sent a message that it answers. One that has not said anything yet is still loading. */
  asked(): void {
    if (this.#ready && !this.#waiting) {
      this.#waiting = true;
      this.#after(ANSWER_MS, () => void this.#late());
    }
  }

  answered(): void {
    this.#ready = true;
    this.#rest();
  }

  /** No page is in sight. */
  stop(): void {
    this.#ready = false;
    this.#waiting = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #rest(): void {
    this.#waiting = false;
    this.#after(IDLE_MS, this.ask);
  }

  /** An editor that is asleep or disconnected does not answer either, and its page is not lost. */
  async #late(): Promise<void> {
    const waiting = this.#timer;
    const reached = await this.#editorAnswers();
    if (waiting !== this.#timer) {
      return;
    }
    if (reached) {
      this.#after(LAST_MS, () => {
        this.stop();
        this.lost();
      });
    } else {
      this.#rest();
    }
  }

  async #editorAnswers(): Promise<boolean> {
    try {
      await this.roundTrip();
      return true;
    } catch {
      // The connection to the window ended.
      return false;
    }
  }

  #after(time: number, act: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, time);
  }
}
