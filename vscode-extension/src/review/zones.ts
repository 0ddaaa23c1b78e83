import * as vscode from "vscode";

import type { Hunk } from "../protocol";
import type { PlacedHunk } from "../stores/review";
import type { Store } from "../stores/store";
import { isCurrent, plainEditors } from "./editors";
import { codeBlock, onDidChangeRemovedText, placeOfRemoved } from "./removedText";

interface Zone {
  readonly thread: vscode.CommentThread;
  text: string;
}

/**
 * Shows removed lines above the text that took their place, in a comment zone: the one stable way
 * to put several lines between others. A zone lives as long as its hunk, so that it keeps its
 * place and does not flicker.
 */
export class RemovedZones implements vscode.Disposable {
  readonly #controller = vscode.comments.createCommentController("cairn.removed", "Cairn");
  /** By file and hunk: hunks are counted in each file. */
  readonly #zones = new Map<string, Zone>();
  readonly #subscriptions: vscode.Disposable;

  constructor(private readonly store: Store) {
    this.#controller.options = { placeHolder: "", prompt: "" };
    this.#subscriptions = vscode.Disposable.from(
      store.on(["reviews"], () => this.#update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#update()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#update()),
      // The colours of a code block are those of the theme in which it was made.
      vscode.window.onDidChangeActiveColorTheme(() => {
        this.#clear();
        this.#update();
      }),
      onDidChangeRemovedText(() => this.#update()),
    );
    this.#update();
  }

  dispose(): void {
    this.#subscriptions.dispose();
    this.#controller.dispose();
  }

  #clear(): void {
    for (const { thread } of this.#zones.values()) {
      thread.dispose();
    }
    this.#zones.clear();
  }

  #update(): void {
    const wanted = new Set<string>();
    for (const { document } of plainEditors()) {
      const placed = this.store.state.reviews.placed(document.uri.toString()).filter(isZone);
      for (const hunk of placed) {
        const key = keyOf(hunk);
        wanted.add(key);
        if (isCurrent(hunk.file, document)) {
          this.#show(key, hunk, document);
        }
      }
    }
    for (const [key, { thread }] of this.#zones) {
      if (!wanted.has(key)) {
        thread.dispose();
        this.#zones.delete(key);
      }
    }
  }

  #show(key: string, placed: PlacedHunk, document: vscode.TextDocument): void {
    const { hunk } = placed;
    const range = placeOf(hunk);
    const label = titleOf(hunk);
    const language = document.languageId;
    const text = `${hunk.oldText}\n${hunk.outdated ? hunk.newText : ""}`;
    const zone = this.#zones.get(key);
    if (zone === undefined || isAtTop(zone.thread.range) !== isAtTop(range)) {
      // The window takes a thread to the top, or from there, only as a new one.
      zone?.thread.dispose();
      const thread = this.#controller.createCommentThread(document.uri, range, comments(hunk, language));
      thread.canReply = false;
      // Without the frame of a thread that waits for an answer.
      thread.state = vscode.CommentThreadState.Resolved;
      thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
      thread.contextValue = hunk.id;
      thread.label = label;
      this.#zones.set(key, { thread, text });
      return;
    }
    if (!isAtTop(range) && zone.thread.range?.isEqual(range) !== true) {
      zone.thread.range = range;
    }
    if (zone.thread.label !== label) {
      zone.thread.label = label;
    }
    if (zone.text !== text) {
      zone.thread.comments = comments(hunk, language);
      zone.text = text;
    }
  }
}

function keyOf({ file, hunk }: PlacedHunk): string {
  return `${file.uri}#${hunk.id}`;
}

/**
 * Range of a zone, which is drawn below its line. A zone above the first line has no range, although the
 * typings of this API version require one.
 */
function placeOf({ range: { start } }: Hunk): vscode.Range {
  const line = start.line - 1;
  return line < 0 ? (undefined as unknown as vscode.Range) : new vscode.Range(line, 0, line, 0);
}

function isAtTop(range: vscode.Range | undefined): boolean {
  return range === undefined;
}

function isZone(placed: PlacedHunk): boolean {
  return placeOfRemoved(placed) === "zone";
}

/** Description of a zone, such as `Removed 4 lines`: these lines are not in the text. */
function titleOf({ outdated, removedLines: removed }: Hunk): string {
  if (outdated) {
    return vscode.l10n.t("Outdated edit");
  }
  return removed === 1 ? vscode.l10n.t("Removed 1 line") : vscode.l10n.t("Removed {0} lines", removed);
}

/** Comments of a zone. An outdated edit shows both sides, which are not in the text. */
function comments({ oldText, newText, outdated, removedLines: removed, addedLines: added }: Hunk, language: string): vscode.Comment[] {
  const shown = [];
  if (removed > 0) {
    // A single edit needs no heading, because the title describes it.
    shown.push(comment(outdated ? vscode.l10n.t("Removed") : "", oldText, language));
  }
  if (outdated && added > 0) {
    shown.push(comment(vscode.l10n.t("Proposed"), newText, language));
  }
  return shown;
}

function comment(name: string, text: string, language: string): vscode.Comment {
  return { body: codeBlock(text, language), mode: vscode.CommentMode.Preview, author: { name } };
}
