import { describe, expect, it } from "vitest";

import { commandOf, fileOf, updatesPlan } from "../src/text/calls";
import { said } from "./entries";

const titled = (title: ReturnType<typeof said>): { name: string; title: typeof title } => ({ name: "bash", title });

describe("the parts of a call's title", () => {
  it("come from its arguments", () => {
    expect(commandOf(titled(said("Run {command}", { command: "npm test" }, "run")))).toBe("npm test");
    expect(fileOf(titled(said("Edit {file}", { file: "a b" }, "edit_file")))).toBe("a b");
    expect(fileOf(titled(said("Move {from} to {to}", { from: "a", to: "b" }, "move_file")))).toBe("a to b");
    expect(updatesPlan(titled(said("Update the plan", {}, "update_plan")))).toBe(true);
    expect(updatesPlan(titled(said("Look at the tasks", {}, "view_tasks")))).toBe(false);
  });

  it("come from the English title of an earlier version", () => {
    expect(commandOf(titled(said("Run npm test")))).toBe("npm test");
    expect(commandOf(titled(said("bash")))).toBeUndefined();
    expect(fileOf(titled(said("Delete a")))).toBe("a");
    expect(updatesPlan(titled(said("Update the plan")))).toBe(true);
  });
});
