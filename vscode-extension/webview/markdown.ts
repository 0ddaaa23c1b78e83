import { l10n } from "vscode";
import DOMPurify from "dompurify";
import MarkdownIt, { type Token } from "markdown-it";

import { plainHosts, visible } from "../src/text/display";

/** Characters of one text that are drawn as Markdown. The rest is plain: the agent may write without end. */
const MOST_MARKDOWN = 200_000;
/** Deepest nesting of lists and quotes, each of which counts twice. The parser leaves out what is deeper. */
const MOST_NESTING = 40;
/** Words that look like a file: with a folder or a place, and an ending. */
const FILE = /(?<![\w/@.:\\-])(?:\.{0,2}\/)?(?:[\w@.-]+\/)*[\w@.-]*\w\.[a-z]\w{0,9}(?::\d+(?:[:-]\d+)?)?(?![\w/-]|:\d)/giu;

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false, maxNesting: MOST_NESTING });
// Only whole addresses: `index.ts` is a file, not a host.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
// Every link is a button of ours that names its target: the extension checks it, so none is refused here.
markdown.validateLink = () => true;

/** True while the text of a link is rendered: a file in it is no second link. */
let inLink = false;

const { rules } = markdown.renderer;
rules["link_open"] = (tokens, index) => {
  inLink = true;
  return `<a class="link" data-target="${escapeHtml(attribute(tokens[index], "href"))}">`;
};
rules["link_close"] = () => {
  inLink = false;
  return "</a>";
};
rules["image"] = (tokens, index) => {
  const token = tokens[index];
  const words = l10n.t("Image: {0}", token?.content === "" ? attribute(token, "src") : (token?.content ?? ""));
  return `<a class="link" data-target="${escapeHtml(attribute(token, "src"))}">${escapeHtml(words)}</a>`;
};
rules["fence"] = (tokens, index) => codeBlock(tokens[index]?.content ?? "", tokens[index]?.info.trim().split(/\s/u)[0] ?? "");
rules["code_block"] = (tokens, index) => codeBlock(tokens[index]?.content ?? "", "");
rules["text"] = (tokens, index) => {
  const text = tokens[index]?.content ?? "";
  return inLink ? escapeHtml(text) : withFiles(text, (file) => file.includes("/") || /:\d/u.test(file));
};
rules["code_inline"] = (tokens, index) => `<code>${withFiles(tokens[index]?.content ?? "", (file, whole) => !inLink && file === whole)}</code>`;
rules["table_open"] = () => `<div class="table"><table>`;
rules["table_close"] = () => `</table></div>`;

const BLOCK = /^(?:P|LI|H[1-6]|PRE|TR|T[DH]|BLOCKQUOTE|DIV)$/u;

/** Words of drawn Markdown without its marks, as a screen reader says them. */
export function wordsOf(node: Node): string {
  return [...node.childNodes]
    .map((child) => (child instanceof Text ? child.data : `${wordsOf(child)}${BLOCK.test(child.nodeName) ? " " : ""}`))
    .join("");
}

/**
 * A text of the agent as elements: Markdown without HTML, then only tags and attributes of a list.
 * Links have no address that the page could follow, and nothing in it loads anything.
 */
export function renderMarkdown(text: string): DocumentFragment {
  const shown = plainHosts(visible(text));
  const environment = {};
  const tokens = markdown.parse(shown.slice(0, MOST_MARKDOWN), environment);
  if (tokens.some(({ level }) => level >= MOST_NESTING - 2)) {
    // Nothing is left out: a text that is nested too deep is shown as it was written.
    const whole = document.createDocumentFragment();
    whole.append(plain(shown));
    return whole;
  }
  inLink = false;
  const html = markdown.renderer.render(tokens, markdown.options, environment);
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: [..."a p br hr em strong s del code pre blockquote ul ol li h1 h2 h3 h4 h5 h6 table thead tbody tr th td div span".split(" ")],
    ALLOWED_ATTR: ["class", "data-target", "start"],
    // A target is never an address of the page: `readTarget` in the extension decides what it means.
    ADD_URI_SAFE_ATTR: ["data-target"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll("a")) {
    const target = link.dataset["target"] ?? "";
    link.setAttribute("role", "link");
    link.tabIndex = 0;
    link.title = l10n.t("Opens {0}", target);
  }
  if (shown.length > MOST_MARKDOWN) {
    fragment.append(plain(shown.slice(MOST_MARKDOWN)));
  }
  return fragment;
}

function plain(text: string): HTMLElement {
  const element = document.createElement("div");
  element.className = "plain";
  element.textContent = text;
  return element;
}

/**
 * Length of the beginning of a growing text that later text does not change: up to the last empty
 * line outside of a fenced block after which no list or quote continues.
 */
export function settledLength(text: string): number {
  let fence: string | undefined;
  let settled = 0;
  let at = 0;
  let blank = false;
  for (const line of text.split("\n")) {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/u.exec(line) ?? [];
    if (blank && fence === undefined && /^[^\s>*+\d|-]/u.test(line)) {
      settled = at;
    }
    if (mark !== undefined) {
      fence = fence === undefined ? mark : line.trim().startsWith(fence) && line.trim().length === mark.length ? undefined : fence;
    }
    blank = line.trim() === "";
    at += line.length + 1;
  }
  return settled;
}

function codeBlock(text: string, language: string): string {
  const name = /^[\w#+.-]{1,20}$/u.test(language) ? `<div class="code-name">${escapeHtml(language)}</div>` : "";
  return `<div class="code-block">${name}<pre><code>${escapeHtml(text)}</code></pre></div>`;
}

function withFiles(text: string, isFile: (file: string, whole: string) => boolean): string {
  let html = "";
  let from = 0;
  for (const match of text.matchAll(FILE)) {
    const [file] = match;
    if (isFile(file, text)) {
      html += `${escapeHtml(text.slice(from, match.index))}<a class="link" data-target="${escapeHtml(file)}">${escapeHtml(file)}</a>`;
      from = match.index + file.length;
    }
  }
  return html + escapeHtml(text.slice(from));
}

function attribute(token: Token | undefined, name: string): string {
  return String(token?.attrGet(name) ?? "");
}

function escapeHtml(text: string): string {
  return markdown.utils.escapeHtml(text);
}
