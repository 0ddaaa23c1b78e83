import * as vscode from "vscode";

import { readyPlan } from "../plan/planReady";
import type { Store } from "../stores/store";
import type { ReviewNotification } from "../protocol";
import type { State } from "../stores/state";
import { questionWords } from "../text/approval";
import { plainText, oneLine, sentences } from "../text/display";
import { textOf } from "../text/messages";
import { modeText } from "../text/modes";
import { Countdown } from "./countdown";
import { statusLabel } from "./label";
import { meter } from "./meter";

/** Item in the status bar that shows the present state and offers the next action. */
export class StatusBar implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("cairn.status", vscode.StatusBarAlignment.Left, 10);
  readonly #retry = new Countdown(() => this.#update());
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly store: Store) {
    this.#item.name = "Cairn";
    this.#subscriptions = vscode.Disposable.from(
      this.#item,
      this.#retry,
      store.on(["status", "sessions", "plans", "reviews", "modes", "approvals", "questions"], () => this.#update()),
    );
    this.#update();
    this.#item.show();
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #update(): void {
    const { status, sessions, plans, reviews, approvals, questions, modes } = this.store.state;
    const { turn } = sessions;
    const reason = turn?.phase.kind === "ended" ? turn.phase.reason : undefined;
    const planReady = readyPlan(this.store.state) !== undefined;
    const untrusted = status.untrusted;
    const plan = plans.plan?.turnId === turn?.turnId ? plans.plan : undefined;
    const step = plan?.items.find((item) => item.status === "inProgress");
    const { text, state, severity } = statusLabel({
      untrusted,
      link: status.link,
      model: status.status?.model,
      connection: status.status?.connection,
      retryInMs: this.#retry.left(status.status?.connection),
      waitsFor: waitsFor(this.store.state),
      running: sessions.running,
      plan,
      step: plainText(oneLine(step?.activeForm === "" ? step.content : (step?.activeForm ?? ""), 40)),
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
      decide !== undefined && approvals.waiting.length === 0
        ? showEdits(decide)
        : approvals.waiting.length + questions.waiting.length > 0
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
function waitsFor({ approvals, reviews, questions }: State): string {
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
  return plainText(more > 0 ? `${words} (+${more})` : words);
}

function showEdits(file: ReviewNotification): vscode.Command {
  return { command: "cairn.revealHunk", title: vscode.l10n.t("Show Edit"), arguments: [{ uri: file.uri, hunkId: file.hunks[0]?.id, focus: true }] };
}
