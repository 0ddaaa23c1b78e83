import { createHash } from "node:crypto";

/** SHA-256 in hex of the UTF-8 text without a byte order mark: how the contract names a text. */
export function textHash(text: string): string {
  return createHash("sha256")
    .update(text.replace(/^\ufeff/, ""), "utf8")
    .digest("hex");
}
