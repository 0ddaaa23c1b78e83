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

/** Only the user can make it: VS Code ignores what a workspace says of it. */
export function isUsersOwn({ scope }: Property): boolean {
  return scope === "application" || scope === "machine";
}

/**
 * The `cairn` section as the daemon wants it. A workspace cannot set where text and keys go, what is
 * asked, or what runs: those settings have the scope `application` or `machine`, and here they are
 * taken from the user alone once more, whatever the manifest or VS Code make of them.
 */
export function settingsOf(properties: Readonly<Record<string, Property>>, lookup: Lookup): Record<string, unknown> {
  const section: [string, unknown][] = [];
  for (const [name, property] of Object.entries(properties)) {
    const key = name.replace(/^cairn\./, "");
    // Where the daemon is found concerns us, not the daemon.
    if (key !== "daemon.path") {
      section.push([key, valueOf(property, lookup(name))]);
    }
  }
  return withoutEmpty(Object.fromEntries(section));
}

export function valueOf(property: Property, { defaultValue, globalValue, effective }: Made): unknown {
  return isUsersOwn(property) ? (globalValue ?? defaultValue) : effective;
}

/** The settings of a manifest, whose groups are for the reader. */
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
