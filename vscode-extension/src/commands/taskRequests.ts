import { l10n } from "vscode";

import { type ResentContent, chipLabel, withContent } from "../conversation/attachments";
import type { Agent } from "../daemon/agent";
import { type Attachment, type ReviewMode, type TaskContext, requests } from "../protocol";
import type { Turn } from "../stores/session";
import type { Store } from "../stores/store";

/** Requests that start, steer, queue and end tasks, for commands and for the composer. A failure is the caller's to show. */
export class TaskRequests {
  constructor(
    private readonly agent: Agent,
    private readonly store: Store,
  ) {}

  /** A turn of a session, or of a new one. */
  async start(
    text: string,
    sessionId: string | undefined,
    context: TaskContext,
    mode: ReviewMode = this.store.state.modes.of(sessionId),
    attachments: readonly Attachment[] = [],
  ): Promise<void> {
    const session = sessionId === undefined ? {} : { sessionId };
    const started = await this.agent.request(requests.runTask, { text, ...session, mode, context, ...sent(attachments) });
    this.store.apply({ kind: "began", sessionId: started.sessionId, turnId: started.turnId, mode });
  }

  /** The task of an ended turn once more, with what was attached to it. */
  async again({ sessionId, turnId, text }: Turn): Promise<void> {
    const first = this.store.state.transcript.get(`user:${turnId}`);
    const sentWith = first?.kind === "message" ? first.attachments : undefined;
    const { attachments, lost } = await this.contentOf(sessionId, turnId, sentWith ?? []);
    if (lost.length > 0) {
      throw new Error(l10n.t("{0} is no longer there. Attach it anew, or send the message without it.", lost.map(chipLabel).join(", ")));
    }
    await this.start(text, sessionId, {}, undefined, attachments);
  }

  /** Attachments of a message of a turn, with their content, to be sent again. */
  async contentOf(sessionId: string, turnId: string, sentWith: readonly Attachment[]): Promise<ResentContent> {
    const inStore = sentWith.some(({ kind }) => kind !== "file" && kind !== "folder");
    const { attachments } = inStore ? await this.agent.request(requests.turnAttachments, { sessionId, turnId }) : { attachments: [] };
    return withContent(sentWith, attachments);
  }

  async steer(turn: Turn, text: string, attachments: readonly Attachment[] = []): Promise<void> {
    await this.agent.request(requests.steer, { sessionId: turn.sessionId, expectedTurnId: turn.turnId, text, ...sent(attachments) });
  }

  async queue(sessionId: string, text: string, attachments: readonly Attachment[] = []): Promise<void> {
    await this.agent.request(requests.queueAdd, { sessionId, text, mode: this.store.state.modes.of(sessionId), ...sent(attachments) });
  }

  async sendQueued(sessionId: string, id: string): Promise<void> {
    await this.agent.request(requests.queueSend, { sessionId, id });
  }

  async dropQueued(sessionId: string, id: string): Promise<void> {
    await this.agent.request(requests.queueDrop, { sessionId, id });
  }

  async cancel(turn: Turn): Promise<void> {
    await this.agent.request(requests.cancel, { sessionId: turn.sessionId, turnId: turn.turnId });
  }

  /** Words of the user for a session as it is now: for its running turn, after it, or as its next one. Without a session: a new one. */
  async say(
    text: string,
    sessionId: string | undefined,
    context: TaskContext,
    queue: boolean,
    attachments: readonly Attachment[] = [],
  ): Promise<void> {
    const turn = sessionId === undefined ? undefined : this.store.state.sessions.turnOf(sessionId);
    if (turn?.phase.kind !== "started") {
      await this.start(text, sessionId, context, undefined, attachments);
    } else if (queue) {
      await this.queue(turn.sessionId, text, attachments);
    } else {
      await this.steer(turn, text, attachments);
    }
  }
}

/** Absent if there are none, for daemons that know no attachments. */
function sent(attachments: readonly Attachment[]): { attachments?: Attachment[] } {
  return attachments.length === 0 ? {} : { attachments: [...attachments] };
}
