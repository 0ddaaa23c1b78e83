import type { SessionSummary } from "../protocol";
import { ago } from "./ago";
import { label } from "./display";

/** A session in a list: what it is about, and how it stands. */
export function sessionText(session: SessionSummary, now: number): { label: string; description: string } {
  const { task, doneItems, openItems, turns } = session;
  const all = doneItems + openItems;
  const standing = [
    ago(session.updatedMs, now),
    all > 0 ? `${doneItems}/${all} done` : turns === 1 ? "1 turn" : `${turns} turns`,
    ...(session.running ? ["running"] : []),
    ...(session.lockedElsewhere ? ["open in another window"] : []),
  ];
  return {
    label: `$(${icon(session)}) ${label(task === "" ? "Nothing said yet" : task, 80)}`,
    description: standing.join(" · "),
  };
}

function icon({ current, running, lockedElsewhere }: SessionSummary): string {
  if (running) {
    return "loading~spin";
  }
  return lockedElsewhere ? "lock" : current ? "check" : "comment-discussion";
}
