// Text for the user goes through `l10n.t`, so that it can be translated. The test reads the sources as TypeScript
// does, and finds literals that reach the window without it, and other literals that read like a sentence.

import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SOURCES = fileURLToPath(new URL("../", import.meta.url));

/** Calls that show their arguments. */
const SHOWING = /^(show(Information|Warning|Error)Message|setStatusBarMessage|say)$/u;

/** Properties and parameters whose value is shown or read aloud. */
const SHOWN =
  /^(label|description|detail|tooltip|title|placeHolder|placeholder|prompt|spoken|message|heading|explanation|openLabel|canReply|validationMessage|documentation)$/u;

/** Calls whose texts are for developers or programs. */
const UNSHOWN =
  /^(Error|TypeError|RangeError|appendLine|appendText|trace|debug|info|warn|error|log|replace|replaceAll|split|join|test|register\w*|querySelector|matches|closest)$/u;

/** Calls that make an element. Their second argument is its class in the style sheet. */
const ELEMENT = /^(h|button|article|markdown)$/u;

/** Properties whose value is for programs. */
const ATTRIBUTE = /^(class|className|"aria-keyshortcuts")$/u;

/**
 * Words of programs: context values of rows, keys, the frame of the page, an address, names of products, elements of
 * HTML, and words for the log of the daemon.
 */
const PROGRAM_WORDS: Readonly<Record<string, RegExp>> = {
  "src/commands/modelPicker.ts": /^https:/u,
  "src/commands/modelServers.ts": /^(Google Gemini|Qwen \(Alibaba Cloud\)|Kimi \(Moonshot AI\)|LM Studio)$/u,
  "src/conversation/html.ts": /^default-src|^<!DOCTYPE/u,
  "src/edits/applyEdit.ts": /^Not saved: \u0000$|^The editor did not save it\.$/u,
  "src/plan/rows.ts": /^(subagent running|past item|plan (running|ready|open))$/u,
  "src/review/commands.ts": /^\u0000 (zone|row|lens)$/u,
  "src/review/tree.ts": /^hunk outdated$/u,
  "webview/markdown.ts": /^<div class=|^a p br /u,
};

interface Finding {
  readonly line: number;
  readonly text: string;
}

/** Literals of a source that the user may read and that are not the text of `l10n.t`. */
function findings(source: string): Finding[] {
  const file = ts.createSourceFile("source.ts", source, ts.ScriptTarget.Latest, true);
  const found: Finding[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text !== undefined && (isShown(node) ? /\p{L}{2}/u.test(text) : readsLikeText(text)) && !isExempt(node)) {
      found.push({ line: file.getLineAndCharacterOfPosition(node.getStart()).line + 1, text });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Text of a literal, with the parts of a template apart. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
    return node.text;
  }
  if (ts.isTemplateExpression(node)) {
    // The name of an icon is no word.
    return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("\u0000").replace(/\$\([\w~-]+\)|\$\(\u0000\)/gu, "");
  }
  return undefined;
}

/** Two words one after the other, or a word and a value beside it. */
function readsLikeText(text: string): boolean {
  return /\p{L}{2,}[,.:;]? (\p{L}{2,}|\u0000)/u.test(text) || /\u0000[,.:;]? \p{L}{2,}/u.test(text);
}

/** True for a literal that is a value shown as it is: an argument of a message, or a label. */
function isShown(node: ts.Node): boolean {
  for (let at = node; ; at = at.parent) {
    const { parent } = at;
    if (ts.isConditionalExpression(parent) && parent.condition !== at) {
      continue;
    }
    if (ts.isParenthesizedExpression(parent) || (ts.isBinaryExpression(parent) && /^(\+|\|\||\?\?)$/u.test(parent.operatorToken.getText()))) {
      continue;
    }
    if (ts.isPropertyAssignment(parent)) {
      return SHOWN.test(parent.name.getText());
    }
    if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken && ts.isPropertyAccessExpression(parent.left)) {
      return SHOWN.test(parent.left.name.text);
    }
    return ts.isCallExpression(parent) && SHOWING.test(nameOf(parent.expression));
  }
}

