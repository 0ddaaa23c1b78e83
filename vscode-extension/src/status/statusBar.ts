import * as vscode from "vscode";

import { readyPlan } from "../plan/planReady";
import type { ApprovalStore } from "../stores/approval";
import type { ModeStore } from "../stores/mode";
import type { PlanStore } from "../stores/plan";
import type { ReviewStore } from "../stores/review";
import type { SessionStore } from "../stores/session";
import type { StatusStore } from "../stores/status";
import { oneLine } from "../text/display";
import { Countdown } from "./countdown";
import { statusLabel } from "./label";

export interface Stores {
  readonly status: StatusStore;
  readonly sessions: SessionStore;
  readonly plans: PlanStore;
  readonly reviews: ReviewStore;
  readonly approvals: ApprovalStore;
  readonly modes: ModeStore;
}

/** One item in the status bar that always says how things are, and leads to what can be done. */
export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("cairn.status", vscode.StatusBarAlignment.Left, 10);
  readonly #retry = new Countdown(() => this.#update());
  readonly #subscriptions: vscode.Disposable[];

  constructor(private readonly stores: Stores) {
    this.#item.name = "Cairn";
    const { status, sessions, plans, approvals, modes } = stores;
    const update = (): void => this.#update();
    this.#subscriptions = [
      this.#item,
      this.#retry,
      status.onDidChange(update),
      sessions.onDidChange(update),
      plans.onDidChange(update),
      modes.onDidChange(update),
      approvals.onDidAdd(update),
      approvals.onDidSettle(update),
    ];
    this.#update();
    this.#item.show();
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  #update(): void {
    const { status, sessions, plans, approvals, modes } = this.stores;
    const { turn } = sessions;
    const reason = turn?.phase.kind === "ended" ? turn.phase.reason : undefined;
    const planReady = readyPlan(sessions, modes) !== undefined;
    const untrusted = status.untrusted;
    const { text, state, severity } = statusLabel({
      untrusted,
      link: status.link,
      model: status.status?.model,
      connection: status.status?.connection,
      retryInMs: this.#retry.left(status.status?.connection),
      approvals: approvals.waiting.length,
      running: sessions.running,
      plan: plans.plan?.turnId === turn?.turnId ? plans.plan : undefined,
      failed: reason === "failed",
      asks: reason === "needsInput",
      planReady,
      readOnly: sessions.readOnly && oneLine(sessions.readOnly.text, 200),
    });
    const model = status.status?.model;
    const said = [
      `Cairn: ${state}`,
      ...(model === undefined
        ? []
        : [model.replay ? `Answers come from a replay script (${model.name})` : `Model: ${model.name} (${model.provider})`]),
      ...(status.status?.sandbox === undefined ? [] : [oneLine(status.status.sandbox.text, 200)]),
      ...(status.status?.banners.map((banner) => oneLine(banner.text, 300)) ?? []),
    ];
    // Names of models and reasons of servers are not ours.
    const lines = said.map((line) => oneLine(line, 300));
    this.#item.text = text;
    this.#item.tooltip = lines.join("\n");
    this.#item.accessibilityInformation = { label: lines.join(". "), role: "button" };
    this.#item.command =
      approvals.waiting.length > 0
        ? "cairn.approval.show"
        : untrusted && !sessions.running
          ? "workbench.trust.manage"
          : reason === "needsInput" && !planReady
            ? "cairn.reply"
            : "cairn.menu";
    this.#item.backgroundColor = severity === "none" ? undefined : new vscode.ThemeColor(`statusBarItem.${severity}Background`);
  }
}
