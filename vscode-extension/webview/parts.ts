import { type ComponentChild, type ComponentType, type VNode, createElement } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { ViewState } from "../src/conversation/messages";
import { renderMarkdown } from "./markdown";

/** Attributes of an element, and its handlers such as `onClick`. */
export type Attributes = Readonly<Record<string, unknown>>;

/** Description of an element with these classes, attributes and children. Strings become text: nothing is parsed. */
export function h(tag: string, className = "", attributes: Attributes = {}, ...children: readonly ComponentChild[]): VNode {
  return createElement(tag, className === "" ? attributes : { class: className, ...attributes }, ...children);
}

/** Description of a component, which has its own state. */
export function part<Props extends object>(
  type: ComponentType<Props>,
  props: Props & { readonly key?: string; readonly ref?: unknown },
  ...children: readonly ComponentChild[]
): VNode {
  return createElement(type, props, ...children) as VNode;
}

/** An icon of VS Code, which a screen reader does not read. */
export function icon(name: string, spins = false): VNode {
  return h("span", `codicon codicon-${name}${spins ? " codicon-modifier-spin" : ""}`, { "aria-hidden": "true" });
}

/** A button with an icon, named by its words. */
export function iconButton(name: string, words: string, run: () => void, attributes: Attributes = {}): VNode {
  return h("button", "icon-button", { type: "button", title: words, "aria-label": words, onClick: run, ...attributes }, icon(name));
}

/** True while a task runs. */
export function isBusy({ phase }: Pick<ViewState, "phase">): boolean {
  return phase === "running" || phase === "waiting" || phase === "retrying";
}

/** A button with words. */
export function button(words: ComponentChild, className: string, run: () => void, attributes: Attributes = {}): VNode {
  return h("button", className, { type: "button", onClick: run, ...attributes }, words);
}

/** Attributes of a button that is shown as disabled until its answer counts. The focus can stay on it. */
export function armedIf(armed: boolean): Attributes {
  return { "aria-disabled": armed ? undefined : "true" };
}

/** `+16 −17`, in the colors of Git. */
export function counts(added: number, removed: number): VNode {
  return h("span", "counts", {}, h("span", "added", {}, `+${added}`), " ", h("span", "removed", {}, `−${removed}`));
}

/** A text of the agent. */
export function markdown(text: string, className = "markdown"): VNode {
  return part(Markdown, { text, className });
}

function Markdown({ text, className }: { readonly text: string; readonly className: string }): VNode {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => root.current?.replaceChildren(renderMarkdown(text)), [text]);
  return h("div", className, { ref: root });
}
