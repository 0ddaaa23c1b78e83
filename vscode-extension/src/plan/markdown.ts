import type { PlanItem } from "../protocol";
import { visible } from "../text/display";

/** A plan as a task list of Markdown, one line an item, with nothing in it that cannot be seen. */
export function planMarkdown(items: readonly PlanItem[]): string {
  return items
    .map(({ content, status }) => {
      const text = status === "cancelled" ? `~~${plain(content)}~~` : plain(content);
      return `- [${status === "completed" ? "x" : " "}] ${text}\n`;
    })
    .join("");
}

/** Text of a model as one line to paste. */
export function plain(text: string): string {
  return visible(text)
    .trim()
    .replace(/\s*\n\s*/g, " ");
}
