import type { Banner, StatusNotification } from "../protocol";
import { Emitter } from "./emitter";

/** State of the connection to the daemon. The state of the daemon itself is in `StatusStore.status`. */
export type Link =
  { readonly kind: "starting" } | { readonly kind: "running"; readonly version: string } | { readonly kind: "failed"; readonly message: string };

export class StatusStore {
  #link: Link = { kind: "starting" };
  #status: StatusNotification | undefined;
  readonly #seen = new Set<string>();
  readonly #changed = new Emitter<void>();
  readonly #banner = new Emitter<Banner>();

  readonly onDidChange = this.#changed.event;
  /** A banner that was not there before, once for each text. */
  readonly onDidAddBanner = this.#banner.event;

  get link(): Link {
    return this.#link;
  }

  get status(): StatusNotification | undefined {
    return this.#link.kind === "running" ? this.#status : undefined;
  }

  /** A model answers, or a script in its place. */
  get hasModel(): boolean {
    return this.status !== undefined && this.status.model.provider !== "none";
  }

  /** The user does not trust the workspace, so that the agent only reads. */
  get untrusted(): boolean {
    return this.status?.banners.some(({ kind }) => kind === "untrusted") === true;
  }

  setLink(link: Link): void {
    this.#link = link;
    this.#changed.fire();
  }

  update(next: StatusNotification): void {
    if (this.#status !== undefined && next.rev <= this.#status.rev) {
      return;
    }
    this.restore(next);
  }

  restore(status: StatusNotification): void {
    this.#status = status;
    this.#changed.fire();
    for (const banner of status.banners) {
      const key = `${banner.kind}\n${JSON.stringify([banner.code, banner.args])}`;
      if (!this.#seen.has(key)) {
        this.#seen.add(key);
        this.#banner.fire(banner);
      }
    }
  }

  /** A new daemon counts its revisions from the start. */
  reconnect(): void {
    this.#status = undefined;
  }
}
