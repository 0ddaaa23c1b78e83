import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { renderMarkdown } from "./markdown";

/** An icon of VS Code, which a screen reader does not read. */
export function Icon({ name, spins = false }: { readonly name: string; readonly spins?: boolean }): JSX.Element {
  return <span class={`codicon codicon-${name}${spins ? " codicon-modifier-spin" : ""}`} aria-hidden="true" />;
}

interface ButtonProps {
  readonly class: string;
  readonly run: () => void;
  readonly children: ComponentChildren;
  /** False: it is shown as disabled, but the focus can stay on it. */
  readonly enabled?: boolean;
  readonly title?: string | undefined;
}

/** A button with words. */
export function Button({ class: name, run, children, enabled = true, title }: ButtonProps): JSX.Element {
  return (
    <button type="button" class={name} title={title} aria-disabled={enabled ? undefined : "true"} onClick={run}>
      {children}
    </button>
  );
}

/** `+16 −17`, in the colors of Git. */
export function Counts({ added, removed }: { readonly added: number; readonly removed: number }): JSX.Element {
  return (
    <span class="counts">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  );
}

/** A text of the agent. */
export function Markdown({ text }: { readonly text: string }): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => root.current?.replaceChildren(renderMarkdown(text)), [text]);
  return <div class="markdown" ref={root} />;
}
