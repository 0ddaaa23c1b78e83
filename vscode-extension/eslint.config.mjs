import tseslint from "typescript-eslint";

export default tseslint.config({ ignores: ["dist/", "bin/", "src/protocol.ts", "*.mjs"] }, ...tseslint.configs.strictTypeChecked, {
  languageOptions: { parserOptions: { projectService: true } },
  rules: {
    "no-console": "error",
    "@typescript-eslint/no-floating-promises": "error",
    "@typescript-eslint/switch-exhaustiveness-check": "error",
    "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    // How an object is copied without some of its members.
    "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
    // Disposables are structural in VS Code's API, and code points are what we cut text by.
    "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
    "@typescript-eslint/no-misused-spread": "off",
    // `void promise` is how a deliberate fire-and-forget is written.
    "@typescript-eslint/no-confusing-void-expression": "off",
  },
});
