import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { type Made, isUsersOwn, propertiesOf, settingsOf } from "../src/daemon/settings";
import { type Facts, statusLabel } from "../src/status/label";
import { readKeys, withKey } from "../src/stores/keys";
import { TestStore } from "./testStore";
import { said } from "./entries";

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { supported: unknown; restrictedConfigurations: string[] } };
}

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8")) as Manifest;
const properties = propertiesOf(manifest);

/** Settings that a repository may set: the kind of plan, and saving of the agent's edits. */
const HARMLESS = [
  "cairn.plan.dialect",
  "cairn.plan.initialReminder",
  "cairn.plan.verification",
  "cairn.plan.endReminder",
  "cairn.plan.reminder",
  "cairn.review.advance",
  "cairn.review.saveAtTurnEnd",
];

describe("settings of a workspace", () => {
  it.each(Object.entries(properties))("%s can be set by the user only, or is harmless", (name, property) => {
    expect(isUsersOwn(property)).toBe(!HARMLESS.includes(name));
  });

  it("are not read in an untrusted workspace", () => {
    const { supported, restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
    expect(supported).toBe("limited");
    expect(restrictedConfigurations).toEqual(Object.keys(properties).filter((name) => !HARMLESS.includes(name)));
  });

  it("do not reach the daemon, also if VS Code returns them", () => {
    const fromRepository = settingsOf(properties, (): Made => ({ defaultValue: "default", globalValue: undefined, effective: "of the repository" }));
    const says = Object.entries(fromRepository)
      .filter(([, value]) => value === "of the repository")
      .map(([key]) => `cairn.${key}`);
    // Those of the extension alone are not sent.
    expect(says).toEqual(HARMLESS.filter((name) => name !== "cairn.review.advance"));
    expect(fromRepository["model.baseUrl"]).toBe("default");
    expect("daemon.path" in fromRepository).toBe(false);
  });

  it("keep those of the user; an empty value counts as not set", () => {
    const made: Record<string, Made> = {
      "cairn.model.name": { defaultValue: "", globalValue: "mine", effective: "theirs" },
      "cairn.model.baseUrl": { defaultValue: "", globalValue: undefined, effective: "https://theirs.example" },
      "cairn.plan.reminder": { effective: { policy: "off", rounds: null } },
    };
    const settings = settingsOf(properties, (name) => made[name] ?? { effective: undefined });
    expect(settings).toEqual({ "model.name": "mine", "plan.reminder": { policy: "off" } });
  });
});

describe("API keys", () => {
  const [openai, gate] = ["https://api.openai.com", "https://gate.example.com"];

  it("are stored for each server", () => {
    const one = withKey([], { provider: "openai", origin: openai, key: "a" });
    const two = withKey(one, { provider: "openai", origin: gate, key: "b" });
    expect(two.map(({ origin, key }) => `${origin} ${key}`)).toEqual([`${openai} a`, `${gate} b`]);
    expect(withKey(two, { provider: "openai", origin: openai, key: "c" }).map(({ key }) => key)).toEqual(["b", "c"]);
    expect(withKey(two, { provider: "openai", origin: openai, key: "" })).toEqual(two.slice(1));
    expect(readKeys(JSON.stringify(two))).toEqual(two);
  });

  it.each([undefined, "", "no JSON", "{}", '[{"provider":"openai","key":"without a server"}]'])("that cannot be parsed (%j) are ignored", (kept) => {
    expect(readKeys(kept)).toEqual([]);
  });
});

describe("a workspace that is not trusted", () => {
  it("is shown in the status bar, after more urgent messages", () => {
    const idle: Facts = {
      link: { kind: "running", version: "1" },
      model: undefined,
      connection: undefined,
      retryInMs: 0,
      waitsFor: "",
      running: false,
      plan: undefined,
      step: "",
      failed: false,
      asks: true,
      planReady: true,
      untrusted: true,
    };
    expect(statusLabel(idle)).toMatchObject({ text: "$(workspace-untrusted) Cairn: read-only" });
    expect(statusLabel(idle).state).toContain("read-only: workspace not trusted");
    expect(statusLabel({ ...idle, running: true }).text).toBe("$(loading~spin) Cairn");
    expect(statusLabel({ ...idle, link: { kind: "starting" } }).state).toBe("starting");
  });

  it("follows the state that the daemon reports", () => {
    const store = new TestStore();
    store.link({ kind: "running", version: "1" });
    const status = { rev: 1, model: { provider: "m", name: "m", replay: false }, connection: { kind: "idle" } } as const;
    store.status({ ...status, banners: [{ kind: "untrusted", ...said("") }] });
    expect(store.state.status.untrusted).toBe(true);
    store.status({ ...status, rev: 2, banners: [] });
    expect(store.state.status.untrusted).toBe(false);
  });
});
