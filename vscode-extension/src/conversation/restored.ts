import type { UiMessage } from "../protocol";
import type { Entry } from "../stores/transcript";
import { argOf } from "../text/messages";

/** The notice that a checkpoint was restored, or that this was undone. */
export function restoreOf(entry: Entry): UiMessage | undefined {
  const notice = entry.kind === "message" ? entry.notice : undefined;
  return notice?.code === "turns_restored" || notice?.code === "turns_redone" ? notice : undefined;
}

/** Turns whose changes a restored checkpoint took back, each with the time of that in milliseconds since 1970. */
export function restoredTurns(turns: ReadonlyMap<string, readonly Entry[]>): ReadonlyMap<string, number> {
  const restored = new Map<string, number>();
  const order = [...turns.keys()];
  for (const [place, entries] of [...turns.values()].entries()) {
    for (const entry of entries) {
      const notice = restoreOf(entry);
      if (notice === undefined) {
        continue;
      }
      // The first of them can be in an earlier part of the conversation, which is not read.
      const first = Math.max(0, order.indexOf(argOf(notice, "turn")));
      for (const turn of order.slice(first, place + 1)) {
        if (notice.code === "turns_restored") {
          restored.set(turn, (entry.kind === "message" ? entry.at : undefined) ?? 0);
        } else {
          restored.delete(turn);
        }
      }
    }
  }
  return restored;
}
