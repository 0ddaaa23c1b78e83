import { randomUUID } from "node:crypto";

import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { type CheckModelParams, type ModelCheckRow, notifications, requests } from "../protocol";
import { showFailure } from "../status/offer";
import { oneLine } from "../text/display";
import { argOf, textOf } from "../text/messages";

const ICONS: Readonly<Record<string, string>> = {
  works: "$(pass)",
  adapted: "$(wrench)",
  limited: "$(warning)",
  broken: "$(error)",
  unknown: "$(question)",
};

interface Row extends vscode.QuickPickItem {
  /** The next step. */
  readonly run?: () => Thenable<unknown>;
}

/** Shows what a model and its server do, as the findings come. */
export class ModelCheck {
  /** The check that is shown. */
  #shown: { readonly id: string; readonly show: (rows: readonly ModelCheckRow[]) => void } | undefined;

  constructor(private readonly agent: Agent) {
    agent.onNotification(notifications.modelCheck, ({ checkId, rows }) => {
      if (this.#shown?.id === checkId) {
        this.#shown.show(rows);
      }
    });
  }

  /** Checks a model; without a server that of the settings. Ends with the table, which the user closes. */
  async run(name: string, params: Omit<CheckModelParams, "checkId">): Promise<void> {
    const pick = vscode.window.createQuickPick<Row>();
    const cancel = new vscode.CancellationTokenSource();
    const id = randomUUID();
    const show = (rows: readonly ModelCheckRow[]): void => void (pick.items = itemsOf(rows));
    pick.title = vscode.l10n.t("Check of {0}", oneLine(name, 80));
    pick.placeholder = vscode.l10n.t("Sending three small requests…");
    pick.ignoreFocusOut = true;
    pick.busy = true;
    show([]);
    this.#shown = { id, show };
    const closed = new Promise<void>((resolve) => {
      pick.onDidAccept(() => {
        const [row] = pick.selectedItems;
        pick.hide();
        void row?.run?.();
      });
      pick.onDidHide(() => resolve());
    });
    pick.show();
    const checking = this.agent.request(requests.checkModel, { checkId: id, ...params }, cancel.token).then(
      ({ rows }) => {
        show(rows);
        pick.busy = false;
        pick.placeholder = verdictOf(rows);
      },
      (error: unknown) => {
        pick.hide();
        if (!cancel.token.isCancellationRequested) {
          void showFailure(error);
        }
      },
    );
    await closed;
    cancel.cancel();
    await checking;
    this.#shown = undefined;
    pick.dispose();
    cancel.dispose();
  }
}

function itemsOf(rows: readonly ModelCheckRow[]): Row[] {
  return rows.map((row) => ({
    label: `${row.finding.code === "not_checked" ? "$(circle-outline)" : (ICONS[row.state.code] ?? ICONS["unknown"])} ${textOf(row.part)}`,
    ...detailsOf(row),
    alwaysShow: true,
  }));
}

/** Finding of a row, with a next step where there is one. A long text has a separate line, and a message for all of it. */
function detailsOf({ part, state, finding }: ModelCheckRow): Partial<Row> {
  const words = oneLine(textOf(finding), 400);
  const text = state.code === "works" || state.code === "unknown" ? words : vscode.l10n.t("{0}: {1}", textOf(state), words);
  if (finding.code === "window_assumed") {
    const setting = argOf(finding, "setting");
    const run = () => vscode.commands.executeCommand("workbench.action.openSettings", `@id:${setting}`);
    return { description: text, detail: vscode.l10n.t("Press Enter to set the size: {0}", setting), run };
  }
  return state.code === "broken" ? { detail: text, run: () => vscode.window.showErrorMessage(`${textOf(part)}: ${text}`) } : { description: text };
}

function verdictOf(rows: readonly ModelCheckRow[]): string {
  return rows.some(({ state }) => state.code === "broken")
    ? vscode.l10n.t("The agent cannot work with this model as it is")
    : vscode.l10n.t("The agent can work with this model");
}
