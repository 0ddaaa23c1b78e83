import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

export default defineConfig({
  // The module exists in the editor only; what tests need of it is in the fake.
  resolve: { alias: { vscode: fileURLToPath(new URL("test/vscode.ts", import.meta.url)) } },
  // The deadline is for failures only: a machine that builds beside the tests is slow.
  test: { testTimeout: 60_000 },
});
