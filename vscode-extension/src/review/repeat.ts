/** Time in which a second decision from the same place is not meant, in milliseconds. */
const REPEAT_MS = 400;

/**
 * Recognises the second click of a double-click: when an edit is decided, the next one moves under the
 * pointer, and nobody has seen it yet.
 */
export class RepeatGuard {
  #last: { readonly place: string; readonly at: number } | undefined;

  constructor(private readonly now: () => number = Date.now) {}

  /** True if the decision comes too soon after the last one from its place. */
  isRepeat(place: string | undefined): boolean {
    if (place === undefined) {
      return false;
    }
    const at = this.now();
    const repeats = this.#last?.place === place && at - this.#last.at < REPEAT_MS;
    if (!repeats) {
      this.#last = { place, at };
    }
    return repeats;
  }
}
