import { l10n } from "vscode";

import type { UsageNotification } from "../protocol";

/** Use of the model's context window, and cost of the session. */
export interface Meter {
  readonly text: string;
  readonly lines: readonly string[];
  readonly severity: "none" | "warning";
}

const WARN_PERCENT = 80;

export function meter({ context, session, costMicros }: UsageNotification): Meter | undefined {
  if (context.window === 0) {
    return undefined;
  }
  const percent = Math.round((context.used * 100) / context.window);
  const cost = costMicros === undefined ? undefined : dollars(costMicros);
  const share = session.inputTokens === 0 ? 0 : Math.round((session.cachedTokens * 100) / session.inputTokens);
  return {
    text: [
      `$(dashboard) ${tokens(context.used)}/${tokens(context.window)}`,
      ...(cost === undefined ? [] : [cost.startsWith("<") ? cost : `≈ ${cost}`]),
    ].join(" · "),
    lines: [
      l10n.t("Context: {0} % of {1} tokens are in use. It is compacted by itself when it is nearly full.", percent, tokens(context.window)),
      l10n.t(
        "Tokens of this session: {0} in ({1} % from the cache), {2} out",
        session.inputTokens.toLocaleString("en"),
        share,
        session.outputTokens.toLocaleString("en"),
      ),
      ...(cost === undefined ? [] : [l10n.t("Cost of this session: about {0}, an estimate from known prices", cost)]),
    ],
    severity: percent >= WARN_PERCENT ? "warning" : "none",
  };
}

/** `34k`, `1.2M`. */
export function tokens(count: number): string {
  if (count < 1_000) {
    return `${count}`;
  }
  return count < 999_500 ? `${Math.round(count / 1_000)}k` : `${(count / 1_000_000).toFixed(1).replace(/\.0$/u, "")}M`;
}

/** Dollars of a price in millionths. */
export function dollars(micros: number): string {
  const amount = micros / 1e6;
  return amount < 0.01 ? "< $0.01" : `$${amount.toFixed(2)}`;
}