/** True inside of `l10n.t`, of text for developers, and where TypeScript compares or declares instead of showing. */
function isExempt(node: ts.Node): boolean {
  for (let at = node; ; at = at.parent) {
    const { parent } = at;
    if ((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression !== at) {
      const name = nameOf(parent.expression);
      if (name === "t" || UNSHOWN.test(name) || (ELEMENT.test(name) && parent.arguments?.[1] === at)) {
        return true;
      }
    }
    if (ts.isPropertyAssignment(parent) && ATTRIBUTE.test(parent.name.getText())) {
      return true;
    }
    if (ts.isTypeNode(parent) || ts.isImportDeclaration(parent) || ts.isCaseClause(parent)) {
      return true;
    }
    if (ts.isStatement(parent) || ts.isFunctionLike(parent) || ts.isSourceFile(parent)) {
      return false;
    }
  }
}

function nameOf(callee: ts.Expression): string {
  return ts.isPropertyAccessExpression(callee) ? callee.name.text : callee.getText();
}

describe("the search", () => {
  it.each([
    [`void vscode.window.showInformationMessage("Done");`, "Done"],
    ["item.tooltip = `${name}\\nedit ${n} of ${all}`;", "\u0000\nedit \u0000 of \u0000"],
    [`const row = { label: held ? "Paused" : t("Next") };`, "Paused"],
    [`item.accessibilityInformation = { label: "File " + path };`, "File "],
    [`return open === 0 ? "nothing to do" : "";`, "nothing to do"],
    ["return `${count} edits`;", "\u0000 edits"],
  ])("finds the text in %s", (source, text) => {
    expect(findings(source)).toEqual([{ line: 1, text }]);
  });

  it.each([
    [`void vscode.window.showInformationMessage(vscode.l10n.t("All done: {0}", name));`],
    ['item.label = `$(check) ${t("Allow Once")}`;'],
    [`throw new Error("No such row");`],
    [`type Row = "past item" | "other item";`],
    [`log.info("The daemon runs");`],
    [`item.iconPath = new ThemeIcon("pass-filled");`],
  ])("leaves %s", (source) => {
    expect(findings(source)).toEqual([]);
  });
});

describe("text for the user", () => {
  const inFolder = (folder: string): string[] =>
    readdirSync(SOURCES + folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`);
  const names = [...inFolder("src"), ...inFolder("webview")].filter((name) => /\.tsx?$/u.test(name) && !name.includes("/test/"));

  it.each(names)("of %s can be translated", (name) => {
    const left = findings(readFileSync(SOURCES + name, "utf8")).filter(({ text }) => PROGRAM_WORDS[name]?.test(text) !== true);
    expect(left.map(({ line, text }) => `${name}:${line}: ${text.replaceAll("\u0000", "{}")}`)).toEqual([]);
  });
});

describe("text of the manifest", () => {
  const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf8"));
  const manifest = read("package.json") as { readonly contributes: unknown; readonly capabilities: unknown; readonly description: string };
  const texts = read("package.nls.json") as Readonly<Record<string, string>>;
  const strings = stringsOf(manifest, []);

  it("stands in package.nls.json", () => {
    const shown = stringsOf([manifest.contributes, manifest.capabilities, { description: manifest.description }], []);
    const literal = shown.filter(({ key, value }) => MANIFEST_TEXT.test(key) && value !== "Cairn" && !/^%.+%$/u.test(value));
    expect(literal).toEqual([]);
  });

  it("with code or links is Markdown", () => {
    const isMarkdown = (key: string): boolean => key.startsWith("markdown");
    const described = strings.filter(({ key }) => /description/iu.test(key));
    const textOf = (value: string): string => texts[value.slice(1, -1)] ?? value;
    expect(described.filter(({ key, value }) => !isMarkdown(key) && textOf(value).includes("`"))).toEqual([]);
  });

  it("is neither missing nor left over", () => {
    const used = strings.map(({ value }) => /^%(.+)%$/u.exec(value)?.[1]).filter((key) => key !== undefined);
    expect([...new Set(used)].sort()).toEqual(Object.keys(texts).sort());
  });
});

/** Properties of the manifest that VS Code shows. */
const MANIFEST_TEXT =
  /^(title|description|markdownDescription|enumDescriptions|markdownEnumDescriptions|markdownDeprecationMessage|contents|name|label|altText|aliases|category)$/u;

/** The strings below a value, with the names of their properties. Elements of a list bear the name of the list. */
function stringsOf(value: unknown, under: readonly string[]): { readonly key: string; readonly value: string }[] {
  const key = under.at(-1) ?? "";
  if (typeof value === "string") {
    return [{ key, value }];
  }
  if (Array.isArray(value)) {
    return value.flatMap((inside) => stringsOf(inside, under));
  }
  return typeof value === "object" && value !== null ? Object.entries(value).flatMap(([name, inside]) => stringsOf(inside, [...under, name])) : [];
}
