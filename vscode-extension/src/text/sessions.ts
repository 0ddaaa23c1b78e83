import { l10n } from "vscode";

import type { SessionMatch, SessionSummary } from "../protocol";
import { dollars } from "../status/meter";
import { ago } from "./ago";
import { label } from "./display";
import { END_ICONS, capitalised, endText } from "./states";

/** Row of a session in the list. */
export interface SessionText {
  readonly label: string;
  readonly description: string;
  readonly detail?: string;
}

/** Sessions below one heading of the list. */
export interface SessionGroup {
  readonly heading: string;
  readonly sessions: readonly SessionSummary[];
}

/** Name of a session, else its task. */
export function sessionTitle({ name, task }: Pick<SessionSummary, "name" | "task">): string {
  return name ?? (task === "" ? l10n.t("Nothing said yet") : task);
}

/** Row of a session: its name or task and state, and below them its edits, progress and last line. */
export function sessionText(session: SessionSummary, now: number): SessionText {
  const { doneItems, openItems, turns, pendingEdits = 0, queued = 0, costMicros, lastLine = "" } = session;
  const all = doneItems + openItems;
  const state = stateWords(session);
  const about = [
    ...(state === "" ? [] : [state]),
    ago(session.updatedMs, now),
    ...(session.current ? [l10n.t("in view")] : []),
    ...(session.lockedElsewhere ? [l10n.t("open in another window")] : []),
  ];
  const facts = [
    ...(pendingEdits === 0 ? [] : [pendingEdits === 1 ? l10n.t("1 edit to review") : l10n.t("{0} edits to review", pendingEdits)]),
    ...(queued === 0 ? [] : [l10n.t("{0} queued", queued)]),
    all > 0 ? l10n.t("{0}/{1} done", doneItems, all) : turns === 1 ? l10n.t("1 turn") : l10n.t("{0} turns", turns),
    ...(costMicros === undefined ? [] : [dollars(costMicros)]),
    ...(lastLine === "" ? [] : [label(lastLine, 160)]),
  ];
  return {
    label: `$(${icon(session)}) ${label(sessionTitle(session), 80)}`,
    description: about.join(" · "),
    detail: facts.join(" · "),
  };
}

/** Rows of the sessions with a text in their conversation. Those whose row in the list has the text already are left out. */
export function matchRows(
  matches: readonly SessionMatch[],
  query: string,
  known: ReadonlyMap<string, SessionSummary>,
  now: number,
): { readonly session: SessionSummary; readonly text: SessionText }[] {
  const words = query.toLowerCase();
  const isListed = ({ sessionId }: SessionSummary): boolean => {
    const session = known.get(sessionId);
    const text = session && sessionText(session, now);
    return text !== undefined && [text.label, text.description, text.detail ?? ""].some((part) => part.toLowerCase().includes(words));
  };
  return matches
    .filter(({ session }) => !isListed(session))
    .map(({ session, line }) => ({ session, text: { ...sessionText(session, now), detail: label(line, 200) } }));
}

/** Groups of the list: first what runs or waits for the user, then the others by the day of their last change. */
export function sessionGroups(sessions: readonly SessionSummary[], now: number, language: string): SessionGroup[] {
  const rank = { waiting: 0, running: 1, ended: 2 };
  const live = sessions.filter((session) => stateOf(session) !== "ended");
  live.sort((one, other) => rank[stateOf(one)] - rank[stateOf(other)]);
  const days = new Map<string, SessionSummary[]>();
  for (const session of sessions.filter((one) => stateOf(one) === "ended")) {
    const day = dayOf(session.updatedMs, now, language);
    days.set(day, [...(days.get(day) ?? []), session]);
  }
  return [
    ...(live.length === 0 ? [] : [{ heading: l10n.t("Running and waiting"), sessions: live }]),
    ...[...days].map(([heading, those]) => ({ heading, sessions: those })),
  ];
}

function stateOf({ state, running }: SessionSummary): NonNullable<SessionSummary["state"]> {
  return state ?? (running ? "running" : "ended");
}

function stateWords(session: SessionSummary): string {
  switch (stateOf(session)) {
    case "running":
      return l10n.t("Running");
    case "waiting":
      return l10n.t("Waits for you");
    case "ended":
      return session.end === undefined ? "" : capitalised(endText(session.end));
  }
}

function icon(session: SessionSummary): string {
  switch (stateOf(session)) {
    case "running":
      return "loading~spin";
    case "waiting":
      return "warning";
    case "ended":
      return session.lockedElsewhere ? "lock" : session.end === undefined ? "comment-discussion" : END_ICONS[session.end];
  }
}

/** Today, yesterday, or the date. */
function dayOf(time: number, now: number, language: string): string {
  const [then, today, yesterday] = [new Date(time), new Date(now), new Date(now)];
  yesterday.setDate(yesterday.getDate() - 1);
  // A clock that was set back is no news of the future.
  if (time > now || then.toDateString() === today.toDateString()) {
    return l10n.t("Today");
  }
  if (then.toDateString() === yesterday.toDateString()) {
    return l10n.t("Yesterday");
  }
  const year = then.getFullYear() === today.getFullYear() ? {} : ({ year: "numeric" } as const);
  return then.toLocaleDateString(language, { weekday: "long", day: "numeric", month: "long", ...year });
}
