import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { type CodedMessage, actionOf, actionsOfEnd, messageText, problemLines } from "../src/text/messages";

const source = readFileSync(new URL("../src/protocol.ts", import.meta.url), "utf8");

/** Text of a generated type. */
function declaration(type: string): string {
  return new RegExp(`export type ${type} = ([^;]+);`, "u").exec(source)?.[1] ?? "";
}

/** A value for an argument: a text, a list of one value, or the first code or name of the union that is its type. */
function argument(name: string, type: string, element: string): unknown {
  if (type === "Array") {
    const name = /^"(\w+)"/u.exec(declaration(element))?.[1];
    return [codes(element)[0] ?? name ?? fields(declaration(element))];
  }
  return ["string", "number"].includes(type) ? `<${name}>` : (codes(type)[0] ?? /"(\w+)"/u.exec(declaration(type))?.[1]);
}

/** A value for each named field of a type. */
function fields(text: string): Record<string, unknown> {
  const named = [...text.matchAll(/(\w+): (\w+)(?:<(\w+)>)?/gu)];
  return Object.fromEntries(named.map(([, name = "", type = "", element = ""]) => [name, argument(name, type, element)] as const));
}

/** Codes of a generated union, with the names of their arguments. */
function codes(type: string): CodedMessage[] {
  const members = [...declaration(type).matchAll(/"code": "(\w+)"(?:, "args": \{([^}]*)\})?/gu)];
  return members.map(([, code, args = ""]) => ({ code: code ?? "", args: fields(args) }));
}

const unions = [
  "RequestProblem",
  "TurnProblem",
  "StatusProblem",
  "TurnNotice",
  "ReviewProblem",
  "EditProblem",
  "ReadOnlyProblem",
  "SandboxState",
  "ApprovalQuestion",
  "ApprovalReason",
  "UnclearCommand",
  "DenyDoubt",
  "ToolLabel",
  "RetryReason",
  "QuarantineEntry",
  "QuarantineFault",
];
const problems = unions.flatMap(codes);

