import type { Item } from "../src/conversation/messages";
import { visible } from "../src/text/display";
import { h, icon } from "./dom";
import { t } from "./strings";

/** Attachments that a message was sent with; files open by a click. */
export function drawSent({ attachments }: Extract<Item, { kind: "user" }>): HTMLElement | undefined {
  if (attachments.length === 0) {
    return undefined;
  }
  const chips = attachments.map(({ icon: name, label, target }) => {
    const words = visible(label);
    const attributes = target === "" ? { title: words } : { title: words, "data-target": target, tabindex: "0", role: "link" };
    return h(target === "" ? "span" : "a", "chip added", attributes, icon(name), h("span", "cut", {}, words));
  });
  return h("div", "chips sent", { role: "group", "aria-label": t("chips") }, ...chips);
}
