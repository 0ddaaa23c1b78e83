/**
 * Score of a path or name for what was typed: higher is better, nothing for no match. All letters
 * must be there in order. Letters at the start of a word, in a row and in the last part of a path count more.
 */
export function fuzzyScore(query: string, text: string): number | undefined {
  const wanted = query.toLowerCase();
  const lower = text.toLowerCase();
  const name = lower.lastIndexOf("/") + 1;
  if (wanted === "") {
    return 0;
  }
  // A match in the name alone is what most people mean.
  const inName = walk(wanted, lower, text, name);
  if (inName !== undefined) {
    return inName + 100 - Math.min(50, lower.length / 4);
  }
  const inPath = walk(wanted, lower, text, 0);
  return inPath === undefined ? undefined : inPath - Math.min(50, lower.length / 4);
}

function walk(wanted: string, lower: string, text: string, from: number): number | undefined {
  let score = 0;
  let at = from;
  let last = -2;
  for (const letter of wanted) {
    const found = lower.indexOf(letter, at);
    if (found < 0) {
      return undefined;
    }
    const starts =
      found === from || /[/._\- ]/u.test(text[found - 1] ?? "") || (/[A-Z]/u.test(text[found] ?? "") && /[a-z]/u.test(text[found - 1] ?? ""));
    score += 1 + (found === last + 1 ? 4 : 0) + (starts ? 3 : 0);
    last = found;
    at = found + 1;
  }
  return score;
}

/** The best matches, best first; those that fit equally well stay in their order. */
export function best<T>(query: string, all: readonly T[], text: (one: T) => string, limit: number): T[] {
  const scored = all.flatMap((one, index) => {
    const score = fuzzyScore(query, text(one));
    return score === undefined ? [] : [{ one, score, index }];
  });
  scored.sort((a, b) => b.score - a.score || a.index - b.index);
  return scored.slice(0, limit).map(({ one }) => one);
}
