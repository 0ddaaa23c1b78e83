/** Runs jobs of one key one after the other, and of different keys side by side. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** True while a job of this key runs or waits. */
  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }

  run<T>(key: string, job: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const result = before.then(job, job);
    const tail = result
      .catch(() => undefined)
      .then(() => {
        if (this.#tails.get(key) === tail) {
          this.#tails.delete(key);
        }
      });
    this.#tails.set(key, tail);
    return result;
  }
}
