import type { Connection } from "../protocol";

const SECOND_MS = 1000;

/** Time until the model is asked again, with a tick each second. */
export class Countdown {
  #attempt: string | undefined;
  #due = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly tick: () => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** A status repeats the same wait with each other change; only a new wait restarts the countdown. */
  left(connection: Connection | undefined): number {
    clearTimeout(this.#timer);
    if (connection?.kind !== "retrying") {
      this.#attempt = undefined;
      return 0;
    }
    const attempt = `${connection.attempt} ${connection.delayMs} ${JSON.stringify(connection.reason)}`;
    if (attempt !== this.#attempt) {
      this.#attempt = attempt;
      this.#due = this.now() + connection.delayMs;
    }
    const left = Math.max(0, this.#due - this.now());
    if (left > 0) {
      this.#timer = setTimeout(this.tick, Math.min(left, left % SECOND_MS || SECOND_MS));
    }
    return left;
  }

  dispose(): void {
    clearTimeout(this.#timer);
  }
}
