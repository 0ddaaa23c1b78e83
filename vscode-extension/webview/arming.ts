import { ARMED_AFTER_MS } from "../src/stores/approval";

/**
 * Disables the buttons of a card until it has been in sight for a moment: a click or key before that was meant for what
 * was there before. Returns a function that says whether an answer counts.
 */
export function arm(buttons: readonly HTMLButtonElement[]): () => boolean {
  let counts = false;
  buttons.forEach((own) => own.setAttribute("aria-disabled", "true"));
  setTimeout(() => {
    counts = true;
    buttons.forEach((own) => own.removeAttribute("aria-disabled"));
  }, ARMED_AFTER_MS);
  return () => counts;
}
