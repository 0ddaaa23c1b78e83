/** Declaration of a setting in the manifest. */
export interface Property {
  readonly scope?: string;
}

/** A setting as VS Code has it: by where it was made, and as it counts. */
export interface Made {
  readonly defaultValue?: unknown;
  readonly globalValue?: unknown;
  readonly effective: unknown;
}

/** Looks up the values of a setting by its full name. */
export type Lookup = (name: string) => Made;

/** Scopes that only the user can set: VS Code ignores a value of the workspace. */
export function isUsersOwn({ scope }: Property): boolean {
  return scope === "application" || scope === "machine";
}

/** Settings that concern the extension alone, not the daemon. */
const OWN: ReadonlySet<string> = new Set(["daemon.path", "review.advance", "review.removedText", "notify.done"]);

/**
 * The `cairn` section for the daemon. A workspace cannot set model servers, approvals or commands: those
 * settings have the scope `application` or `machine`. As a second check, this function takes them only
 * from the user's settings.
 */
export function settingsOf(properties: Readonly<Record<string, Property>>, lookup: Lookup): Record<string, unknown> {
  const section: [string, unknown][] = [];
  for (const [name, property] of Object.entries(properties)) {
    const key = name.replace(/^cairn\./, "");
    if (!OWN.has(key)) {
      section.push([key, valueOf(property, lookup(name))]);
    }
  }
  return withoutEmpty(Object.fromEntries(section));
}

export function valueOf(property: Property, { defaultValue, globalValue, effective }: Made): unknown {
  return isUsersOwn(property) ? (globalValue ?? defaultValue) : effective;
}

/** The settings of a manifest, whose groups only structure the settings editor. */
export function propertiesOf(manifest: unknown): Record<string, Property> {
  const { contributes } = manifest as { contributes: { configuration: { properties: Record<string, Property> }[] } };
  return Object.assign({}, ...contributes.configuration.map(({ properties }) => properties)) as Record<string, Property>;
}

/** A setting left empty is one that was not made. */
function withoutEmpty(section: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(section)
      .filter(([, value]) => value !== "" && value !== null && value !== undefined)
      .map(([key, value]) => [key, isSection(value) ? withoutEmpty(value) : value]),
  );
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
