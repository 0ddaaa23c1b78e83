import * as vscode from "vscode";

import { readyPlan } from "../plan/planReady";
import type { ApprovalStore } from "../stores/approval";
import type { ModeStore } from "../stores/mode";
import type { PlanStore } from "../stores/plan";
import type { QuestionStore } from "../stores/questions";
import type { ReviewStore } from "../stores/review";
import type { SessionStore } from "../stores/session";
import type { StatusStore } from "../stores/status";
import type { ReviewNotification } from "../protocol";
import { questionWords } from "../text/approval";
import { inert, oneLine, sentences } from "../text/display";
import { textOf } from "../text/messages";
import { modeText } from "../text/modes";
import { Countdown } from "./countdown";
import { statusLabel } from "./label";
import { meter } from "./meter";

export interface Stores {
  readonly status: StatusStore;
  readonly sessions: SessionStore;
  readonly plans: PlanStore;
  readonly reviews: ReviewStore;
  readonly approvals: ApprovalStore;
  readonly questions: QuestionStore;
  readonly modes: ModeStore;
}

/** Item in the status bar that shows the present state and offers the next action. */
export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("cairn.status", vscode.StatusBarAlignment.Left, 10);
  readonly #retry = new Countdown(() => this.#update());
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly stores: Stores) {
    this.#item.name = "Cairn";
    const { status, sessions, plans, reviews, approvals, questions, modes } = stores;
    const update = (): void => this.#update();
    this.#subscriptions = vscode.Disposable.from(
      this.#item,
      this.#retry,
      status.onDidChange(update),
      sessions.onDidChange(update),
      plans.onDidChange(update),
      reviews.onDidChange(update),
      modes.onDidChange(update),
      approvals.onDidAdd(update),
      approvals.onDidSettle(update),
      questions.onDidChange(update),
    );
    this.#update();
    this.#item.show();
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #update(): void {
    const { status, sessions, plans, reviews, approvals, questions, modes } = this.stores;
    const { turn } = sessions;
    const reason = turn?.phase.kind === "ended" ? turn.phase.reason : undefined;
    const planReady = readyPlan(sessions, modes) !== undefined;
    const untrusted = status.untrusted;
    const plan = plans.plan?.turnId === turn?.turnId ? plans.plan : undefined;
    const step = plan?.items.find((item) => item.status === "inProgress");
    const { text, state, severity } = statusLabel({
      untrusted,
      link: status.link,
      model: status.status?.model,
      connection: status.status?.connection,
      retryInMs: this.#retry.left(status.status?.connection),
      waitsFor: waitsFor(this.stores),
      running: sessions.running,
      plan,
      step: inert(oneLine(step?.activeForm === "" ? step.content : (step?.activeForm ?? ""), 40)),
      failed: reason === "failed",
      asks: reason === "needsInput",
      planReady,
      readOnly: sessions.readOnly && oneLine(textOf(sessions.readOnly), 200),
    });
    const model = status.status?.model;
    const mode = modeText(modes.of(sessions.current));
    const said = [
      vscode.l10n.t("Cairn: {0}", state),
      ...(model === undefined || model.provider === "none"
        ? []
        : [
            model.replay
              ? vscode.l10n.t("Answers come from a replay script ({0})", model.name)
              : vscode.l10n.t("Model: {0} ({1})", model.name, model.provider),
          ]),
      vscode.l10n.t("{0} mode: {1}", mode.name, mode.explanation),
      ...(sessions.usage === undefined ? [] : (meter(sessions.usage)?.lines ?? [])),
      ...(status.status?.sandbox === undefined ? [] : [oneLine(textOf(status.status.sandbox), 200)]),
      ...(status.status?.banners.map((banner) => oneLine(textOf(banner), 300)) ?? []),
    ];
    // Names of models and reasons of servers are untrusted text.
    const lines = said.map((line) => oneLine(line, 300));
    this.#item.text = text;
    this.#item.tooltip = lines.join("\n");
    this.#item.accessibilityInformation = { label: sentences(lines), role: "button" };
    const [decide] = reviews.waiting;
    this.#item.command =
      approvals.waiting.length > 0
        ? "cairn.approval.show"
        : decide !== undefined
          ? showEdits(decide)
          : questions.waiting.length > 0
            ? "cairn.showConversation"
            : untrusted && !sessions.running
              ? "workbench.trust.manage"
              : reason === "needsInput" && !planReady
                ? "cairn.reply"
                : model?.provider === "none" && !sessions.running
                  ? "cairn.chooseModel"
                  : "cairn.menu";
    this.#item.backgroundColor = severity === "none" ? undefined : new vscode.ThemeColor(`statusBarItem.${severity}Background`);
  }
}

/** Text of the oldest question that the agent waits for; empty without one. */
function waitsFor({ approvals, reviews, questions }: Stores): string {
  const [asked] = approvals.waiting;
  const [file] = reviews.waiting;
  const words =
    asked !== undefined
      ? questionWords(asked, 40)
      : file !== undefined
        ? vscode.l10n.t("Decide on {0}", oneLine(file.path.split("/").at(-1) ?? file.path, 40))
        : questions.waiting.length > 0
          ? vscode.l10n.t("Answer the question")
          : "";
  const more = approvals.waiting.length + reviews.waiting.length + questions.waiting.length - 1;
  return inert(more > 0 ? `${words} (+${more})` : words);
}

function showEdits(file: ReviewNotification): vscode.Command {
  return { command: "cairn.revealHunk", title: vscode.l10n.t("Show Edit"), arguments: [{ uri: file.uri, hunkId: file.hunks[0]?.id, focus: true }] };
}
