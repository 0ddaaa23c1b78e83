import type { Hunk } from "../protocol";
import type { Reviews } from "../stores/review";
import type { FromPage } from "./messages";

type EditMessage = Extract<FromPage, { type: "edit" }>;

/** Edits of a turn in a file that wait for a decision, and the revision they are from. */
export function pendingOf(reviews: Reviews, uri: string, turn: string): { readonly rev: number; readonly hunks: readonly Hunk[] } {
  const file = reviews.get(uri);
  return { rev: file?.rev ?? 0, hunks: file?.hunks.filter(({ turnId }) => turnId === turn) ?? [] };
}

/** Opens the first edit of a row, or decides all of them as the user saw them. */
export function decideFile(
  reviews: Reviews,
  port: { run(command: string, ...args: unknown[]): void; open(target: string): void },
  { action, uri, turn, rev, words }: EditMessage,
): void {
  const placed = reviews.placed(uri).filter(({ hunk }) => turn === "" || hunk.turnId === turn);
  const [first] = placed;
  if (action === "open") {
    if (first === undefined) {
      port.open(uri);
    } else if (first.file.kind === "deleted") {
      port.run("cairn.openDeleted", { uri: first.file.uri });
    } else {
      port.run("cairn.revealHunk", { uri: first.file.uri, hunkId: first.hunk.id, focus: true });
    }
    return;
  }
  if (first === undefined) {
    return;
  }
  // The daemon refuses what changed since the user looked.
  const seen = placed.map((edit) => ({ ...edit, file: { ...edit.file, rev } }));
  const feedback = words === "" ? {} : { feedback: words };
  port.run(action === "accept" ? "cairn.acceptPlanItem" : "cairn.rejectPlanItem", { placed: seen, ...feedback });
}
