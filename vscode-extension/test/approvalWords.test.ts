import { expect, it } from "vitest";

import type { ApproveParams } from "../src/protocol";
import { approvalOf } from "../src/text/approval";
import { said } from "./entries";
import { translations } from "./vscode";

const params: ApproveParams = {
  ...{ approvalId: "a", sessionId: "s", turnId: "t", callId: "c", cwd: "/w", rules: [] },
  title: said("Move a protected file"),
  command: "ls  {x}\n",
  reasons: [said("A hook in your settings asks for your approval."), said("This file may hold secrets.")],
  risks: [said("deletes files"), said("leaves the workspace")],
  forSession: said("exactly this, again"),
};

it("shows a question in the user's language", () => {
  translations.set("deletes files", "löscht Dateien");
  const { title, command, reason, risk, forSession } = approvalOf({
    ...params,
    command: "",
    files: said("Move {from} to {to}", { from: "a.env", to: "b" }),
  });
  translations.clear();
  expect([title, command, reason, risk, forSession]).toEqual([
    "Move a protected file",
    "Move a.env to b",
    "A hook in your settings asks for your approval. This file may hold secrets.",
    "löscht Dateien · leaves the workspace",
    "exactly this, again",
  ]);
});

it("shows a command as it is", () => {
  expect(approvalOf(params).command).toBe("ls  {x}\n");
});
