import type { Agent } from "../daemon/agent";
import { type SessionSnapshot, requests } from "../protocol";
import type { ReadPage } from "../stores/reading";

/** Reads a page of earlier entries of a session. */
export async function readPage(agent: Agent, ...[sessionId, end]: Parameters<ReadPage>): ReturnType<ReadPage> {
  const answer = await agent.request(requests.openSession, { sessionId, ...end });
  if (answer.kind !== "earlier") {
    return { transcript: [] };
  }
  const { transcript, earlier } = answer;
  return { transcript, ...(earlier !== undefined && { earlier }) };
}

/** Sessions that have entries before those of their transcript. */
export function cutOf(sessions: readonly SessionSnapshot[]): string[] {
  return sessions.filter(({ earlier }) => earlier !== undefined).map(({ sessionId }) => sessionId);
}
