import type { Agent } from "../daemon/agent";
import { requests } from "../protocol";
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
