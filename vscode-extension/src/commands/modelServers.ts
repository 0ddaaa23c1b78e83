import { l10n } from "vscode";

import type { ServerModel } from "../protocol";
import { tokens } from "../status/meter";
import { oneLine } from "../text/display";

/** Server that has models. */
export interface ModelServer {
  readonly name: string;
  /** Format of its requests. */
  readonly provider: "anthropic" | "openai";
  /** Absent for the server of the provider itself. */
  readonly baseUrl?: string;
}

/** Servers that need a key, as their documentation names them (November 2026). */
export const VENDORS: readonly ModelServer[] = [
  { name: "Anthropic", provider: "anthropic" },
  { name: "OpenAI", provider: "openai" },
  { name: "Google Gemini", provider: "openai", baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" },
  { name: "DeepSeek", provider: "openai", baseUrl: "https://api.deepseek.com/v1" },
  { name: "Qwen (Alibaba Cloud)", provider: "openai", baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1" },
  { name: "Kimi (Moonshot AI)", provider: "openai", baseUrl: "https://api.moonshot.ai/v1" },
  { name: "GLM (Z.ai)", provider: "openai", baseUrl: "https://api.z.ai/api/paas/v4" },
  { name: "OpenRouter", provider: "openai", baseUrl: "https://openrouter.ai/api/v1" },
];

/** Servers on this machine, at the ports that they use by default. */
export const LOCAL: readonly ModelServer[] = [
  { name: "Ollama", provider: "openai", baseUrl: "http://127.0.0.1:11434/v1" },
  { name: "LM Studio", provider: "openai", baseUrl: "http://127.0.0.1:1234/v1" },
  { name: "llama.cpp", provider: "openai", baseUrl: "http://127.0.0.1:8080/v1" },
];

/** Origin for which a key of a vendor is stored; `undefined` if the daemon alone knows it. */
export function originOf({ baseUrl }: ModelServer): string | undefined {
  return baseUrl === undefined ? undefined : new URL(baseUrl).origin;
}

/** The host of a server to which text would go without encryption; nothing for one that is encrypted or on this machine. */
export function plainHost({ baseUrl }: ModelServer): string | undefined {
  const { protocol, hostname } = new URL(baseUrl ?? "https://vendor");
  const here = /^(localhost|127(\.\d+){3}|\[::1\])$/iu.test(hostname);
  return protocol === "http:" && !here ? hostname : undefined;
}

/** The server at an address that the user typed; nothing if it is no URL. */
export function serverAt(address: string): ModelServer | undefined {
  const text = address.trim();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url === undefined || !/^https?:$/u.test(url.protocol)
    ? undefined
    : { name: url.host, provider: "openai", baseUrl: text.replace(/\/+$/u, "") };
}

/** `1 model`, `23 models`. */
export function countOf(models: readonly ServerModel[]): string {
  return models.length === 1 ? l10n.t("1 model") : l10n.t("{0} models", models.length);
}

/** Facts about a model: `200k tokens · $2 in, $10 out per million`. */
export function factsOf({ contextTokens, price }: ServerModel): string {
  const window = contextTokens === undefined ? [] : [l10n.t("{0} tokens", tokens(contextTokens))];
  const cost = price === undefined ? [] : [l10n.t("${0} in, ${1} out per million", price.input / 1_000, price.output / 1_000)];
  return [...window, ...cost].join(" · ");
}

/** Setting values that make this model answer, in the order in which they are written. What an earlier model needed goes. */
export function settingsFor(server: ModelServer, { name, contextTokens }: ServerModel): Readonly<Record<string, unknown>> {
  const stated = server.baseUrl === undefined ? undefined : contextTokens;
  return { name: oneLine(name), contextTokens: stated, price: undefined, baseUrl: server.baseUrl, provider: server.provider };
}
