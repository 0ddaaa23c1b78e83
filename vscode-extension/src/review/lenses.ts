import * as vscode from "vscode";

import { type PlacedHunk, canAccept, counts, isNewFile } from "../stores/review";
import type { Store } from "../stores/store";
import { label } from "../text/display";
import { SCHEME, liveUri } from "./baseline";
import { isCurrent } from "./editors";

/** `Accept | Reject | Edit 2/5 (+1 −5)` above each proposed edit, and a move at the top. */
export class HunkLenses implements vscode.CodeLensProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #subscriptions: vscode.Disposable;

  readonly onDidChangeCodeLenses = this.#changed.event;

  constructor(private readonly store: Store) {
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      store.on(["reviews"], () => this.#changed.fire()),
      vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
      vscode.languages.registerCodeLensProvider({ scheme: SCHEME }, { provideCodeLenses: (document) => this.#ofDeleted(document) }),
    );
  }

  async provideCodeLenses(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<vscode.CodeLens[]> {
    await this.#untilCurrent(document, token);
    const key = document.uri.toString();
    return this.store.state.reviews.placed(key).flatMap((placed) => lenses(placed, document));
  }

  /** Above the text of a deleted file. */
  #ofDeleted({ uri }: vscode.TextDocument): vscode.CodeLens[] {
    const [placed] = this.store.state.reviews.placed(liveUri(uri).toString()).filter(({ hunk }) => hunk.wholeFile === "deleted");
    if (placed === undefined) {
      return [];
    }
    const { file, hunk } = placed;
    const lens = (title: string, command: string): vscode.CodeLens =>
      new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), { title, command, arguments: [{ uri: file.uri, hunkId: hunk.id, rev: file.rev }] });
    return [
      lens(`$(check)\u00a0${vscode.l10n.t("Accept Deletion")}`, "cairn.acceptHunk"),
      lens(`$(discard)\u00a0${vscode.l10n.t("Restore File")}`, "cairn.rejectHunk"),
    ];
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  /** While the user types, the lenses shown move with the text; new ones wait for new places. */
  #untilCurrent(document: vscode.TextDocument, token: vscode.CancellationToken): Promise<void> {
    const settled = (): boolean => {
      const file = this.store.state.reviews.get(document.uri.toString());
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
      waits.push(this.store.on(["reviews"], check), token.onCancellationRequested(check), vscode.workspace.onDidCloseTextDocument(check));
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
  if (hunk.outdated) {
    return [
      ...(canAccept(hunk)
        ? [
            lens(
              `$(history)\u00a0${vscode.l10n.t("Make Again")}`,
              "cairn.acceptHunk",
              vscode.l10n.t("This edit no longer stands in the text: put it in again"),
            ),
          ]
        : []),
      lens(`$(discard)\u00a0${vscode.l10n.t("Forget")}`, "cairn.rejectHunk", vscode.l10n.t("Leave the text as it is")),
      lens(vscode.l10n.t("Edit {0}/{1} ({2}, outdated)", ordinal, file.hunks.length, counts(hunk)), "cairn.openDiff", vscode.l10n.t("Open Changes")),
    ];
  }
  if (hunk.wholeFile === "deleted") {
    // There is no text of it: a document that shows one is a leftover, or of a file that came back.
    return [];
  }
  const moved = hunk.wholeFile === "moved";
  const made = isNewFile(file);
  const what = made
    ? vscode.l10n.t("New file (+{0})", hunk.addedLines)
    : moved
      ? file.from === undefined
        ? vscode.l10n.t("Moved from elsewhere")
        : vscode.l10n.t("Moved from {0}", label(file.from))
      : hunk.mixed
        ? vscode.l10n.t("Edit {0}/{1} ({2}, with your own changes)", ordinal, file.hunks.length, counts(hunk))
        : vscode.l10n.t("Edit {0}/{1} ({2})", ordinal, file.hunks.length, counts(hunk));
  const [accept, reject] = moved ? [vscode.l10n.t("Accept Move"), vscode.l10n.t("Reject Move")] : [vscode.l10n.t("Accept"), vscode.l10n.t("Reject")];
  // The editor swallows an ordinary space after an icon.
  const shown = [
    lens(`$(check)\u00a0${accept}`, "cairn.acceptHunk", moved ? vscode.l10n.t("Leave the file here") : vscode.l10n.t("Keep this edit")),
    lens(`$(discard)\u00a0${reject}`, "cairn.rejectHunk", moved ? vscode.l10n.t("Move the file back") : vscode.l10n.t("Put the old text back")),
    lens(what, "cairn.openDiff", vscode.l10n.t("Open Changes")),
  ];
  if (ordinal === 1 && file.hunks.length > 1) {
    shown.push(
      lens(`$(check-all)\u00a0${vscode.l10n.t("Accept Edits in File")}`, "cairn.acceptFile", vscode.l10n.t("Keep every edit in this file")),
      lens(`$(discard)\u00a0${vscode.l10n.t("Reject Edits in File")}`, "cairn.rejectFile", vscode.l10n.t("Undo every edit in this file")),
    );
  }
  return shown;
}
