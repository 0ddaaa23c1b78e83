/** Cards that take answers by key, by their element. */
const cards = new WeakMap<Element, (answer: string) => boolean>();

/** The answer of a key with Alt: `y`, `n`, or the digit of a choice; `undefined` for another key. */
export function answerOf({ code, altKey, ctrlKey, metaKey, shiftKey }: KeyboardEvent): string | undefined {
  if (!altKey || ctrlKey || metaKey || shiftKey) {
    return undefined;
  }
  const [, answer] = /^(?:Key|Digit)([YN1-9])$/u.exec(code) ?? [];
  return answer?.toLowerCase();
}

/** Lets a card take answers by key. `take` is true for an answer that this card has. */
export function takeAnswers(card: Element, take: (answer: string) => boolean): void {
  cards.set(card, take);
}

/** Gives an answer to the card with the focus, or else to the first one that has it. False if no card has it. */
export function answerCard(within: HTMLElement, answer: string): boolean {
  const all = [...within.querySelectorAll<HTMLElement>(".card")];
  const focused = all.findIndex((card) => card.contains(document.activeElement));
  const inOrder = focused === -1 ? all : [...all.splice(focused, 1), ...all];
  return inOrder.some((card) => cards.get(card)?.(answer) === true);
}
