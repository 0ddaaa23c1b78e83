import { describe, expect, it } from "vitest";

import type { ApprovalQuestion, ApproveParams } from "../src/protocol";
import { inOwnWords } from "../src/text/approval";

describe("the words of a question", () => {
  const daemon = { approvalId: "a", sessionId: "s", turnId: "t", callId: "c", cwd: "/w", rules: [] };
  const english = { title: "English title", command: "English line", reason: "English reason.", forSession: "English scope" };

  it("are made from its codes", () => {
    const params: ApproveParams = {
      ...daemon,
      ...english,
      question: { code: "move_protected_file", args: { from: "a.env", to: "b" } },
      reasons: [{ code: "hook_asks" }, { code: "holds_secrets" }],
      sessionScope: "sameAction",
    };
    const { title, command, reason, forSession } = inOwnWords(params);
    expect([title, command, reason, forSession]).toEqual([
      "Move a protected file",
      "Move a.env to b",
      "A hook in your settings asks for your approval. This file may hold secrets.",
      "exactly this, again",
    ]);
  });

  it("are the daemon's without codes, and for codes of a newer daemon", () => {
    expect(inOwnWords({ ...daemon, ...english })).toEqual({ ...daemon, ...english });
    const newer = { question: { code: "fly" }, reasons: [{ code: "hook_asks" }, { code: "windy" }], sessionScope: "flight" };
    expect(inOwnWords({ ...daemon, ...english, ...newer } as unknown as ApproveParams)).toMatchObject(english);
  });

  it("leave a command as it is", () => {
    const question: ApprovalQuestion = { code: "run_command", args: { needs: [] } };
    expect(inOwnWords({ ...daemon, ...english, question })).toMatchObject({ title: "Run a command", command: "English line" });
  });
});
