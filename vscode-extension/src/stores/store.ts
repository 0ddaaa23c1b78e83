import { type Disposable, Emitter } from "./emitter";
import { type Change, type State, apply } from "./state";

/** A change of the state, for listeners that need more than the state after it. */
export interface News {
  readonly before: State;
  readonly change: Change;
}

/** Holder of the state. Views read it, and listen to the parts of it that they show. */
export class Store {
  #state: State;
  readonly #changed = new Emitter<News>();

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  apply(change: Change): void {
    const before = this.#state;
    this.#state = apply(before, change);
    this.#changed.fire({ before, change });
  }

  /** Calls the listener after a change of one of these parts. */
  on(parts: readonly (keyof State)[], listener: (news: News) => void): Disposable {
    return this.#changed.event((news) => {
      if (parts.some((part) => news.before[part] !== this.#state[part])) {
        listener(news);
      }
    });
  }
}
