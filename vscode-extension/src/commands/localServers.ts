import type { ServerModel, ServerModelsResult } from "../protocol";
import { Emitter } from "../stores/emitter";
import { LOCAL, type ModelServer } from "./modelServers";

export interface FoundServer {
  readonly server: ModelServer;
  readonly models: readonly ServerModel[];
}

/** Model servers on this machine that answer. */
export class LocalServers {
  #found: readonly FoundServer[] = [];
  #looking: Promise<unknown> | undefined;
  readonly #changed = new Emitter<void>();

  /** A server answered, or one no longer does. */
  readonly onDidChange = this.#changed.event;

  constructor(private readonly ask: (server: ModelServer) => Promise<ServerModelsResult>) {}

  get found(): readonly FoundServer[] {
    return this.#found;
  }

  /** Asks all of them, once at a time. */
  look(): Promise<unknown> {
    this.#looking ??= Promise.allSettled(LOCAL.map((server) => this.#look(server))).finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #look(server: ModelServer): Promise<void> {
    const { models, problem } = await this.ask(server);
    const was = this.#found.find((known) => known.server === server);
    const now = problem === undefined ? { server, models } : undefined;
    if (was?.models.length !== now?.models.length) {
      const all = LOCAL.map((each) => (each === server ? now : this.#found.find((known) => known.server === each)));
      this.#found = all.filter((each) => each !== undefined);
      this.#changed.fire();
    }
  }
}
