import { build } from "esbuild";

const production = process.argv.includes("--production");

const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : "linked",
  legalComments: "none",
  logLevel: "warning",
};

// The extension, and for the end-to-end tests a report of its state, which no package holds.
await build({
  ...common,
  entryPoints: { extension: "src/extension.ts", reporting: "test/reporting/main.ts" },
  outdir: "dist",
  platform: "node",
  target: "node20",
  format: "cjs",
  external: ["vscode"],
});

// The page of the conversation view, with its style and the font of its icons.
await build({
  ...common,
  entryPoints: ["webview/main.ts"],
  outdir: "dist/webview",
  platform: "browser",
  alias: { vscode: "./webview/vscode.ts" },
  target: "chrome128",
  format: "iife",
  loader: { ".ttf": "file" },
  assetNames: "[name]",
});
