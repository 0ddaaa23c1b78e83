import { l10n } from "vscode";

import type { Attachment, TaskContext } from "../protocol";
import { MOST, linesOf } from "./attachmentLimits";
import { type ChipState, type FromPage, MAX_TEXT, type SentChip } from "./messages";

const ICONS: Readonly<Record<Attachment["kind"], string>> = {
  file: "file",
  folder: "folder",
  selection: "selection",
  text: "output",
  image: "file-media",
};

/** Name and place of an attachment, in one line. */
export function chipLabel({ name, uri, range, kind }: Attachment): string {
  const path = name ?? decodeURIComponent(uri?.slice(uri.lastIndexOf("/") + 1) ?? "");
  if (kind !== "selection" || range === undefined) {
    return path;
  }
  const { start, end } = range;
  // A selection that ends at the beginning of a line does not reach into it.
  const [first, last] = [start.line + 1, end.character === 0 && end.line > start.line ? end.line : end.line + 1];
  return `${path}:${first === last ? `${first}` : `${first}–${last}`}`;
}

export function iconOf({ kind }: Attachment): string {
  return ICONS[kind];
}

/** Chip of an attachment on the message that it was sent with. */
function sentChip(attachment: Attachment): SentChip {
  const { uri, range, kind } = attachment;
  const target =
    uri === undefined || kind === "folder"
      ? ""
      : `${decodeURIComponent(uri.replace("file://", ""))}${range === undefined ? "" : `:${range.start.line + 1}`}`;
  return { icon: iconOf(attachment), label: chipLabel(attachment), target };
}

/** A message with its attachments. Where the user wrote nothing, the daemon puts their names for the words. */
export function sentWith(text: string, attachments: readonly Attachment[]): { readonly text: string; readonly attachments: readonly SentChip[] } {
  const names = attachments.map(({ name }) => name ?? "").join(", ");
  return { text: attachments.length > 0 && text === names ? "" : text, attachments: attachments.map(sentChip) };
}

/** Attachments of a message that is sent again, and those whose content is gone. */
export interface ResentContent {
  readonly attachments: readonly Attachment[];
  readonly lost: readonly Attachment[];
}

/** Attachments as a message names them, with the content that the session has kept. Files and folders are read again. */
export function withContent(sentWith: readonly Attachment[], kept: readonly Attachment[]): ResentContent {
  const left = [...kept];
  const [attachments, lost]: [Attachment[], Attachment[]] = [[], []];
  for (const named of sentWith) {
    if (named.kind === "file" || named.kind === "folder") {
      attachments.push(named);
      continue;
    }
    const at = left.findIndex((other) => nameOf(other) === nameOf(named) && (other.data ?? other.text) !== undefined);
    const [found] = at < 0 ? [] : left.splice(at, 1);
    if (found === undefined) {
      lost.push(named);
    } else {
      attachments.push(found);
    }
  }
  return { attachments, lost };
}

function nameOf({ kind, name, uri, range }: Attachment): string {
  return JSON.stringify([kind, name, uri, range]);
}

/** Attachments for files, and the number of files that cannot be attached. */
export interface Found {
  readonly attachments: readonly Attachment[];
  readonly others: number;
}

/** Attachments for content that was pasted or dropped. */
export async function contentOf(
  message: Extract<FromPage, { type: "attachText" | "attachImage" | "attachFiles" }>,
  port: { dropped(addresses: readonly string[]): Promise<Found> },
): Promise<Found> {
  switch (message.type) {
    case "attachText": {
      const name = l10n.t("Pasted text ({0} lines)", linesOf(message.text));
      return { attachments: [{ kind: "text", name, text: message.text }], others: 0 };
    }
    case "attachImage":
      return { attachments: [{ kind: "image", name: message.name, data: message.data }], others: 0 };
    case "attachFiles":
      return await port.dropped(message.addresses);
  }
}

interface Kept {
  readonly id: string;
  readonly attachment: Attachment;
}

/** Attachments of messages that are being written, by session. */
export class AttachmentTray {
  readonly #kept = new Map<string, readonly Kept[]>();
  readonly #restored = new Set<string>();
  #next = 1;

  constructor(private readonly save: (session: string, attachments: readonly Attachment[]) => void) {}

  /** Takes over what was kept over a reload of the window. */
  restore(session: string, attachments: readonly Attachment[]): void {
    if (!this.#restored.has(session)) {
      this.#restored.add(session);
      this.#kept.set(session, [...attachments.map((attachment) => this.#keep(attachment)), ...this.#of(session)]);
    }
  }

  chips(session: string): readonly ChipState[] {
    return this.#of(session).map(({ id, attachment }) => ({
      id,
      icon: iconOf(attachment),
      label: chipLabel(attachment),
      expands: attachment.kind === "text" && (attachment.text?.length ?? 0) <= MAX_TEXT,
    }));
  }

  /** Adds an attachment; false beyond the limit. A known one is not added again. */
  add(session: string, attachment: Attachment): boolean {
    const kept = this.#of(session);
    if (kept.some((other) => isSame(other.attachment, attachment))) {
      return true;
    }
    if (kept.length >= MOST) {
      return false;
    }
    this.#set(session, [...kept, this.#keep(attachment)]);
    return true;
  }

  /** True if the active file or selection is attached already. */
  covers(session: string, { activeFile, selection }: TaskContext): boolean {
    return this.#of(session).some(({ attachment }) =>
      selection === undefined ? attachment.kind === "file" && attachment.uri === activeFile : isSame(attachment, { kind: "selection", ...selection }),
    );
  }

  /** Removes an attachment, and returns it. */
  remove(session: string, id: string): Attachment | undefined {
    const kept = this.#of(session);
    this.#set(
      session,
      kept.filter((other) => other.id !== id),
    );
    return kept.find((other) => other.id === id)?.attachment;
  }

  /** Takes all attachments of a session, to send them. */
  take(session: string): readonly Attachment[] {
    const taken = this.#of(session).map(({ attachment }) => attachment);
    this.#kept.delete(session);
    return taken;
  }

  /** Ends what {@link take} began: what was not sent returns, before what was added since. */
  settle(session: string, unsent: readonly Attachment[]): void {
    this.#set(session, [...unsent.map((attachment) => this.#keep(attachment)), ...this.#of(session)].slice(0, MOST));
  }

  #of(session: string): readonly Kept[] {
    return this.#kept.get(session) ?? [];
  }

  #keep(attachment: Attachment): Kept {
    return { id: String(this.#next++), attachment };
  }

  #set(session: string, kept: readonly Kept[]): void {
    this.#kept.set(session, kept);
    this.save(
      session,
      kept.map(({ attachment }) => attachment),
    );
  }
}

function isSame(a: Attachment, b: Attachment): boolean {
  return a.kind === b.kind && a.uri !== undefined && a.uri === b.uri && JSON.stringify(a.range) === JSON.stringify(b.range);
}
