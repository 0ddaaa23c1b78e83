import * as vscode from "vscode";

import type { Agent } from "../daemon/agent";
import { type Checkpoint, type CheckpointConflict, requests } from "../protocol";
import { plainText, label, oneLine } from "../text/display";
import { textOf } from "../text/messages";
import { showFailure } from "../status/offer";

const SCHEME = "cairn-checkpoint";

/**
 * `Cairn: Restore Checkpoint`: restores files, review and plan from before a turn. Changes since
 * then that are not the agent's are shown first, next to the text that would replace them.
 */
export class CheckpointCommands implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  /** The texts at the checkpoint that was shown last, by the URI they are shown under. */
  readonly #texts = new Map<string, string>();

  readonly onDidChange = this.#changed.event;

  constructor(private readonly agent: Agent) {
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.commands.registerCommand("cairn.restoreCheckpoint", (turns?: unknown) => this.#restore(turns)),
    );
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "";
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** `turns`: ids of turns, oldest first, of which the first with a checkpoint is meant. */
  async #restore(turns: unknown): Promise<void> {
    try {
      const { checkpoints } = await this.agent.request(requests.checkpoints, {});
      const picked = await pick(firstOf(checkpoints, turns) ?? checkpoints);
      if (picked !== undefined) {
        await this.#goBack(picked, false);
      }
    } catch (error) {
      void showFailure(error);
    }
  }

  async #goBack(checkpoint: Checkpoint, overwrite: boolean): Promise<void> {
    const { restored, conflicts, failed } = await this.agent.request(requests.restoreCheckpoint, {
      turnId: checkpoint.turnId,
      overwrite,
    });
    if (conflicts.length > 0 && !overwrite) {
      await this.#askToOverwrite(checkpoint, conflicts);
    } else if (failed.length > 0) {
      const lines = oneLine(failed.map(textOf).join("; "), 400);
      void vscode.window.showWarningMessage(plainText(vscode.l10n.t("Some files were not restored: {0}", lines)));
    } else {
      const task = oneLine(checkpoint.task, 80);
      const message =
        restored.length === 1
          ? vscode.l10n.t("1 file is as before “{0}”.", task)
          : vscode.l10n.t("{0} files are as before “{1}”.", restored.length, task);
      const undo = vscode.l10n.t("Undo");
      const answer = await vscode.window.showInformationMessage(plainText(message), undo);
      if (answer === undo) {
        await vscode.commands.executeCommand("cairn.undoDecision");
      }
    }
  }

  async #askToOverwrite(checkpoint: Checkpoint, conflicts: readonly CheckpointConflict[]): Promise<void> {
    const names = conflicts.map(({ path }) => oneLine(path, 100)).join("\n");
    const show = vscode.l10n.t("Show changes");
    const overwrite = vscode.l10n.t("Overwrite");
    const answer = await vscode.window.showWarningMessage(
      conflicts.length === 1
        ? vscode.l10n.t("One file has changes that are not the agent's")
        : vscode.l10n.t("{0} files have changes that are not the agent's", conflicts.length),
      { modal: true, detail: `${names}\n\n${vscode.l10n.t("Going back would replace them. Nothing has been changed so far.")}` },
      show,
      overwrite,
    );
    if (answer === overwrite) {
      await this.#goBack(checkpoint, true);
    } else if (answer === show) {
      await this.#show(conflicts);
    }
  }

  /** Shows the present text on the left, the text of the checkpoint on the right. */
  async #show(conflicts: readonly CheckpointConflict[]): Promise<void> {
    const resources = conflicts.map(({ uri, text }) => {
      const live = vscode.Uri.parse(uri);
      const then = live.with({ scheme: SCHEME });
      this.#texts.set(then.toString(), text ?? "");
      this.#changed.fire(then);
      return [live, live, then];
    });
    await vscode.commands.executeCommand("vscode.changes", vscode.l10n.t("Now and at the checkpoint"), resources);
  }
}

/** The checkpoint of the first of these turns that has one, in their order. */
export function firstOf(checkpoints: readonly Checkpoint[], turns: unknown): [Checkpoint] | undefined {
  const ids: readonly unknown[] = Array.isArray(turns) ? turns : [];
  for (const id of ids) {
    const found = checkpoints.find(({ turnId }) => turnId === id);
    if (found !== undefined) {
      return [found];
    }
  }
  return undefined;
}

async function pick(checkpoints: readonly Checkpoint[]): Promise<Checkpoint | undefined> {
  if (checkpoints.length === 0) {
    void vscode.window.showInformationMessage(vscode.l10n.t("There is no checkpoint yet: the agent has changed no file here."));
    return undefined;
  }
  const items = checkpoints.map((checkpoint) => ({
    label: plainText(vscode.l10n.t("Before “{0}”", oneLine(checkpoint.task, 80))),
    description: checkpoint.files.length === 1 ? vscode.l10n.t("1 file") : vscode.l10n.t("{0} files", checkpoint.files.length),
    detail: label(checkpoint.files.join(", "), 160),
    checkpoint,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t("Restore checkpoint"),
    placeHolder: vscode.l10n.t("Back to how files, review and plan were before a task"),
    matchOnDetail: true,
  });
  return picked?.checkpoint;
}
