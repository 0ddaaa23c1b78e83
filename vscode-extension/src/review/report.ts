import * as vscode from "vscode";

import type { PlacedHunk, ReviewStore } from "../stores/review";

/** Longest time until a decision is reported, in milliseconds. */
const REPORT_MS = 2_000;

/** Resolves when the next report has come; soon if none does. */
export function nextReport(reviews: ReviewStore): Promise<void> {
  return reportThat(reviews, () => true);
}

/** Resolves when the daemon has reported that an edit is no longer proposed; soon if it does not. */
export async function reportWithout(reviews: ReviewStore, { file, hunk }: PlacedHunk): Promise<void> {
  const isGone = (): boolean => !reviews.placed(file.uri).some(({ hunk: { id } }) => id === hunk.id);
  if (!isGone()) {
    await reportThat(reviews, isGone);
  }
}

function reportThat(reviews: ReviewStore, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(late);
      report.dispose();
      resolve();
    };
    const report = reviews.onDidChange(() => {
      if (holds()) {
        done();
      }
    });
    const late = setTimeout(done, REPORT_MS);
  });
}

/** Argument of a key of the review mode: goes on to the next edit whatever the setting is. */
export interface Keyed {
  readonly advance?: boolean;
}

/** True if a decision by a key goes on to the next edit. */
export function advances(arg: unknown): boolean {
  return (arg as Keyed | undefined)?.advance === true || vscode.workspace.getConfiguration("cairn").get<boolean>("review.advance", true);
}
