import type { StatusNotification } from "../protocol";

/** State of the connection to the daemon. */
export type Link =
  { readonly kind: "starting" } | { readonly kind: "running"; readonly version: string } | { readonly kind: "failed"; readonly message: string };

/** State of the daemon, and of the connection to it. */
export class Status {
  constructor(
    readonly link: Link = { kind: "starting" },
    private readonly last?: StatusNotification,
  ) {}

  get status(): StatusNotification | undefined {
    return this.link.kind === "running" ? this.last : undefined;
  }

  /** A model answers, or a script in its place. */
  get hasModel(): boolean {
    return this.status !== undefined && this.status.model.provider !== "none";
  }

  /** The user does not trust the workspace, so that the agent only reads. */
  get untrusted(): boolean {
    return this.status?.banners.some(({ kind }) => kind === "untrusted") === true;
  }

  linked(link: Link): Status {
    return new Status(link, this.last);
  }

  with(next: StatusNotification): Status {
    return isNews(this.last, next) ? this.restored(next) : this;
  }

  restored(status: StatusNotification): Status {
    return new Status(this.link, status);
  }
}

/** True for the first notification about something, and for one with a newer revision. */
export function isNews(last: { readonly rev: number } | undefined, next: { readonly rev: number }): boolean {
  return last === undefined || next.rev > last.rev;
}
