import type { TaskContext } from "../protocol";
import type { Found } from "./attachments";
import type { Mention } from "./mentions";
import type { ToPage, ViewState } from "./messages";

/** The page, while it is in sight. */
export interface Page {
  post(message: ToPage): void;
}

/** Actions of the editor that the page can ask for. */
export interface Port {
  /** The active file and selection. */
  context(): TaskContext;
  /** Answers a mention. */
  mentions(query: string): Promise<readonly Mention[]>;
  /** Attachments for dropped files, and the number of those that cannot be attached. */
  dropped(addresses: readonly string[]): Promise<Found>;
  run(command: string, ...args: unknown[]): void;
  open(target: string): void;
  copy(text: string): void;
  /** The page got or lost the focus. */
  focused(on: boolean): void;
  log(message: string): void;
  /** Words of the user did not arrive; the page has them again. */
  refused(error: unknown): void;
  now(): number;
  /** The state that the page got, for the header around it. */
  changed(state: ViewState): void;
}
