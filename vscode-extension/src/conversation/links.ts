/** A target of a link in the conversation. */
export type Target =
  | { readonly kind: "web"; readonly address: string }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly line: number | undefined;
      readonly column: number | undefined;
      /** Last line of a range of whole lines. */
      readonly lastLine?: number;
    };

const PLACE = /(?::(\d{1,7})(?:[:-](\d{1,7}))?|#L(\d{1,7})(?:-L?(\d{1,7}))?)$/u;

/**
 * Meaning of a link that the agent wrote: an https address, or a file with an optional place, such as
 * `src/a.ts:12`. Nothing for any other scheme. A file still has to be found in the workspace.
 */
export function readTarget(target: string): Target | undefined {
  if (/[\u0000-\u001f\u007f]/u.test(target)) {
    return undefined;
  }
  if (/^https?:\/\//iu.test(target)) {
    try {
      const url = new URL(target);
      return url.username === "" && url.password === "" ? { kind: "web", address: url.href } : undefined;
    } catch {
      return undefined;
    }
  }
  const [, line, column, hash, last] = PLACE.exec(target) ?? [];
  const path = decoded(target.replace(PLACE, "").replace(/^file:\/\//iu, ""));
  if (path === "" || /^[a-z][\w+.-]*:/iu.test(path)) {
    return undefined;
  }
  const at = line ?? hash;
  return {
    kind: "file",
    path,
    line: at === undefined ? undefined : Number(at),
    column: column === undefined || !target.includes(`:${line}:`) ? undefined : Number(column),
    ...(last !== undefined && { lastLine: Number(last) }),
  };
}

/** True if a path is in one of these folders, whatever `.` and `..` it has. Both have `/` as separator. */
export function isInside(path: string, folders: readonly string[]): boolean {
  return !path.split("/").includes("..") && folders.some((folder) => path.startsWith(folder.endsWith("/") ? folder : `${folder}/`));
}

function decoded(path: string): string {
  try {
    return path.includes("%") ? decodeURIComponent(path) : path;
  } catch {
    return path;
  }
}
