import { describe, expect, it } from "vitest";

import { LOCAL, VENDORS, factsOf, originOf, plainHost, serverAt, settingsFor } from "../src/commands/modelServers";

describe("a model server", () => {
  it("is reached over https, or on this machine", () => {
    for (const server of VENDORS) {
      expect(originOf(server) ?? "https://").toMatch(/^https:/u);
    }
    for (const server of LOCAL) {
      expect(originOf(server)).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/u);
    }
  });

  it("is named by the address that the user typed", () => {
    expect(serverAt(" https://models.example/v1// ")).toEqual({ name: "models.example", provider: "openai", baseUrl: "https://models.example/v1" });
    for (const text of ["", "models.example", "file:///etc/passwd", "javascript:alert(1)"]) {
      expect(serverAt(text)).toBeUndefined();
    }
  });

  it("names the host to which text would go without encryption", () => {
    const host = (baseUrl: string): string | undefined => plainHost({ name: "x", provider: "openai", baseUrl });
    expect(host("http://ollama:11434/v1")).toBe("ollama");
    expect(host("http://192.168.1.20:8080")).toBe("192.168.1.20");
    for (const other of ["https://ollama", "http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"]) {
      expect(host(other)).toBeUndefined();
    }
    expect([...VENDORS, ...LOCAL].map(plainHost).every((name) => name === undefined)).toBe(true);
  });

  it("brings the settings of its model, and takes those of an earlier one away", () => {
    const model = { name: "coder", contextTokens: 262_144, price: { input: 300, output: 1_250 } };
    const own = { name: "x", provider: "openai", baseUrl: "https://x.example/v1" } as const;
    expect(settingsFor(own, model)).toEqual({ provider: "openai", baseUrl: own.baseUrl, name: "coder", contextTokens: 262_144, price: undefined });
    const official = { name: "Anthropic", provider: "anthropic" } as const;
    expect(settingsFor(official, model)).toMatchObject({ baseUrl: undefined, contextTokens: undefined });
    expect(factsOf(model)).toBe("262k tokens · $0.3 in, $1.25 out per million");
    expect(factsOf({ name: "coder" })).toBe("");
  });
});
