import * as vscode from "vscode";

import type { Hunk } from "../protocol";
import { type PlacedHunk, canAccept, isOfLines } from "../stores/review";
import type { Store } from "../stores/store";
import { isCurrent } from "./editors";

interface Target {
  readonly uri: string;
  readonly hunkId: string;
  readonly rev: number;
}

/**
 * Accept and reject among the code actions: the way for a keyboard without lenses. They are of a kind of
 * their own, which the menu shows after every fix of a language.
 */
export class HunkActions implements vscode.CodeActionProvider {
  static readonly kinds = [vscode.CodeActionKind.Refactor.append("cairn")];

  constructor(private readonly store: Store) {}

  provideCodeActions(document: vscode.TextDocument, range: vscode.Range): vscode.CodeAction[] {
    const here = this.store.state.reviews.touching(document.uri.toString(), range.start.line);
    // If the lines of two edits adjoin, the first one is meant.
    const placed = here.filter(({ hunk }, index) => index === 0 || !isOfLines(hunk));
    const [first] = placed;
    return first === undefined || !isCurrent(first.file, document) ? [] : [...placed.flatMap(ofHunk), ...ofFile(first)];
  }
}

function ofHunk({ file, hunk, ordinal }: PlacedHunk): vscode.CodeAction[] {
  const target = { uri: file.uri, hunkId: hunk.id, rev: file.rev };
  const count = file.hunks.length;
  const { accept, reject, rejectWithReason } = titles(hunk);
  const placed = (title: string): string => (count === 1 ? title : vscode.l10n.t("{0} ({1} of {2})", title, ordinal, count));
  return [
    ...(canAccept(hunk) ? [action(target, placed(accept), "cairn.acceptHunk")] : []),
    action(target, placed(reject), "cairn.rejectHunk"),
    action(target, rejectWithReason, "cairn.rejectHunkWithReason"),
  ];
}

function titles(hunk: Hunk): { accept: string; reject: string; rejectWithReason: string } {
  if (isOfLines(hunk)) {
    return {
      accept: vscode.l10n.t("Accept this edit"),
      reject: vscode.l10n.t("Reject this edit"),
      rejectWithReason: vscode.l10n.t("Reject this edit with a reason…"),
    };
  }
  return hunk.wholeFile === "moved"
    ? {
        accept: vscode.l10n.t("Accept this move"),
        reject: vscode.l10n.t("Reject this move"),
        rejectWithReason: vscode.l10n.t("Reject this move with a reason…"),
      }
    : {
        accept: vscode.l10n.t("Accept this deletion"),
        reject: vscode.l10n.t("Reject this deletion"),
        rejectWithReason: vscode.l10n.t("Reject this deletion with a reason…"),
      };
}

function ofFile({ file, hunk }: PlacedHunk): vscode.CodeAction[] {
  const target = { uri: file.uri, hunkId: hunk.id, rev: file.rev };
  const count = file.hunks.length;
  return count === 1
    ? []
    : [
        action(target, vscode.l10n.t("Accept all {0} edits in this file", count), "cairn.acceptFile"),
        action(target, vscode.l10n.t("Reject all {0} edits in this file", count), "cairn.rejectFile"),
      ];
}

function action(target: Target, title: string, command: string): vscode.CodeAction {
  const fix = new vscode.CodeAction(title, HunkActions.kinds[0]);
  fix.command = { title, command, arguments: [target] };
  return fix;
}
