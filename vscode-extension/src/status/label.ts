import { l10n } from "vscode";

import type { Connection, ModelInfo } from "../protocol";
import type { Link } from "../stores/status";
import { oneLine } from "../text/display";
import { textOf } from "../text/messages";

/** Input of the status bar label. */
export interface Facts {
  readonly link: Link;
  readonly model: ModelInfo | undefined;
  readonly connection: Connection | undefined;
  /** Until the model is asked again. */
  readonly retryInMs: number;
  /** First question that waits for an answer, such as `Allow? node --test`; empty if there is none. */
  readonly waitsFor: string;
  readonly running: boolean;
  readonly plan: { readonly completed: number; readonly total: number } | undefined;
  /** Step of the plan that is in progress; empty if there is none. */
  readonly step: string;
  readonly failed: boolean;
  /** The last turn ended with a question. */
  readonly asks: boolean;
  /** The last turn ended with a plan to approve. */
  readonly planReady: boolean;
  /** The user does not trust the workspace, so that the agent only reads. */
  readonly untrusted: boolean;
  /** Reason why no turn can start in the session in view. */
  readonly readOnly?: string | undefined;
}

export interface Label {
  readonly text: string;
  readonly state: string;
  readonly severity: "none" | "warning" | "error";
}

/** Selects the most urgent state. A replay is always named. */
export function statusLabel(facts: Facts): Label {
  const label = urgent(facts);
  return facts.model?.replay === true ? { ...label, text: `${label.text} · ${l10n.t("replay")}` } : label;
}

function urgent({ link, model, connection, retryInMs, waitsFor, running, plan, step, failed, asks, planReady, untrusted, readOnly }: Facts): Label {
  if (link.kind === "failed") {
    return { text: `$(error) ${l10n.t("Cairn: not running")}`, state: link.message, severity: "error" };
  }
  if (link.kind === "starting") {
    return { text: "$(loading~spin) Cairn", state: l10n.t("starting"), severity: "none" };
  }
  if (waitsFor !== "") {
    return { text: `$(warning) ${l10n.t("Cairn: {0}", waitsFor)}`, state: l10n.t("waits for you: {0}", waitsFor), severity: "warning" };
  }
  if (running) {
    if (connection?.kind === "retrying") {
      return retrying(connection, Math.ceil(retryInMs / 1000));
    }
    const progress = plan === undefined || plan.total === 0 ? "" : `${plan.completed}/${plan.total}`;
    const doing = step === "" ? ["Cairn", progress] : [progress, step];
    return {
      text: `$(loading~spin) ${doing.join(" ").trim()}`,
      state: step === "" ? l10n.t("working") : l10n.t("working on: {0}", step),
      severity: "none",
    };
  }
  if (untrusted) {
    const state = l10n.t("read-only: workspace not trusted. Click to manage the trust of this workspace");
    return { text: `$(workspace-untrusted) ${l10n.t("Cairn: read-only")}`, state, severity: "none" };
  }
  if (readOnly !== undefined) {
    return { text: `$(lock) ${l10n.t("Cairn: read only")}`, state: l10n.t("this session can only be read: {0}", readOnly), severity: "none" };
  }
  if (planReady) {
    return { text: `$(checklist) ${l10n.t("Cairn: plan ready")}`, state: l10n.t("the plan waits for your approval"), severity: "warning" };
  }
  if (asks) {
    return { text: `$(question) ${l10n.t("Cairn: reply")}`, state: l10n.t("waits for your reply"), severity: "warning" };
  }
  if (failed) {
    return { text: "$(error) Cairn", state: l10n.t("the last task failed"), severity: "none" };
  }
  if (model?.provider === "none") {
    return { text: `$(layers) ${l10n.t("Cairn: no model")}`, state: l10n.t("no model is set up. Click to choose one"), severity: "none" };
  }
  return { text: "$(layers) Cairn", state: l10n.t("idle"), severity: "none" };
}

/** Label while a request waits for its next attempt, in `seconds` if more than 0. */
function retrying({ attempt, reason: message }: Extract<Connection, { kind: "retrying" }>, seconds: number): Label {
  const reason = oneLine(textOf(message), 200);
  const words =
    seconds > 0
      ? { text: l10n.t("Cairn: retrying in {0} s", seconds), state: l10n.t("attempt {0} in {1} s: {2}", attempt, seconds, reason) }
      : { text: l10n.t("Cairn: retrying"), state: l10n.t("attempt {0}: {1}", attempt, reason) };
  return { text: `$(sync~spin) ${words.text}`, state: words.state, severity: "none" };
}
