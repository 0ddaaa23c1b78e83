import type { EarlierPlan, PlanItem, PlanNotification } from "../protocol";
import { isNews } from "./status";

/** Steps left out that are named; a turn that drops more is not read to its end. */
const DROPPED_KEPT = 50;

interface Facts {
  readonly last?: PlanNotification | undefined;
  readonly generation: number;
  readonly reveals: number;
  readonly revealedTurn?: string | undefined;
  readonly dropped: readonly string[];
  readonly earlier?: { readonly sessionId: string; readonly turns: readonly EarlierPlan[] } | undefined;
}

/**
 * The plan of the session in view. Decides nothing about the panel: the daemon says `expanded` or
 * `collapsed`, and this turns that into a generation, because VS Code keeps an element's
 * expansion for as long as its id stays the same.
 */
export class Plans {
  constructor(private readonly facts: Facts = { generation: 0, reveals: 0, dropped: [] }) {}

  /** The plan to show; `undefined` while it is hidden or there is none. */
  get plan(): PlanNotification | undefined {
    const { last } = this.facts;
    return last === undefined || last.panel === "hidden" ? undefined : last;
  }

  /** Part of the root's id: another one makes the tree take the new expansion. */
  get generation(): number {
    return this.facts.generation;
  }

  /** Number of times that the panel opened in a turn that had not opened it before: each brings it into view once. */
  get reveals(): number {
    return this.facts.reveals;
  }

  get collapsed(): boolean {
    return this.facts.last?.panel !== "expanded";
  }

  /** Open items that updates of this turn left out and none brought back, by their text. */
  get dropped(): readonly string[] {
    return this.facts.dropped;
  }

  /** Plans of earlier turns of the same session, newest first. */
  get earlier(): readonly EarlierPlan[] {
    const { plan } = this;
    const { earlier } = this.facts;
    if (plan === undefined || earlier?.sessionId !== plan.sessionId) {
      return [];
    }
    return earlier.turns.filter(({ turnId }) => turnId !== plan.turnId).reverse();
  }

  /** First message of an earlier turn of the session; empty if it is not known. */
  earlierTask(turnId: string): string {
    return this.facts.earlier?.turns.find((turn) => turn.turnId === turnId)?.task ?? "";
  }

  get sessionId(): string | undefined {
    return this.facts.last?.sessionId;
  }

  /** Every item of the session's plans: those of the newest one, then those only older ones had. */
  get items(): PlanItem[] {
    const byId = new Map<string, PlanItem>();
    for (const item of [...(this.facts.last?.items ?? []), ...this.earlier.flatMap(({ plan }) => plan.items)]) {
      if (!byId.has(item.id)) {
        byId.set(item.id, item);
      }
    }
    return [...byId.values()];
  }

  withEarlier(sessionId: string, turns: readonly EarlierPlan[]): Plans {
    return new Plans({ ...this.facts, earlier: { sessionId, turns } });
  }

  /** A snapshot from the daemon. An older one than the one shown is ignored. */
  with(next: PlanNotification): Plans {
    const { last, generation, reveals, revealedTurn } = this.facts;
    const same = last?.sessionId === next.sessionId;
    if (same && !isNews(last, next)) {
      return this;
    }
    const reveal = next.panel === "expanded" && next.turnId !== revealedTurn;
    return new Plans({
      ...this.facts,
      last: next,
      generation: !same || last.panel !== next.panel || reveal ? generation + 1 : generation,
      reveals: reveal ? reveals + 1 : reveals,
      revealedTurn: reveal ? next.turnId : revealedTurn,
      dropped: this.#droppedAt(next),
    });
  }

  /** The plan of a session that comes into view. Does not reveal it. */
  restored(plan: PlanNotification | undefined): Plans {
    const { generation, reveals } = this.facts;
    const revealedTurn = plan?.panel === "expanded" ? plan.turnId : undefined;
    return new Plans({ last: plan, generation: generation + 1, reveals, revealedTurn, dropped: plan?.dropped ?? [] });
  }

  /** A snapshot names only the items that its own update dropped; the next one, about work, names none. */
  #droppedAt(next: PlanNotification): readonly string[] {
    const { last } = this.facts;
    const before = last?.sessionId === next.sessionId && last.turnId === next.turnId ? this.dropped : [];
    const back = new Set(next.items.map(({ content }) => content));
    return [...new Set([...before, ...next.dropped])].filter((text) => !back.has(text)).slice(-DROPPED_KEPT);
  }
}
