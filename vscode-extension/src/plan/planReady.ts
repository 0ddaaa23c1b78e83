import type { ModeStore } from "../stores/mode";
import type { SessionStore, Turn } from "../stores/session";

/** Turn in view, if it ran in plan mode, has ended in order, and its plan waits for approval. */
export function readyPlan(sessions: SessionStore, modes: ModeStore): Turn | undefined {
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
