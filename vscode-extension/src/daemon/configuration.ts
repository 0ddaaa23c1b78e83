import * as vscode from "vscode";

import { type Made, type Property, propertiesOf, settingsOf, valueOf } from "./settings";

/** The settings of this extension as VS Code has them, each from where it may come. */
export class Configuration {
  readonly #properties: Record<string, Property>;

  /** `manifest`: the extension's own `package.json`. */
  constructor(manifest: unknown) {
    this.#properties = propertiesOf(manifest);
  }

  forDaemon(): Record<string, unknown> {
    return settingsOf(this.#properties, lookup);
  }

  /** Value of a text setting, or its default in the manifest; `name` is without the section. */
  text(name: string): string {
    const key = `cairn.${name}`;
    const value = valueOf(this.#properties[key] ?? {}, lookup(key));
    return typeof value === "string" ? value.trim() : "";
  }
}

function lookup(name: string): Made {
  const settings = vscode.workspace.getConfiguration();
  const made = settings.inspect(name);
  return { defaultValue: made?.defaultValue, globalValue: made?.globalValue, effective: settings.get(name) };
}
