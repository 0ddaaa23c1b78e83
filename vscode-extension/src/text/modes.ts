import type { ReviewMode } from "../protocol";

export interface ModeText {
  readonly name: string;
  readonly icon: string;
  readonly explanation: string;
}

/** In the order of how much is left to the user. */
export const MODES: readonly ReviewMode[] = ["review", "ask", "auto", "plan"];

export function modeText(mode: ReviewMode): ModeText {
  switch (mode) {
    case "review":
      return { name: "Review", icon: "eye", explanation: "Edits land as proposals; you decide at any time." };
    case "ask":
      return { name: "Ask", icon: "question", explanation: "The agent waits for your decision on each edit." };
    case "auto":
      return { name: "Auto", icon: "pass", explanation: "Edits are accepted as they land; you can still undo." };
    case "plan":
      return { name: "Plan", icon: "checklist", explanation: "Nothing is changed; the turn ends with a plan to approve." };
  }
}