describe("the text of a message", () => {
  it("exists for each code of the protocol, without an unfilled argument", () => {
    expect(problems.length).toBeGreaterThan(175);
    const texts = problems.map((problem) => ({ ...problem, text: messageText(problem) ?? "" }));
    expect(texts.filter(({ text }) => text === "" || /\{|undefined/u.test(text))).toEqual([]);
  });

  it("fills arguments in", () => {
    const quarantined = (...files: CodedMessage[]): string | undefined =>
      messageText({ code: "files_quarantined", args: { folder: "/q", files, faults: [{ code: "search_incomplete" }] } });
    const listed = quarantined({ code: "new_file", args: { file: ".envrc" } }, { code: "more_files", args: { count: 3 } });
    expect(listed?.split("\n").slice(1)).toEqual([".envrc (new)", "and 3 more", expect.stringContaining("Not every folder")]);
    expect(quarantined({ code: "of_a_newer_daemon" })).toBeUndefined();
    expect(messageText({ code: "queue_full", args: { limit: 20 } })).toBe("20 follow-ups are waiting already. Remove one first.");
    expect(messageText({ code: "no_api_key", args: { provider: "anthropic", variable: "X_KEY" } })).toMatch(
      /^There is no API key for Anthropic\..*X_KEY/u,
    );
  });

  it("names what a command gets, and has none for a grant of a newer daemon", () => {
    const text = (code: string, ...needs: string[]): string | undefined => messageText({ code, args: { needs } });
    expect(text("run_command")).toBe("Run a command");
    expect(text("run_command", "network", "git")).toBe("Run with network access; may change .git (except hooks and config)");
    expect(text("command_needs", "git")).toBe("The command may change .git except hooks and config.");
    expect(text("run_command", "camera")).toBeUndefined();
    expect(text("command_needs", "camera")).toBeUndefined();
  });

  it("has the words of a reason that is a code", () => {
    const reason = { code: "journal_damaged", args: { records: 3, lost: 2 } };
    expect(messageText({ code: "session_read_only", args: { reason } })).toBe(
      "Its file is damaged: 3 records are shown, 2 lines from the damage on are not, so this session is read-only here. " +
        "Open it again when that has changed, or fork it.",
    );
    const missing = { code: "no_model_configured", args: { setting: "cairn.model.baseUrl" } };
    expect(messageText({ code: "no_usable_model", args: { reason: missing } })).toBe(
      "No model can be used, so the task was not started. " +
        "Add an API key, choose a model, or set cairn.model.baseUrl to a server on this machine.",
    );
  });

  it("takes the place of each English line that has a known code", () => {
    const reason = { code: "editor_failed", args: { reason: "gone" } };
    const problems = [{ code: "edit_refused", args: { file: "a", reason } }, { code: "of_tomorrow" }];
    expect(problemLines(["one", "two", "three"], problems)).toEqual(["a: gone", "two", "three"]);
    expect(problemLines(["one"], undefined)).toEqual(["one"]);
  });

  it("is the daemon's own where a reason is unknown, or English of a daemon before protocol 1.3", () => {
    const problems = [{ code: "of_tomorrow" }, "gone"].map((reason) => ({ code: "edit_refused", args: { file: "a", reason } }));
    expect(problemLines(["one", "two"], problems)).toEqual(["one", "two"]);
  });

  it("names the edits that stay accepted, with the reason of each", () => {
    const edits = [
      { line: "one", reason: "changed" },
      { line: "two", reason: "of_tomorrow" },
    ];
    const reason = { code: "edits_stay_accepted", args: { edits, more: 2 } };
    expect(messageText({ code: "edit_refused", args: { file: "a", reason } })).toBe(
      "a: the edit “one” stays accepted: its lines have changed since; the edit “two” stays accepted; and 2 more edits stay accepted",
    );
  });

  it("is the daemon's own where the code is unknown or absent", () => {
    expect(messageText({ code: "of_tomorrow" })).toBeUndefined();
    expect(messageText({ code: "constructor" })).toBeUndefined();
    expect(messageText({})).toBeUndefined();
    expect(messageText(undefined)).toBeUndefined();
  });
});

describe("an action", () => {
  it("has a label and a command for each id of the protocol", () => {
    const ids = [...declaration("ActionId").matchAll(/"(\w+)"/gu)].map(([, id]) => id ?? "");
    expect(ids.length).toBeGreaterThan(12);
    const faulty = ids.filter((action) => {
      const found = actionOf({ action });
      return found === undefined || found.label === "" || !/^(cairn|vscode|workbench)\./u.test(found.command[0]);
    });
    expect(faulty).toEqual([]);
  });

  it("opens the setting and the provider that the arguments name", () => {
    expect(actionOf({ action: "open_settings", args: { setting: "cairn.hooks" } })?.command).toEqual([
      "workbench.action.openSettings",
      "cairn.hooks",
    ]);
    expect(actionOf({ action: "set_api_key", args: { provider: "openai" } })?.command).toEqual(["cairn.setApiKey", "openai"]);
  });

  it("is absent for an unknown id", () => {
    expect(actionOf({ action: "toString" })).toBeUndefined();
    expect(actionOf({})).toBeUndefined();
  });
});

describe("the buttons of a failed task", () => {
  const labels = (problem: CodedMessage | undefined, canRetry = true): string[] => actionsOfEnd(problem, "s", canRetry).map(({ label }) => label);

  it("offer a key and another model where the key is missing or rejected", () => {
    expect(labels({ code: "key_rejected", args: { provider: "anthropic", reason: "no" }, action: "set_api_key" })).toEqual([
      "Set API Key…",
      "Choose Model…",
      "Try Again",
    ]);
  });

  it("offer to try again, once, and only where the text of the task is known", () => {
    const timeout = { code: "model_timeout", args: { reason: "slow" }, action: "retry" };
    expect(labels(timeout)).toEqual(["Try Again"]);
    expect(labels(undefined)).toEqual(["Try Again"]);
    expect(labels(timeout, false)).toEqual([]);
    expect(actionsOfEnd(timeout, "s", true)[0]?.command).toEqual(["cairn.tryAgain", "s"]);
  });

  it("offer what the daemon names first", () => {
    expect(labels({ code: "repeated_call", args: { tool: "bash" }, action: "reply" })).toEqual(["Reply", "Try Again"]);
  });
});
