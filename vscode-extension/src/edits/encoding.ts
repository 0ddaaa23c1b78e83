import { TextDecoder, TextEncoder } from "node:util";

import * as vscode from "vscode";

import type { TextEncoding } from "../protocol";

/** API for encodings, which VS Code has from 1.100 on. */
interface Encodings {
  openTextDocument(uri: vscode.Uri, options: { encoding: string }): Thenable<vscode.TextDocument>;
  encode(text: string, options: { encoding: string }): Thenable<Uint8Array>;
  decode(bytes: Uint8Array, options: { encoding: string }): Thenable<string>;
}

/** VS Code's own names, where they differ from those of the Encoding Standard. */
const NAMES: Readonly<Record<string, string>> = {
  "utf-8": "utf8",
  "utf-16le": "utf16le",
  "utf-16be": "utf16be",
  big5: "big5hkscs",
  shift_jis: "shiftjis",
  "euc-jp": "eucjp",
  "euc-kr": "euckr",
};

function encodings(): Encodings | undefined {
  const workspace = vscode.workspace as Partial<Encodings>;
  return typeof workspace.encode === "function" ? (workspace as Encodings) : undefined;
}

/** The encoding that must be passed to VS Code; `undefined`: UTF-8. */
function told(encoding: TextEncoding | undefined): TextEncoding | undefined {
  return encoding?.name === "utf-8" ? undefined : encoding;
}

/** The same, or a refusal that names a remedy. */
function needed({ name }: TextEncoding): Encodings {
  const api = encodings();
  if (api === undefined) {
    throw new Error(
      vscode.l10n.t(
        "the file is encoded in {0}, and this VS Code (older than 1.100) would read it as UTF-8 and destroy it; " +
          'the user can open it with "Reopen Editor with Encoding" first',
        name,
      ),
    );
  }
  return api;
}

/**
 * Opens a closed document in the encoding that it has on disk. Read as UTF-8 it would show
 * replacement characters, and a save would write them.
 */
export function open(uri: vscode.Uri, encoding: TextEncoding | undefined): Thenable<vscode.TextDocument> {
  const other = told(encoding);
  if (other === undefined) {
    return vscode.workspace.openTextDocument(uri);
  }
  return needed(other).openTextDocument(uri, { encoding: NAMES[other.name] ?? other.name });
}

/** The bytes of a new file. */
export async function encode(text: string, encoding: TextEncoding | undefined): Promise<Uint8Array> {
  const other = told(encoding);
  if (other === undefined) {
    return new TextEncoder().encode(encoding?.bom === true ? `\uFEFF${text}` : text);
  }
  return needed(other).encode(text, { encoding: NAMES[other.name] ?? other.name });
}

/** The text of a file that is not open. */
export function decode(bytes: Uint8Array, encoding: TextEncoding | undefined): string {
  return new TextDecoder(encoding?.name).decode(bytes);
}

/** True if the encoding of an open document can hold this text. A save would write question marks for the rest. */
export async function canHold(document: vscode.TextDocument, text: string): Promise<boolean> {
  const { encoding } = document as { encoding?: string };
  const api = encodings();
  if (api === undefined || encoding === undefined || encoding.startsWith("utf")) {
    return true;
  }
  return (await api.decode(await api.encode(text, { encoding }), { encoding })) === text;
}
