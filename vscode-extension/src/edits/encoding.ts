import { TextDecoder } from "node:util";

import * as vscode from "vscode";

import type { TextEncoding } from "../protocol";

/** API for encodings, which VS Code has from 1.100 on. */
interface Encodings {
  encode(text: string, options: { encoding: string }): Thenable<Uint8Array>;
  decode(bytes: Uint8Array, options: { encoding: string }): Thenable<string>;
}

function encodings(): Encodings | undefined {
  const workspace = vscode.workspace as Partial<Encodings>;
  return typeof workspace.encode === "function" ? (workspace as Encodings) : undefined;
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
