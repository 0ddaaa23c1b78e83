import { IMAGE_BYTES, PASTE_LINES, TEXT_CHARS, imageType, linesOf } from "../src/conversation/attachmentLimits";
import type { FromPage } from "../src/conversation/messages";
import { t } from "./strings";

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
    port.refuse(t("pasteTooLong", text.length.toLocaleString(), TEXT_CHARS.toLocaleString()));
    return true;
  }
  if (linesOf(text) <= PASTE_LINES) {
    return false;
  }
  port.post({ type: "attachText", text });
  return true;
}

async function takeImage(file: File, port: IntakePort): Promise<void> {
  const name = file.name === "" || file.name === "image.png" ? t("pastedImage") : file.name;
  if (file.size > IMAGE_BYTES) {
    port.refuse(t("imageTooLarge", name));
    return;
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (imageType(bytes) === undefined) {
    port.refuse(t("notAnImage", name));
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
