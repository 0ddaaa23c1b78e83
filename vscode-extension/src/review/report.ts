import * as vscode from "vscode";

import type { PlacedHunk } from "../stores/review";
import type { Store } from "../stores/store";

/** Longest time until a decision is reported, in milliseconds. */
const REPORT_MS = 2_000;

/** Resolves when the daemon has reported that an edit is no longer proposed; soon if it does not. */
export async function reportWithout(store: Store, { file, hunk }: PlacedHunk): Promise<void> {
  const isGone = (): boolean => !store.state.reviews.placed(file.uri).some(({ hunk: { id } }) => id === hunk.id);
  if (!isGone()) {
    await reportThat(store, isGone);
  }
}

/** Notes the proposed edits. Returns a wait for the first one that is reported and was not there; soon `undefined` without one. */
export function awaitNewEdit(store: Store): () => Promise<PlacedHunk | undefined> {
  const all = (): PlacedHunk[] => {
    const { reviews } = store.state;
    return reviews.files.flatMap(({ uri }) => reviews.placed(uri));
  };
  const keyOf = ({ file, hunk }: PlacedHunk): string => `${file.uri}#${hunk.id}`;
  const before = new Set(all().map(keyOf));
  const found = (): PlacedHunk | undefined => all().find((placed) => !before.has(keyOf(placed)));
  return async () => {
    if (found() === undefined) {
      await reportThat(store, () => found() !== undefined);
    }
    return found();
  };
}

function reportThat(store: Store, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(late);
      report.dispose();
      resolve();
    };
    const report = store.on(["reviews"], () => {
      if (holds()) {
        done();
      }
    });
    const late = setTimeout(done, REPORT_MS);
  });
}

/** Argument of a key of the review mode: moves to the next edit whatever the setting is. */
export interface Keyed {
  readonly advance?: boolean;
}

/** True for an undo by a key of the editor: it goes to the edit that is pending again. */
export function goesBack(arg: unknown): boolean {
  return (arg as { readonly goesBack?: boolean } | undefined)?.goesBack === true;
}

/** True if a decision by a key moves to the next edit. */
export function advances(arg: unknown): boolean {
  return (arg as Keyed | undefined)?.advance === true || vscode.workspace.getConfiguration("cairn").get<boolean>("review.advance", true);
}
