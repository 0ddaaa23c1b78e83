import * as vscode from "vscode";

import { type PlacedHunk, type ReviewStore, canAccept, isOfLines } from "../stores/review";
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

  constructor(private readonly reviews: ReviewStore) {}

  provideCodeActions(document: vscode.TextDocument, range: vscode.Range): vscode.CodeAction[] {
    const here = this.reviews.touching(document.uri.toString(), range.start.line);
    // If the lines of two edits adjoin, the first one is meant.
    const placed = here.filter(({ hunk }, index) => index === 0 || !isOfLines(hunk));
    const [first] = placed;
    return first === undefined || !isCurrent(first.file, document) ? [] : [...placed.flatMap(ofHunk), ...ofFile(first)];
  }
}

function ofHunk({ file, hunk, ordinal }: PlacedHunk): vscode.CodeAction[] {
  const target = { uri: file.uri, hunkId: hunk.id, rev: file.rev };
  const count = file.hunks.length;
  const ofAll = count === 1 ? "" : ` (${ordinal} of ${count})`;
  const what = isOfLines(hunk) ? "this edit" : hunk.wholeFile === "moved" ? "this move" : "this deletion";
  return [
    ...(canAccept(hunk) ? [action(target, `Accept ${what}${ofAll}`, "cairn.acceptHunk")] : []),
    action(target, `Reject ${what}${ofAll}`, "cairn.rejectHunk"),
    action(target, `Reject ${what} with a reason…`, "cairn.rejectHunkWithReason"),
  ];
}

function ofFile({ file, hunk }: PlacedHunk): vscode.CodeAction[] {
  const target = { uri: file.uri, hunkId: hunk.id, rev: file.rev };
  const count = file.hunks.length;
  return count === 1
    ? []
    : [
        action(target, `Accept all ${count} edits in this file`, "cairn.acceptFile"),
        action(target, `Reject all ${count} edits in this file`, "cairn.rejectFile"),
      ];
}

function action(target: Target, title: string, command: string): vscode.CodeAction {
  const fix = new vscode.CodeAction(title, HunkActions.kinds[0]);
  fix.command = { title, command, arguments: [target] };
  return fix;
}
