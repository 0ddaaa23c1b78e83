/** Turns of the event loop without news after which a burst is over. */
const QUIET_TURNS = 3;

/** What is there is shown after this time, whatever is still to come. */
const LONGEST_MS = 100;

/**
 * Hands on together what comes together, such as the news of a hundred files after one decision:
 * each would have every view drawn, and VS Code draws a view with the rows it has at the first.
 * Messages that were written at once are handled one in each turn of the event loop, so a burst is
 * over when some turns brought nothing. News that comes alone is late by less than a millisecond.
 */
export class Burst<T> {
  readonly #deliver: (news: readonly T[]) => void;
  #news: T[] = [];
  #quiet = 0;
  #due = 0;

  constructor(deliver: (news: readonly T[]) => void) {
    this.#deliver = deliver;
  }

  add(value: T): void {
    this.#quiet = 0;
    if (this.#news.push(value) === 1) {
      this.#due = performance.now() + LONGEST_MS;
      setImmediate(() => this.#turn());
    }
  }

  /** Nothing waits any more: what comes next is of another time. */
  flush(): void {
    if (this.#news.length > 0) {
      const news = this.#news;
      this.#news = [];
      this.#deliver(news);
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
