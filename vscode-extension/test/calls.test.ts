import { describe, expect, it } from "vitest";

import type { LinkedCommand, SessionSnapshot, ToolLabel } from "../src/protocol";
import { commandOf, fileOf, titled, titledPlan, titledSession, updatesPlan } from "../src/text/calls";

const run: ToolLabel = { code: "run", args: { command: "npm test", needs: ["network"] } };
const words = "Run npm test (with network access)";

describe("the title of a call", () => {
  it("is made from its code and arguments", () => {
    expect(titled({ title: "English", label: run })).toEqual({ title: words, label: run });
    const moved: ToolLabel = { code: "move_file", args: { from: "a", to: "b/{from}" } };
    expect(titled({ title: "English", label: moved }).title).toBe("Move a to b/{from}");
  });

  it("is the daemon's for a call of an earlier version, and for a code of a newer daemon", () => {
    expect(titled({ title: "Read a" })).toEqual({ title: "Read a" });
    expect(titled({ title: "Fly", label: { code: "fly" } as unknown as ToolLabel }).title).toBe("Fly");
    const camera = { code: "run", args: { command: "a", needs: ["camera"] } } as unknown as ToolLabel;
    expect(titled({ title: "Run a (with the camera)", label: camera }).title).toBe("Run a (with the camera)");
  });

  it("is the same in a plan, in a list of calls and in a transcript", () => {
    const command: LinkedCommand = { callId: "c", title: "English", label: run, state: "done" };
    const plan = { items: [{ commands: [command] }] } as unknown as NonNullable<SessionSnapshot["plan"]>;
    const tool = { title: "English", label: run };
    const session = { plan, tools: [tool], subagents: [plan], transcript: [{ kind: "tool", ...tool }, { kind: "turn" }] };
    expect(titledPlan(plan).items[0]?.commands[0]?.title).toBe(words);
    const shown = titledSession(session as unknown as SessionSnapshot);
    expect([shown.plan?.items[0]?.commands[0]?.title, shown.tools[0]?.title, shown.subagents[0]?.items[0]?.commands[0]?.title]).toEqual(
      Array(3).fill(words),
    );
    expect(shown.transcript).toMatchObject([{ title: words }, { kind: "turn" }]);
  });
});

describe("the parts of a call's title", () => {
  it("come from its arguments, or from the English title of an earlier version", () => {
    expect(commandOf({ name: "bash", title: words, label: run })).toBe("npm test");
    expect(commandOf({ name: "bash", title: "Run npm test" })).toBe("npm test");
    expect(commandOf({ name: "bash", title: "bash" })).toBeUndefined();
    expect(fileOf({ title: "Edit a b", label: { code: "edit_file", args: { file: "a b" } } })).toBe("a b");
    expect(fileOf({ title: "x", label: { code: "move_file", args: { from: "a", to: "b" } } })).toBe("a to b");
    expect(fileOf({ title: "Delete a" })).toBe("a");
    expect([updatesPlan({ title: "x", label: { code: "update_plan" } }), updatesPlan({ title: "Update the plan" })]).toEqual([true, true]);
    expect(updatesPlan({ title: "Update the plan", label: { code: "view_tasks" } })).toBe(false);
  });
});
