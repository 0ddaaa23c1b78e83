/** Owner of a resource; structurally a `vscode.Disposable`. */
export interface Disposable {
  dispose(): void;
}

/** Listeners of one kind of news. The stores' only way of telling anyone anything. */
export class Emitter<T> {
  readonly #listeners = new Set<(value: T) => void>();

  readonly event = (listener: (value: T) => void): Disposable => {
    this.#listeners.add(listener);
    return { dispose: () => void this.#listeners.delete(listener) };
  };

  fire(value: T): void {
    for (const listener of [...this.#listeners]) {
      listener(value);
    }
  }
}
