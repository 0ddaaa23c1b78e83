/** Replaces the text between two offsets. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The same change in at most `most` pieces, by joining those with the least text between them.
 * Sorted; of pieces at one place the order stays.
 */
export function fewer(splices: readonly Splice[], text: string, most: number): Splice[] {
  const sorted = [...splices].sort((a, b) => a.start - b.start);
  const joins = joined(sorted, sorted.length - most);
  const out: Splice[] = [];
  for (const [at, { start, end, text: added }] of sorted.entries()) {
    const last = out.at(-1);
    if (last !== undefined && joins.has(at)) {
      out[out.length - 1] = { start: last.start, end, text: last.text + text.slice(last.end, start) + added };
    } else {
      out.push({ start, end, text: added });
    }
  }
  return out;
}

/** The places of those that are joined to the one before them. */
function joined(sorted: readonly Splice[], count: number): Set<number> {
  if (count <= 0) {
    return new Set();
  }
  const gaps = sorted.slice(1).map(({ start }, index) => ({ at: index + 1, gap: start - (sorted[index]?.end ?? 0) }));
  return new Set(
    gaps
      .sort((a, b) => a.gap - b.gap)
      .slice(0, count)
      .map(({ at }) => at),
  );
}
