import { readFileSync, readdirSync, writeFileSync } from "node:fs";

import { getL10nJson } from "@vscode/l10n-dev";
import { expect, it } from "vitest";

const extension = new URL("../", import.meta.url);
const bundle = new URL("l10n/bundle.l10n.json", extension);

/** Sources of the extension as one file, which the exporter reads faster. The page has no texts of its own. */
function source(): string {
  const names = readdirSync(new URL("src", extension), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const files = names.map((name) => readFileSync(new URL(`src/${name}`, extension), "utf8"));
  return files.filter((text) => text.includes("l10n.t")).join("\n");
}

/** `make gen` writes the file. */
it("has the texts of the extension and of the daemon for translators", async () => {
  const messages = JSON.parse(readFileSync(new URL("../tests/tables/messages.json", extension), "utf8")) as string[];
  const exported = await getL10nJson([{ extension: ".ts", contents: source() }]);
  const texts = { ...exported, ...Object.fromEntries(messages.map((text) => [text, text])) };
  const sorted = Object.fromEntries(Object.entries(texts).sort(([a], [b]) => (a < b ? -1 : 1)));
  const expected = `${JSON.stringify(sorted, null, 2)}\n`;
  if (process.env["UPDATE_EXPECT"] === "1") {
    writeFileSync(bundle, expected);
  }
  expect(readFileSync(bundle, "utf8")).toBe(expected);
});
