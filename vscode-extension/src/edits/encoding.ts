import { TextDecoder } from "node:util";

import * as vscode from "vscode";

import type { TextEncoding } from "../protocol";

/** The text of a file that is not open. */
export function decode(bytes: Uint8Array, encoding: TextEncoding | undefined): string {
  return new TextDecoder(encoding?.name).decode(bytes);
}

/** True if the encoding of an open document can hold this text. A save would write question marks for the rest. */
export async function canHold(document: vscode.TextDocument, text: string): Promise<boolean> {
  const { encoding } = document;
  const { decode, encode } = vscode.workspace;
  return encoding.startsWith("utf") || (await decode(await encode(text, { encoding }), { encoding })) === text;
}
