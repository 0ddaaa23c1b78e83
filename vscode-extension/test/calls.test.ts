import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

import { commandOf, fileOf, subjectOf, updatesPlan } from "../src/text/calls";
import { said } from "./entries";

const titled = (title: ReturnType<typeof said>): { name: string; title: typeof title } => ({ name: "bash", title });

describe("the parts of a call's title", () => {
  it("come from its arguments", () => {
    expect(commandOf(titled(said("Run {command}", { command: "npm test" }, "run")))).toBe("npm test");
    expect(fileOf(titled(said("Edit {file}", { file: "a b" }, "edit_file")))).toBe("a b");
    expect(fileOf(titled(said("Move {from} to {to}", { from: "a", to: "b" }, "move_file")))).toBe("a to b");
    expect(subjectOf(said("Search {pattern} in {place}", { pattern: "x y", place: "a" }, "search_in"))).toBe("x y");
    expect(updatesPlan(titled(said("Update the plan", {}, "update_plan")))).toBe(true);
    expect(updatesPlan(titled(said("Look at the tasks", {}, "view_tasks")))).toBe(false);
  });

  it("are the title as a whole for a call of an earlier version", () => {
    expect(commandOf(titled(said("Run npm test")))).toBe("Run npm test");
    expect(commandOf(titled(said("bash")))).toBeUndefined();
    expect(fileOf(titled(said("Delete a")))).toBe("Delete a");
    expect(subjectOf(said("Search x"))).toBe("");
  });
});

describe("text that the daemon wrote for the model or the user", () => {
  const source = fileURLToPath(new URL("../src/", import.meta.url));
  const inFolder = (folder: string): string[] => readdirSync(source + folder).map((name) => `${folder}/${name}`);
  const files = [...inFolder("stores"), ...["items", "state", "restored"].map((name) => `conversation/${name}.ts`)].concat(
    ["rows", "rowItems", "tree"].map((name) => `plan/${name}.ts`),
    ["calls", "counts", "processes"].map((name) => `text/${name}.ts`),
  );

  it.each(files)("is not parsed to learn a fact: %s has no regular expression", (name) => {
    expect(patterns(readFileSync(source + name, "utf8"))).toEqual([]);
  });

  it("would be found", () => {
    expect(patterns('const a = /^x/u.exec(b);\nconst c = new RegExp("d");')).toEqual(["/^x/u", "RegExp"]);
  });
});

/** Regular expressions of a source. */
function patterns(text: string): string[] {
  const file = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node) || (ts.isIdentifier(node) && node.text === "RegExp")) {
      found.push(node.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}
