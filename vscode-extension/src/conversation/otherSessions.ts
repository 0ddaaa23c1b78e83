import { l10n } from "vscode";

import { oneLine } from "../text/display";
import type { Banner } from "./messages";
import type { State } from "../stores/state";

/** Most banners of other sessions. */
const MOST = 3;

/** Banners for sessions that are not in view and wait for the user, have follow-ups, or run. */
export function otherSessions({ sessions, approvals, questions, reviews }: State, session: string | undefined): Banner[] {
  const asking = [...approvals.waiting, ...questions.waiting, ...reviews.waiting.flatMap(({ hunks }) => hunks)].map(({ sessionId }) => sessionId);
  const others = [...new Set([...asking, ...sessions.queued, ...sessions.runningSessions])].filter((id) => id !== session);
  return others.slice(0, MOST).map((id): Banner => {
    const title = oneLine(sessions.titleOf(id), 60);
    const count = sessions.queueOf(id).items.length;
    return {
      text: asking.includes(id)
        ? l10n.t("“{0}” waits for you.", title)
        : count === 0
          ? l10n.t("“{0}” is running.", title)
          : count === 1
            ? l10n.t("“{0}” has a follow-up in its queue.", title)
            : l10n.t("“{0}” has {1} follow-ups in its queue.", title, count),
      severity: "info",
      actions: [{ label: l10n.t("Open"), session: id }],
    };
  });
}
