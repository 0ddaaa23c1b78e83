/** An API key, and the one server it is for. */
export interface Key {
  readonly provider: string;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly key: string;
}

/** The stored keys; an unreadable entry is no key. */
export function readKeys(kept: string | undefined): Key[] {
  try {
    const value: unknown = JSON.parse(kept ?? "[]");
    return Array.isArray(value) ? value.filter(isKey) : [];
  } catch {
    return [];
  }
}

/** With this key in place of the one for the same server; an empty one only takes that away. */
export function withKey(keys: readonly Key[], next: Key): Key[] {
  const others = keys.filter(({ provider, origin }) => provider !== next.provider || origin !== next.origin);
  return next.key === "" ? others : [...others, next];
}

function isKey(value: unknown): value is Key {
  const { provider, origin, key } = (value ?? {}) as Partial<Record<keyof Key, unknown>>;
  return typeof provider === "string" && typeof origin === "string" && typeof key === "string";
}
