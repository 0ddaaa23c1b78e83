import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { menuEntries } from "../src/commands/menu";
import { TestStore } from "./testStore";

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: string; readonly category?: string; readonly enablement?: string }[];
    readonly menus: Readonly<Record<string, readonly { readonly command: string; readonly when?: string; readonly submenu?: string }[]>>;
    readonly submenus: readonly { readonly id: string }[];
  };
}

type Context = Readonly<Record<string, string | boolean | readonly string[]>>;

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf8"));
const texts = read("package.nls.json") as Readonly<Record<string, string>>;
const { commands: declared, menus, submenus } = (read("package.json") as Manifest).contributes;
const commands = declared.map((command) => ({ ...command, title: texts[command.title.slice(1, -1)] ?? command.title }));

/** Evaluates the part of VS Code's `when` grammar that the palette uses: `||`, `&&`, `!`, `in`, `true` and `false`. */
function holds(when: string, context: Context): boolean {
  return when.split("||").some((all) =>
    all.split("&&").every((term) => {
      const [, not, key = "", list] = /^(!?)([\w.]+)(?: in ([\w.]+))?$/.exec(term.trim()) ?? [];
      if (key === "") {
        throw new Error(`Not understood: ${term}`);
      }
      const value = key === "true" || (key === "false" ? false : context[key]);
      const listed = list === undefined ? value : ((context[list] as readonly string[] | undefined) ?? []).includes(String(value));
      return Boolean(listed) !== (not === "!");
    }),
  );
}

/** Titles that the palette shows. VS Code leaves out commands whose `enablement` does not hold. */
function palette(context: Context): string[] {
  return commands
    .filter(({ command, enablement = "true" }) => {
      const whens = (menus["commandPalette"] ?? []).filter((entry) => entry.command === command).map(({ when = "true" }) => when);
      return holds(enablement, context) && whens.every((when) => holds(when, context));
    })
    .map(({ title, category }) => (category === undefined ? title : `${category}: ${title}`));
}

const session = { "cairn.hasSession": true };
const edits = { ...session, "cairn.hasHunks": true, "cairn.files": ["/w/a.ts"] };

describe("the command palette", () => {
  it("holds a few commands without a session", () => {
    expect(palette({})).toEqual([
      "Agent: run task",
      "Cairn: New Task",
      "Cairn: Set API Key",
      "Cairn: Try the Demo",
      "Cairn: Choose Model",
      "Cairn: Choose Mode",
      "Cairn: Show Conversation",
      "Cairn: Open Session",
      "Cairn: Show Log",
    ]);
  });

  it("offers a restart of a stopped daemon", () => {
    expect(palette({ "cairn.stopped": true })).toContain("Cairn: Restart Cairn");
  });

  it("holds about twenty commands with a session", () => {
    expect(palette(session)).toHaveLength(22);
    expect(palette({ ...session, "cairn.planOpen": true })).toHaveLength(23);
    expect(palette({ ...edits, "cairn.planOpen": true })).toHaveLength(29);
    expect(palette({ ...edits, "cairn.running": true, "cairn.planOpen": true })).toHaveLength(26);
  });

  it("offers decisions on an edit only where there is one", () => {
    const here = palette({ ...edits, resourcePath: "/w/a.ts" });
    expect(here.filter((title) => !palette({ ...edits, resourcePath: "/w/b.ts" }).includes(title))).toEqual([
      "Cairn: Accept Edit",
      "Cairn: Reject Edit",
      "Cairn: Reject Edit with Reason",
      "Cairn: Accept Edits in File",
      "Cairn: Reject Edits in File",
      "Cairn: Reject Edits in File with Reason",
      "Cairn: Open Changes",
    ]);
  });

  it("never holds a command for a row or a question", () => {
    const everything = palette({
      ...edits,
      resourcePath: "/w/a.ts",
      "cairn.running": true,
      "cairn.planReady": true,
      "cairn.planOpen": true,
      "cairn.stopped": true,
    });
    const onRows = /Allow|Deny|Subagent|Step|Linked|Copy|Queue$|Start Now|Change(?!s)/;
    expect(everything.filter((title) => onRows.test(title))).toEqual(["Cairn: Manage Allowed Commands"]);
  });

  it("offers to try a failed task again, while none runs", () => {
    expect(palette({ ...session, "cairn.canTryAgain": true })).toContain("Cairn: Try Again");
    expect(palette({ ...session, "cairn.canTryAgain": true, "cairn.running": true })).not.toContain("Cairn: Try Again");
    expect(palette(session)).not.toContain("Cairn: Try Again");
  });
});

describe("the title of a command", () => {
  it("has the category of the extension, except the two main commands", () => {
    expect(commands.filter(({ category }) => category !== "Cairn")).toEqual([
      { command: "cairn.runTask", title: "Agent: run task", icon: "$(add)" },
      { command: "cairn.review.start", title: "Agent: review edits", icon: "$(checklist)" },
    ]);
  });

  it("is in title case, with the words of the user interface", () => {
    const small = new Set(["and", "as", "by", "for", "in", "of", "from", "the", "with"]);
    const titles = commands.filter(({ category }) => category !== undefined).map(({ title }) => title);
    expect(titles.filter((title) => title.split(" ").some((word) => !/^[A-Z]/.test(word) && !small.has(word)))).toEqual([]);
    expect(titles.filter((title) => /hunk|item|child|…/i.test(title))).toEqual([]);
    expect(new Set(titles).size).toBe(titles.length);
  });
});

describe("menus", () => {
  it("name only commands that are declared", () => {
    const declared = new Set(commands.map(({ command }) => command));
    const named = Object.values(menus).flatMap((entries) => entries.flatMap(({ command, submenu }) => (submenu === undefined ? [command] : [])));
    expect(named.filter((command) => !declared.has(command))).toEqual([]);
  });

  it("name only submenus that are declared and have entries", () => {
    const named = Object.values(menus).flatMap((entries) => entries.flatMap(({ submenu }) => submenu ?? []));
    expect(named).toEqual(submenus.map(({ id }) => id));
    expect(named.filter((id) => (menus[id] ?? []).length === 0)).toEqual([]);
  });
});

describe("the menu of the status bar", () => {
  const store = new TestStore("plan");

  it("selects an entry that only shows something, also while a task runs and when a plan waits", () => {
    const first = (): string | undefined => menuEntries(store.state)[0]?.command;
    expect(first()).toBe("cairn.showConversation");
    store.turn({ sessionId: "s", turnId: "t", rev: 1, phase: { kind: "started", text: "Fix the cart" } });
    expect(menuEntries(store.state).map(({ command }) => command)).toContain("cairn.cancel");
    expect(first()).toBe("cairn.showConversation");
  });
});
