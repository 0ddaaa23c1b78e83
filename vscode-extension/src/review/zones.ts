import * as vscode from "vscode";

import type { Hunk } from "../protocol";
import { type PlacedHunk, type ReviewStore, counts, isOfLines } from "../stores/review";
import { addedText, removedLines } from "../text/html";
import { isCurrent, plainEditors } from "./editors";
import { fitsOnLine } from "./hunkDecorations";

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
  readonly #subscriptions: vscode.Disposable[];

  constructor(private readonly reviews: ReviewStore) {
    this.#controller.options = { placeHolder: "", prompt: "" };
    this.#subscriptions = [
      reviews.onDidChange(() => this.#update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#update()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#update()),
    ];
    this.#update();
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
    this.#controller.dispose();
  }

  #update(): void {
    const wanted = new Set<string>();
    for (const { document } of plainEditors()) {
      const placed = this.reviews.placed(document.uri.toString()).filter(isZone);
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
    const { hunk, file, ordinal } = placed;
    const range = placeOf(hunk);
    const outdated = hunk.outdated ? "  outdated" : "";
    const label = `Edit ${ordinal} of ${file.hunks.length}  ${counts(hunk)}${outdated}`;
    const text = `${hunk.oldText}\n${hunk.outdated ? hunk.newText : ""}`;
    const zone = this.#zones.get(key);
    if (zone === undefined || isAtTop(zone.thread.range) !== isAtTop(range)) {
      // The window takes a thread to the top, or from there, only as a new one.
      zone?.thread.dispose();
      const thread = this.#controller.createCommentThread(document.uri, range, comments(hunk));
      thread.canReply = false;
      thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
      thread.contextValue = hunk.id;
      thread.label = label;
      this.#zones.set(key, { thread, text });
      return;
    }
    if (!isAtTop(range) && !zone.thread.range.isEqual(range)) {
      zone.thread.range = range;
    }
    if (zone.thread.label !== label) {
      zone.thread.label = label;
    }
    if (zone.text !== text) {
      zone.thread.comments = comments(hunk);
      zone.text = text;
    }
  }
}

function keyOf({ file, hunk }: PlacedHunk): string {
  return `${file.uri}#${hunk.id}`;
}

/**
 * A zone hangs below its line. A thread of the whole file is above the first one: it has no range,
 * which only later typings of the API than ours say.
 */
function placeOf({ range: { start } }: Hunk): vscode.Range {
  const line = start.line - 1;
  return line < 0 ? (undefined as unknown as vscode.Range) : new vscode.Range(line, 0, line, 0);
}

function isAtTop(range: vscode.Range | undefined): boolean {
  return range === undefined;
}

function isZone(placed: PlacedHunk): boolean {
  const { hunk } = placed;
  return isOfLines(hunk) && (hunk.outdated || (hunk.removedLines > 0 && !fitsOnLine(placed)));
}

/** Comments of a zone. An outdated edit shows both sides, which are not in the text. */
function comments({ oldText, newText, outdated, removedLines: removed, addedLines: added }: Hunk): vscode.Comment[] {
  const shown = [];
  if (removed > 0) {
    shown.push(comment("Removed", removedLines(oldText)));
  }
  if (outdated && added > 0) {
    shown.push(comment("Proposed", addedText(newText)));
  }
  return shown;
}

function comment(name: string, html: string): vscode.Comment {
  const body = new vscode.MarkdownString(html);
  body.supportHtml = true;
  return { body, mode: vscode.CommentMode.Preview, author: { name } };
}
