import { l10n } from "vscode";

import type { ProcessEnd, ProcessInfo } from "../protocol";
import { oneLine } from "./display";

/** State of a process in a few words. */
export function processState({ phase }: ProcessInfo): string {
  if (phase.kind === "running") {
    return phase.stopping ? l10n.t("stopping") : l10n.t("running");
  }
  return endOfProcess(phase.end);
}

export function endOfProcess(end: ProcessEnd): string {
  switch (end.kind) {
    case "code":
      return l10n.t("ended with exit code {0}", end.code);
    case "signal":
      return l10n.t("ended by signal {0}", end.signal);
    case "stopped":
      return end.by === "user" ? l10n.t("stopped by you") : end.by === "agent" ? l10n.t("stopped by the agent") : l10n.t("stopped with its turn");
    case "tooManyProcesses":
      return l10n.t("stopped: it had started too many processes");
    case "lost":
      return l10n.t("ended by a fault of Cairn");
  }
}

/** True if a process that nobody stopped ended with an error. */
export function hasFailed({ phase }: ProcessInfo): boolean {
  return phase.kind === "ended" && phase.end.kind !== "stopped" && !(phase.end.kind === "code" && phase.end.code === 0);
}

/** Last line that a process wrote. */
export const lastLine = ({ tail }: ProcessInfo): string => oneLine(tail.split("\n").at(-1) ?? "", 80);
