import { l10n } from "vscode";

import type { TaskRequests } from "../commands/taskRequests";
import { reasonOf } from "../daemon/agent";
import type { Attachment } from "../protocol";
import type { Turn } from "../stores/session";
import type { Entry } from "../stores/transcript";
import { oneLine } from "../text/display";
import { MOST } from "./attachmentLimits";
import { AttachmentTray, chipLabel, contentOf } from "./attachments";
import type { ComposerMemory } from "./memory";
import type { Mention } from "./mentions";
import { type FromPage, type ToPage, VERSION } from "./messages";
import type { Port } from "./port";

const COMPOSER_MESSAGES = ["draft", "writeInEditor", "attachText", "attachImage", "attachFiles", "detach", "expand", "mention", "choose"] as const;
type ComposerMessage = Extract<FromPage, { type: (typeof COMPOSER_MESSAGES)[number] }>;

/** True for a message about what the user writes. */
export function isOfComposer(message: FromPage): message is ComposerMessage {
  return COMPOSER_MESSAGES.some((type) => type === message.type);
}

/** Access to the page whose composer it is. */
interface Owner {
  /** Session for which the user writes; empty for a new one. */
  session(): string;
  post(message: ToPage): void;
  /** Redraws the attachments. */
  changed(): void;
}

/** Message that the user is writing: its draft, its attachments, its mentions, and its way to the agent. */
export class Composing {
  readonly tray: AttachmentTray;
  /** Rows of the newest mention, by its number. */
  #mentions: { readonly id: number; readonly rows: readonly Mention[] } = { id: -1, rows: [] };

  constructor(
    private readonly memory: ComposerMemory,
    private readonly tasks: TaskRequests,
    private readonly port: Port,
    private readonly owner: Owner,
  ) {
    this.tray = new AttachmentTray((session, attachments) => memory.setAttachments(session, attachments));
  }

  /** A new page counts its mentions from the start. */
  pageBegan(): void {
    this.#mentions = { id: -1, rows: [] };
  }

  async take(message: ComposerMessage): Promise<void> {
    const { memory, owner } = this;
    switch (message.type) {
      case "draft":
        memory.setDraft(message.session, message.text);
        break;
      case "writeInEditor":
        memory.setDraft(message.session, "");
        this.port.run("cairn.openPrompt", message.text, message.session);
        break;
      case "attachText":
      case "attachImage":
      case "attachFiles": {
        const { attachments, others } = await contentOf(message, this.port);
        this.attach(owner.session(), attachments);
        if (others > 0) {
          this.#refuse(l10n.t("Only files and folders of the workspace can be attached."));
        }
        break;
      }
      case "detach":
        this.tray.remove(owner.session(), message.id);
        owner.changed();
        break;
      case "expand": {
        const session = owner.session();
        const attachment = this.tray.remove(session, message.id);
        try {
          const [whole] = attachment === undefined ? [] : await memory.whole([attachment]);
          owner.post({ v: VERSION, type: "insert", text: whole?.text ?? "" });
        } catch (error) {
          this.#refuse(reasonOf(error));
        }
        owner.changed();
        break;
      }
      case "mention":
        await this.#mention(message.id, message.query);
        break;
      case "choose":
        await this.#choose(message.id, message.row);
        break;
    }
  }

  /** Sends the user's words. If that fails, the page gets them back. */
  async send(text: string, withContext: boolean, queue: boolean): Promise<void> {
    const { tasks, memory } = this;
    const session = this.owner.session();
    const attachments = this.tray.take(session);
    if (text.trim() === "" && attachments.length === 0) {
      return;
    }
    this.owner.changed();
    // Until it has arrived it is a draft: a window that closes before does not lose it.
    memory.setDraft(session, text);
    try {
      const whole = await memory.whole(attachments);
      await tasks.say(text, session === "" ? undefined : session, withContext ? this.port.context() : {}, queue, whole);
    } catch (error) {
      this.tray.settle(session, attachments);
      this.owner.changed();
      this.owner.post({ v: VERSION, type: "failed", text, reason: reasonOf(error) });
      this.port.refused(error);
      return;
    }
    this.tray.settle(session, []);
    if (text.trim() !== "") {
      memory.sent(text);
    }
    if (memory.draft(session) === text) {
      memory.setDraft(session, "");
    }
    this.owner.post({ v: VERSION, type: "sent" });
  }

  /** Attaches what was sent with a message, to send it again. */
  async resend({ session, turn, attachments = [] }: Extract<Entry, { kind: "message" }>): Promise<void> {
    try {
      const again = await this.tasks.contentOf(session, turn, attachments);
      this.attach(session, again.attachments);
      if (again.lost.length > 0) {
        this.#refuse(l10n.t("{0} is no longer there, so it was not attached again.", again.lost.map(chipLabel).join(", ")));
      }
    } catch (error) {
      this.#refuse(l10n.t("The attachments of the message could not be read: {0}", reasonOf(error)));
    }
  }

  /** Sends the task of an ended turn again. If that fails, the page gets its words. */
  async again(turn: Turn): Promise<void> {
    try {
      await this.tasks.again(turn);
    } catch (error) {
      this.owner.post({ v: VERSION, type: "failed", text: turn.text, reason: reasonOf(error) });
      this.port.refused(error);
    }
  }

  attach(session: string, attachments: readonly Attachment[]): void {
    this.tray.restore(session, this.memory.attachments(session));
    if (!attachments.every((attachment) => this.tray.add(session, attachment))) {
      this.#refuse(l10n.t("At most {0} attachments can be sent with a message.", MOST));
    }
    this.owner.changed();
  }

  #refuse(reason: string): void {
    this.owner.post({ v: VERSION, type: "refused", reason });
  }

  async #mention(id: number, query: string): Promise<void> {
    const rows = await this.port.mentions(query).catch((error: unknown) => {
      this.port.log(`A mention was not answered: ${reasonOf(error)}`);
      return [];
    });
    // A later mention may have been asked for since, and answered.
    if (id > this.#mentions.id) {
      this.#mentions = { id, rows };
      const shown = rows.map(({ icon, label, detail }) => ({ icon, label: oneLine(label, 100), detail: oneLine(detail, 200) }));
      this.owner.post({ v: VERSION, type: "mentions", id, rows: shown });
    }
  }

  async #choose(id: number, row: number): Promise<void> {
    const mention = id === this.#mentions.id ? this.#mentions.rows[row] : undefined;
    if (mention === undefined) {
      return;
    }
    try {
      const attachment = await mention.attachment();
      if (attachment === undefined) {
        this.#refuse(l10n.t("{0}: there is nothing to attach.", mention.label));
      } else {
        this.attach(this.owner.session(), [attachment]);
      }
    } catch (error) {
      this.#refuse(l10n.t("{0} cannot be attached: {1}", mention.label, reasonOf(error)));
    }
  }
}
