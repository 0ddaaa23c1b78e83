import { createHash } from "node:crypto";
import { l10n } from "vscode";

import type { Attachment } from "../protocol";
import type { Memory } from "../stores/mode";
import { MAX_TEXT } from "./messages";

const DRAFTS = "cairn.composer.drafts";
const HISTORY = "cairn.composer.history";
const ATTACHMENTS = "cairn.composer.attachments";
/** Content with more characters is kept in a file: VS Code holds the rest in memory. */
const LARGE_CHARS = 10_000;
const DRAFTS_KEPT = 20;
const HISTORY_KEPT = 100;
/** Longest text in the history. A longer one is kept only as a draft. */
const HISTORY_CHARS = 10_000;

/** Files for the large content of drafts. */
export interface ContentFiles {
  write(name: string, content: string): Promise<void>;
  read(name: string): Promise<string>;
  /** Removes all files but these. */
  keep(names: ReadonlySet<string>): Promise<void>;
}

/** An attachment whose content may be in a file. */
type Kept = Attachment & { readonly file?: string };
type Attachments = readonly (readonly [session: string, attachments: readonly Kept[]])[];
type Drafts = readonly (readonly [session: string, text: string])[];

/** Texts of the composer that outlive the window: a draft for each session, and what was sent in this workspace. */
export class ComposerMemory {
  readonly #drafts: Map<string, string>;
  readonly #attachments: Map<string, readonly Kept[]>;
  readonly #names = new WeakMap<Attachment, string>();
  /** Files that this window wrote. */
  readonly #written = new Set<string>();
  /** Work on the files, one after the other. */
  #disk: Promise<unknown> = Promise.resolve();
  #history: readonly string[];

  /** Without files, large content lasts as long as the window. */
  constructor(
    private readonly memory: Memory,
    private readonly files?: ContentFiles,
  ) {
    this.#drafts = new Map((memory.get(DRAFTS) as Drafts | undefined) ?? []);
    this.#attachments = new Map((memory.get(ATTACHMENTS) as Attachments | undefined) ?? []);
    this.#history = (memory.get(HISTORY) as readonly string[] | undefined) ?? [];
  }

  /** Sent texts, oldest first. */
  get history(): readonly string[] {
    return this.#history;
  }

  draft(session: string): string {
    return this.#drafts.get(session) ?? "";
  }

  /** Keeps the draft of a session; an empty one forgets it. Drafts of the sessions touched last are kept. */
  setDraft(session: string, text: string): void {
    this.#drafts.delete(session);
    if (text !== "") {
      this.#drafts.set(session, text.slice(0, MAX_TEXT));
    }
    for (const oldest of [...this.#drafts.keys()].slice(0, -DRAFTS_KEPT)) {
      this.#drafts.delete(oldest);
    }
    void this.memory.update(DRAFTS, [...this.#drafts]);
  }

  /** Attachments of a draft; large content may be missing until {@link whole} reads it. */
  attachments(session: string): readonly Attachment[] {
    return this.#attachments.get(session) ?? [];
  }

  /** Reads what is missing. Throws words for the user if it is gone. */
  async whole(attachments: readonly Kept[]): Promise<readonly Attachment[]> {
    await this.#disk;
    return await Promise.all(
      attachments.map(async ({ file, ...attachment }) => {
        if (file === undefined || this.files === undefined) {
          return attachment;
        }
        try {
          const content = await this.files.read(file);
          return attachment.kind === "image" ? { ...attachment, data: content } : { ...attachment, text: content };
        } catch {
          throw new Error(l10n.t("{0} is no longer there. Remove it from the message, and attach it anew.", attachment.name ?? ""));
        }
      }),
    );
  }

  /** Keeps the attachments of a draft. */
  setAttachments(session: string, attachments: readonly Kept[]): void {
    const hadNone = !this.#attachments.delete(session);
    if (hadNone && attachments.length === 0) {
      return;
    }
    const kept = attachments.flatMap((attachment) => this.#keep(attachment) ?? []);
    if (kept.length > 0) {
      this.#attachments.set(session, kept);
    }
    for (const oldest of [...this.#attachments.keys()].slice(0, -DRAFTS_KEPT)) {
      this.#attachments.delete(oldest);
    }
    void this.memory.update(ATTACHMENTS, [...this.#attachments]);
    const named = new Set([...this.#attachments.values()].flat().flatMap(({ file }) => file ?? []));
    [...this.#written].filter((name) => !named.has(name)).forEach((name) => this.#written.delete(name));
    this.#then((files) => files.keep(named));
  }

  /** The attachment without its large content, which goes into a file; nothing if there are no files. */
  #keep(attachment: Kept): Kept | undefined {
    const { text, data, ...rest } = attachment;
    const content = data ?? text ?? "";
    if (content.length <= LARGE_CHARS) {
      return attachment;
    }
    if (this.files === undefined) {
      return undefined;
    }
    const name = this.#names.get(attachment) ?? createHash("sha256").update(content).digest("hex");
    this.#names.set(attachment, name);
    if (!this.#written.has(name)) {
      this.#written.add(name);
      this.#then((files) => files.write(name, content));
    }
    return { ...rest, file: name };
  }

  /** A failure is said when the message is sent. */
  #then(work: (files: ContentFiles) => Promise<void>): void {
    const { files } = this;
    if (files !== undefined) {
      this.#disk = this.#disk.then(() => work(files)).catch(() => undefined);
    }
  }

  /** Adds a text that was sent; one that was sent before moves to the end. */
  sent(text: string): void {
    if (text.length <= HISTORY_CHARS) {
      this.#history = [...this.#history.filter((known) => known !== text), text].slice(-HISTORY_KEPT);
      void this.memory.update(HISTORY, this.#history);
    }
  }
}
