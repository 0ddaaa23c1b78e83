import type { EarlierPlan, PlanItem, PlanNotification } from "../protocol";
import { Emitter } from "./emitter";

/** Change of the plan, with facts that the snapshot does not hold. */
export interface PlanChange {
  /** The panel opened in a turn that has not opened it before: bring it into view, once. */
  readonly reveal: boolean;
}

/** Steps left out that are named; a turn that drops more is not read to its end. */
const DROPPED_KEPT = 50;

/**
 * The plan of the session in view. Decides nothing about the panel: the daemon says `expanded` or
 * `collapsed`, and the store turns that into a generation, because VS Code keeps an element's
 * expansion for as long as its id stays the same.
 */
export class PlanStore {
  #plan: PlanNotification | undefined;
  #generation = 0;
  #revealedTurn: string | undefined;
  #dropped: readonly string[] = [];
  #earlier: { readonly sessionId: string; readonly turns: readonly EarlierPlan[] } | undefined;
  readonly #changed = new Emitter<PlanChange>();

  readonly onDidChange = this.#changed.event;

  /** The plan to show; `undefined` while it is hidden or there is none. */
  get plan(): PlanNotification | undefined {
    return this.#plan === undefined || this.#plan.panel === "hidden" ? undefined : this.#plan;
  }

  /** Part of the root's id: another one makes the tree take the new expansion. */
  get generation(): number {
    return this.#generation;
  }

  get collapsed(): boolean {
    return this.#plan?.panel !== "expanded";
  }

  /** Open items that updates of this turn left out and none brought back, by their text. */
  get dropped(): readonly string[] {
    return this.#dropped;
  }

  /** Plans of earlier turns of the same session, newest first. */
  get earlier(): readonly EarlierPlan[] {
    const { plan } = this;
    if (plan === undefined || this.#earlier?.sessionId !== plan.sessionId) {
      return [];
    }
    return this.#earlier.turns.filter(({ turnId }) => turnId !== plan.turnId).reverse();
  }

  /** First message of an earlier turn of the session; empty if it is not known. */
  earlierTask(turnId: string): string {
    return this.#earlier?.turns.find((turn) => turn.turnId === turnId)?.task ?? "";
  }

  get sessionId(): string | undefined {
    return this.#plan?.sessionId;
  }

  /** Every item of the session's plans: those of the newest one, then those only older ones had. */
  get items(): PlanItem[] {
    const byId = new Map<string, PlanItem>();
    for (const item of [...(this.#plan?.items ?? []), ...this.earlier.flatMap(({ plan }) => plan.items)]) {
      if (!byId.has(item.id)) {
        byId.set(item.id, item);
      }
    }
    return [...byId.values()];
  }

  /** Takes the answer to `agent/plan/history`, oldest first. */
  setEarlier(sessionId: string, turns: readonly EarlierPlan[]): void {
    this.#earlier = { sessionId, turns };
    this.#changed.fire({ reveal: false });
  }

  /** A snapshot from the daemon. An older one than the one shown is ignored. */
  update(next: PlanNotification): void {
    const last = this.#plan;
    if (last?.sessionId === next.sessionId && next.rev <= last.rev) {
      return;
    }
    const reveal = next.panel === "expanded" && next.turnId !== this.#revealedTurn;
    if (reveal) {
      this.#revealedTurn = next.turnId;
    }
    if (last?.sessionId !== next.sessionId || last.panel !== next.panel || reveal) {
      this.#generation += 1;
    }
    this.#follow(last, next);
    this.#plan = next;
    this.#changed.fire({ reveal });
  }

  /** Takes the answer to `agent/state` after a (re)connect. Does not reveal the plan. */
  restore(plan: PlanNotification | undefined): void {
    this.#plan = plan;
    this.#dropped = plan?.dropped ?? [];
    this.#earlier = undefined;
    this.#generation += 1;
    this.#revealedTurn = plan?.panel === "expanded" ? plan.turnId : undefined;
    this.#changed.fire({ reveal: false });
  }

  /** A snapshot names only the items that its own update dropped; the next one, about work, names none. */
  #follow(last: PlanNotification | undefined, next: PlanNotification): void {
    const before = last?.sessionId === next.sessionId && last.turnId === next.turnId ? this.#dropped : [];
    const back = new Set(next.items.map(({ content }) => content));
    const dropped = new Set([...before, ...next.dropped]);
    this.#dropped = [...dropped].filter((text) => !back.has(text)).slice(-DROPPED_KEPT);
  }
}
