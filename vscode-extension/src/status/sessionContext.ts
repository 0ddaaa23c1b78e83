import * as vscode from "vscode";

import { readyPlan } from "../plan/planReady";
import { openItems } from "../plan/rows";
import { contextKeys } from "./contextKeys";
import { isRunning } from "../stores/session";
import type { Store } from "../stores/store";

/** Context keys for menus and the palette: the state of the daemon, of the session in view and of its plan. */
export function sessionContext(store: Store): vscode.Disposable {
  const set = contextKeys();
  const update = (): void => {
    const { approvals, plans, questions, reviews, sessions, status } = store.state;
    const ready = readyPlan(store.state) !== undefined;
    set("cairn.stopped", status.link.kind === "failed");
    set("cairn.hasModel", status.hasModel);
    set("cairn.running", sessions.running);
    set("cairn.canTryAgain", sessions.canTryAgain);
    set("cairn.hasPlan", plans.plan !== undefined);
    set("cairn.hasSession", sessions.turn !== undefined);
    set("cairn.planReady", ready);
    set("cairn.planOpen", !ready && plans.plan !== undefined && openItems(plans.plan) > 0);
    set("cairn.asking", approvals.waiting.length > 0 || reviews.waiting.length > 0);
    set("cairn.processRuns", sessions.processesOf(sessions.current).some(isRunning));
    set("cairn.choosing", questions.waiting.length > 0);
  };
  update();
  const subscription = store.on(["status", "sessions", "plans", "modes", "approvals", "questions", "reviews"], update);
  return new vscode.Disposable(() => subscription.dispose());
}
