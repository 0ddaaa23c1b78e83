import * as vscode from "vscode";

import { type PlacedHunk, type ReviewStore, canAccept, counts } from "../stores/review";
import { label } from "../text/display";
import { isCurrent } from "./editors";

/** `Accept | Reject | Edit 2/5 (+1 −5)` above each proposed edit, and a move at the top. */
export class HunkLenses implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #subscriptions: vscode.Disposable[];

  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(private readonly reviews: ReviewStore) {
    this.#subscriptions = [
      this.#changed,
      reviews.onDidChange(() => this.#changed.fire()),
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
    ];
  }

  async provideCodeLenses(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<vscode.CodeLens[]> {
    await this.#untilCurrent(document, token);
    const key = document.uri.toString();
    return this.reviews.placed(key).flatMap((placed) => lenses(placed, document));
  }

  dispose(): void {
    for (const subscription of this.#subscriptions) {
      subscription.dispose();
    }
  }

  /** While the user types, the lenses shown move with the text; new ones wait for new places. */
  #untilCurrent(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<void> {
    const settled = (): boolean => {
      const file = this.reviews.get(document.uri.toString());
      return file === undefined || isCurrent(file, document) || token.isCancellationRequested || document.isClosed;
    };
    return new Promise((resolve) => {
      if (settled()) {
        resolve();
        return;
      }
      const waits: { dispose(): void }[] = [];
      const check = (): void => {
        if (settled()) {
          for (const wait of waits) {
            wait.dispose();
          }
          resolve();
        }
      };
      waits.push(this.reviews.onDidChange(check), token.onCancellationRequested(check), vscode.workspace.onDidCloseTextDocument(check));
    });
  }
}

function lenses(placed: PlacedHunk, document: vscode.TextDocument): vscode.CodeLens[] {
  const { file, hunk, ordinal } = placed;
  const { uri, rev } = file;
  const line = Math.min(hunk.range.start.line, document.lineCount - 1);
  const range = new vscode.Range(line, 0, line, 0);
  const target = { uri, hunkId: hunk.id, rev };
  const lens = (title: string, command: string, tooltip: string): vscode.CodeLens =>
    new vscode.CodeLens(range, { title, command, tooltip, arguments: [target] });
  const yours = hunk.mixed ? ", with your own changes" : "";
  if (hunk.outdated) {
    return [
      ...(canAccept(hunk) ? [lens("$(history)\u00a0Make again", "cairn.acceptHunk", "This edit no longer stands in the text: put it in again")] : []),
      lens("$(close)\u00a0Forget", "cairn.rejectHunk", "Leave the text as it is"),
      lens(`Edit ${ordinal}/${file.hunks.length} (${counts(hunk)}, outdated)`, "cairn.openDiff", "Compare with the accepted text"),
    ];
  }
  if (hunk.wholeFile === "deleted") {
    // There is no text of it: a document that shows one is a leftover, or of a file that came back.
    return [];
  }
  const moved = hunk.wholeFile === "moved";
  const what = moved ? `Moved from ${label(file.from ?? "elsewhere")}` : `Edit ${ordinal}/${file.hunks.length} (${counts(hunk)}${yours})`;
  const [accept, reject] = moved ? ["Accept move", "Reject move"] : ["Accept", "Reject"];
  // The editor swallows an ordinary space after an icon.
  const shown = [
    lens(`$(check)\u00a0${accept}`, "cairn.acceptHunk", moved ? "Leave the file here" : "Keep this edit"),
    lens(`$(close)\u00a0${reject}`, "cairn.rejectHunk", moved ? "Move the file back" : "Put the old text back"),
    lens(what, "cairn.openDiff", "Compare with the accepted text"),
  ];
  if (ordinal === 1 && file.hunks.length > 1) {
    shown.push(
      lens("$(check-all)\u00a0Accept file", "cairn.acceptFile", "Keep every edit in this file"),
      lens("$(close-all)\u00a0Reject file", "cairn.rejectFile", "Undo every edit in this file"),
    );
  }
  return shown;
}
