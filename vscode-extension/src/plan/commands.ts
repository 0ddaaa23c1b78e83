import * as vscode from "vscode";

import type { LinkedFile } from "../protocol";
import type { Store } from "../stores/store";
import { label } from "../text/display";
import { planMarkdown, plain } from "./markdown";
import { copiedText } from "./rowItems";
import type { FileRow, ItemRow, Row } from "./rows";

/**
 * Commands on a row of the plan, apart from those of tasks and of the review. The menu of a row
 * gives a command its row. There are no keys for them: VS Code does not say which row has the
 * keyboard focus, so a key could act on another row.
 */
export class PlanCommands implements vscode.Disposable {
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly store: Store) {
    const on = (command: string, run: (row: Row | undefined) => unknown): vscode.Disposable => vscode.commands.registerCommand(command, run);
    this.#subscriptions = vscode.Disposable.from(
      on("cairn.copyPlan", (row) => this.#copyPlan(row)),
      on("cairn.copyPlanText", (row) => this.#copyText(row)),
      on("cairn.openPlanFile", (row) => this.#openFile(row)),
      on("cairn.runPlanItem", (row) => runItem(row)),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  async #copyPlan(row: Row | undefined): Promise<void> {
    const plan = row?.kind === "earlier" ? row.earlier.plan : row?.kind === "root" ? row.plan : this.store.state.plans.plan;
    if (plan === undefined) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("Cairn: there is no plan."), 5_000);
    } else {
      await vscode.env.clipboard.writeText(planMarkdown(plan.items));
    }
  }

  async #copyText(row: Row | undefined): Promise<void> {
    const text = row && copiedText(row);
    if (text !== undefined) {
      await vscode.env.clipboard.writeText(text);
    }
  }

  /** At its first edit of this step that waits, else at its beginning. */
  async #openFile(row: Row | undefined): Promise<void> {
    const picked = row?.kind === "item" ? await pickFile(row) : row?.kind === "file" ? row : undefined;
    if (picked === undefined) {
      return;
    }
    const { file, parent } = picked;
    const [first] = this.store.state.reviews.ofItem(parent.sessionId, parent.item.id, file.uri);
    if (first === undefined) {
      await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(file.uri), { preview: true, preserveFocus: true });
    } else {
      await vscode.commands.executeCommand("cairn.revealHunk", { uri: first.file.uri, hunkId: first.hunk.id });
    }
  }
}

async function pickFile(row: ItemRow): Promise<Pick<FileRow, "file" | "parent"> | undefined> {
  const { files } = row.item;
  const file = files.length > 1 ? await choose(files) : files[0];
  return file === undefined ? undefined : { file, parent: row };
}

async function choose(files: readonly LinkedFile[]): Promise<LinkedFile | undefined> {
  const picked = await vscode.window.showQuickPick(
    files.map((file) => ({ label: label(file.path, 200), file })),
    { title: vscode.l10n.t("Open a file of this step") },
  );
  return picked?.file;
}

async function runItem(row: Row | undefined): Promise<void> {
  if (row?.kind === "item") {
    await vscode.commands.executeCommand("cairn.followUp", plain(row.item.content));
  }
}
