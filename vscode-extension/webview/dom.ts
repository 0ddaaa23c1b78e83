/** Attributes of an element that {@link h} makes. Values are set as they are: nothing is parsed. */
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** An element with these classes, attributes and children; strings become text. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = "",
  attributes: Attributes = {},
  ...children: readonly (Node | string | undefined)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className !== "") {
    element.className = className;
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

/** An icon of VS Code, which a screen reader does not read. */
export function icon(name: string, spinning = false): HTMLElement {
  return h("span", `codicon codicon-${name}${spinning ? " codicon-modifier-spin" : ""}`, { "aria-hidden": "true" });
}

/** A button with words. */
export function button(words: string, className: string, run: () => void): HTMLButtonElement {
  const element = h("button", className, { type: "button" }, words);
  element.addEventListener("click", run);
  return element;
}

/** A button with an icon, named by its words. */
export function iconButton(name: string, words: string, run: () => void): HTMLButtonElement {
  const element = h("button", "icon-button", { type: "button", title: words, "aria-label": words }, icon(name));
  element.addEventListener("click", run);
  return element;
}
