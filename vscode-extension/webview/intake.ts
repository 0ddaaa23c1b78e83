import { l10n } from "vscode";
import { IMAGE_BYTES, PASTE_LINES, TEXT_CHARS, imageType, linesOf } from "../src/conversation/attachmentLimits";
import type { FromPage } from "../src/conversation/messages";

/** Names under which a drag from the Explorer, or from another program, brings addresses of files. */
const ADDRESS_TYPES = ["application/vnd.code.uri-list", "text/uri-list"];

interface IntakePort {
  post(message: FromPage): void;
  /** Shows why something was not attached. */
  refuse(words: string): void;
}

/** Takes what is pasted or dropped. True if it became an attachment, or was refused: then the text box gets nothing. */
export function takeTransfer(data: DataTransfer | null, port: IntakePort): boolean {
  if (data === null) {
    return false;
  }
  const files = [...data.files];
  const addresses = ADDRESS_TYPES.map((type) => data.getData(type)).find((list) => list !== "");
  if (addresses !== undefined) {
    const rows = addresses.split(/\r?\n/u).filter((row) => row !== "" && !row.startsWith("#"));
    if (rows.some((row) => row.startsWith("file:") || row.startsWith("vscode-remote:"))) {
      port.post({ type: "attachFiles", addresses: rows.slice(0, 20) });
      return true;
    }
  }
  if (files.length > 0 && data.getData("text/plain") === "") {
    for (const file of files) {
      void takeImage(file, port);
    }
    return true;
  }
  return takeText(data.getData("text/plain"), port);
}

function takeText(text: string, port: IntakePort): boolean {
  if (text.length > TEXT_CHARS) {
    port.refuse(
      l10n.t(
        "The pasted text has {0} characters; at most {1} can be attached. It is still on the clipboard: put it into a file, and name the file.",
        text.length.toLocaleString(),
        TEXT_CHARS.toLocaleString(),
      ),
    );
    return true;
  }
  if (linesOf(text) <= PASTE_LINES) {
    return false;
  }
  port.post({ type: "attachText", text });
  return true;
}

async function takeImage(file: File, port: IntakePort): Promise<void> {
  const name = file.name === "" || file.name === "image.png" ? l10n.t("Pasted image") : file.name;
  if (file.size > IMAGE_BYTES) {
    port.refuse(l10n.t("{0} is larger than 5 MB, so it was not attached.", name));
    return;
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (imageType(bytes) === undefined) {
    port.refuse(l10n.t("{0} is not a PNG, JPEG, WebP or GIF image, so it was not attached.", name));
    return;
  }
  port.post({ type: "attachImage", name: name.slice(0, 200), data: base64(bytes) });
}

function base64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += 0x8000) {
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  }
  return btoa(pieces.join(""));
}
