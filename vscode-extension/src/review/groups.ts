import type { PlanItem } from "../protocol";
import type { PlacedHunk } from "../stores/review";

/** Proposed edits made under one item of a plan; without `item`, the rest. */
export interface Group {
  readonly sessionId: string;
  readonly item: PlanItem | undefined;
  readonly placed: readonly PlacedHunk[];
}

/** Groups in the order of the items; edits of an unknown item come last. */
export function byPlanItem(placed: readonly PlacedHunk[], sessionId: string, items: readonly PlanItem[]): Group[] {
  const known = new Set(items.map(({ id }) => id));
  const itemOf = ({ hunk }: PlacedHunk): string | undefined =>
    hunk.sessionId === sessionId && hunk.planItem !== undefined && known.has(hunk.planItem) ? hunk.planItem : undefined;
  const groups = [...items, undefined].map((item) => ({
    sessionId,
    item,
    placed: placed.filter((each) => itemOf(each) === item?.id),
  }));
  return groups.filter((group) => group.placed.length > 0);
}
