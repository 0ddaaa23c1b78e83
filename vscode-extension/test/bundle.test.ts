import { readFileSync, readdirSync, writeFileSync } from "node:fs";

import { getL10nJson } from "@vscode/l10n-dev";
import { expect, it } from "vitest";

const extension = new URL("../", import.meta.url);
const bundle = new URL("l10n/bundle.l10n.json", extension);

/** Sources of the extension and of its page as one file, which the exporter reads faster. */
function source(): string {
  const names = ["src", "webview"].flatMap((folder) =>
    readdirSync(new URL(folder, extension), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  );
  const shipped = names.filter((name) => name.endsWith(".ts") && !name.includes("/test/"));
  return shipped
    .map((name) => readFileSync(new URL(name, extension), "utf8"))
    .filter((text) => text.includes("l10n.t"))
    .join("\n");
}

/** `make gen` writes the file. */
it("has the texts of the extension, its page and the daemon for translators", async () => {
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
