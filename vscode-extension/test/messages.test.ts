import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import type { ActionId, UiMessage } from "../src/protocol";
import { actionOf, actionsOfEnd, textOf } from "../src/text/messages";
import { said } from "./entries";
import { translations } from "./vscode";

const source = readFileSync(new URL("../src/protocol.ts", import.meta.url), "utf8");

/** Text of a generated type. */
function declaration(type: string): string {
  return new RegExp(`export type ${type} = ([^;]+);`, "u").exec(source)?.[1] ?? "";
}

describe("the text of a message", () => {
  it("has its arguments in their places, of every kind", () => {
    const items = [said("{line} stays", { line: "one" }), said("two")];
    const args = {
      file: "a",
      count: 2,
      reason: said("it is {state}", { state: "gone" }),
      list: { items, separator: "; " },
      needs: ["git", "network"],
    };
    expect(textOf(said("{file}: {reason}, {count}: {list} ({needs})", args))).toBe("a: it is gone, 2: one stays; two (git, network)");
  });

  it("groups the digits of long numbers only", () => {
    expect(textOf(said("{process}: {tokens}", { process: 1234, tokens: 32768 }))).toBe("1234: 32,768");
  });

  it("does not look for places in an argument", () => {
    expect(textOf(said("Move {from} to {to}", { from: "{to}", to: "b/{from}" }))).toBe("Move {to} to b/{from}");
  });

  it("is translated, with the messages in it", () => {
    translations.set("{file}: {reason}", "{reason} in {file}").set("gone", "weg");
    const text = textOf(said("{file}: {reason}", { file: "a", reason: said("gone") }));
    translations.clear();
    expect(text).toBe("weg in a");
  });
});

describe("an action", () => {
  it("has a label and a command for each id of the protocol", () => {
    const ids = [...declaration("ActionId").matchAll(/"(\w+)"/gu)].map(([, id]) => id as ActionId);
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
    expect(actionOf({ action: "toString" as ActionId })).toBeUndefined();
    expect(actionOf({})).toBeUndefined();
  });
});

describe("the buttons of a failed task", () => {
  const labels = (problem: Partial<UiMessage> | undefined, canRetry = true): string[] =>
    actionsOfEnd(problem, "s", canRetry).map(({ label }) => label);

  it("offer a key and another model where the key is missing or rejected", () => {
    expect(labels({ args: { provider: "anthropic" }, action: "set_api_key" })).toEqual(["Set API Key…", "Choose Model…", "Try Again"]);
  });

  it("offer to try again, once, and only where the text of the task is known", () => {
    const timeout: Partial<UiMessage> = { action: "retry" };
    expect(labels(timeout)).toEqual(["Try Again"]);
    expect(labels(undefined)).toEqual(["Try Again"]);
    expect(labels(timeout, false)).toEqual([]);
    expect(actionsOfEnd(timeout, "s", true)[0]?.command).toEqual(["cairn.tryAgain", "s"]);
  });

  it("offer what the daemon names first", () => {
    expect(labels({ code: "repeated_call", args: { tool: "bash" }, action: "reply" })).toEqual(["Reply", "Try Again"]);
  });
});
