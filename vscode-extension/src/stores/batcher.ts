/** Number of event loop turns without a message after which a batch is delivered. */
const QUIET_TURNS = 3;

/** Longest time that a message waits, even if more messages follow. */
const LONGEST_MS = 100;

/**
 * Delivers messages that arrive together as one batch, such as the reviews of a hundred files after
 * one decision. Each message alone would redraw every view.
 *
 * The connection handles one message in each turn of the event loop, so a batch ends after
 * {@link QUIET_TURNS} turns without one. A single message is delayed by less than a millisecond.
 */
export class Batcher<T> {
  readonly #deliver: (batch: readonly T[]) => void;
  #batch: T[] = [];
  #quiet = 0;
  #due = 0;

  constructor(deliver: (batch: readonly T[]) => void) {
    this.#deliver = deliver;
  }

  add(value: T): void {
    this.#quiet = 0;
    if (this.#batch.push(value) === 1) {
      this.#due = performance.now() + LONGEST_MS;
      setImmediate(() => this.#turn());
    }
  }

  /** Delivers the waiting messages now. Later ones belong to the next batch. */
  flush(): void {
    if (this.#batch.length > 0) {
      const batch = this.#batch;
      this.#batch = [];
      this.#deliver(batch);
    }
  }

  #turn(): void {
    this.#quiet += 1;
    if (this.#quiet > QUIET_TURNS || performance.now() >= this.#due) {
      this.flush();
    } else {
      setImmediate(() => this.#turn());
    }
  }
}
