import type { PlanItem } from "../protocol";
import type { PlacedHunk } from "../stores/review";

/** Step of a plan: of the session in view with its state, of another session as it was when the edit was made. */
export type Step = Pick<PlanItem, "id" | "content"> & Partial<Pick<PlanItem, "status">>;

/** Proposed edits made under one item of a plan; without `item`, the rest. */
export interface Group {
  readonly sessionId: string;
  readonly item: Step | undefined;
  readonly placed: readonly PlacedHunk[];
}

/** Groups in the order of the items in view, then those of other plans, newest first. Edits of an unknown item come last. */
export function byPlanItem(placed: readonly PlacedHunk[], sessionId: string, items: readonly PlanItem[]): Group[] {
  const steps = new Map<string, { readonly sessionId: string; readonly item: Step; readonly placed: PlacedHunk[] }>();
  const key = (session: string, item: string): string => JSON.stringify([session, item]);
  for (const item of items) {
    steps.set(key(sessionId, item.id), { sessionId, item, placed: [] });
  }
  const others = placed.flatMap(({ hunk }) => (hunk.planItem === undefined || hunk.planItemText === undefined ? [] : [hunk]));
  const inView = (session: string): number => Number(session === sessionId);
  // Ids of sessions sort by time, ids of items are numbers.
  others.sort(
    (a, b) => inView(b.sessionId) - inView(a.sessionId) || b.sessionId.localeCompare(a.sessionId) || Number(a.planItem) - Number(b.planItem),
  );
  for (const { sessionId: session, planItem: id = "", planItemText: content = "" } of others) {
    const own = key(session, id);
    if (!steps.has(own)) {
      steps.set(own, { sessionId: session, item: { id, content }, placed: [] });
    }
  }
  const rest: PlacedHunk[] = [];
  for (const each of placed) {
    (steps.get(key(each.hunk.sessionId, each.hunk.planItem ?? ""))?.placed ?? rest).push(each);
  }
  return [...steps.values(), { sessionId, item: undefined, placed: rest }].filter((group) => group.placed.length > 0);
}
