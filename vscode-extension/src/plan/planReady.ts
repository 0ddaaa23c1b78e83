import type { Turn } from "../stores/session";
import type { State } from "../stores/state";

/** Turn in view, if it ran in plan mode, has ended in order, and its plan waits for approval. */
export function readyPlan({ sessions, modes }: Pick<State, "modes" | "sessions">): Turn | undefined {
  const { turn } = sessions;
  if (turn?.phase.kind !== "ended" || !modes.isPlanning(turn.sessionId, turn.turnId)) {
    return undefined;
  }
  switch (turn.phase.reason) {
    case "completed":
    case "needsInput":
      return turn;
    case "cancelled":
    case "failed":
    case "limit":
    case "interrupted":
      return undefined;
  }
}
