import { delimiter, isAbsolute, join } from "node:path";
import { l10n } from "vscode";

/** Places to search for the daemon, and a check of a path. */
export interface Places {
  /** The setting `cairn.daemon.path`; empty when it is not set. */
  readonly setting: string;
  /** Folder of this extension. */
  readonly extension: string;
  readonly path: string;
  readonly platform: NodeJS.Platform;
  readonly isExecutable: (path: string) => boolean;
}

export type Found =
  | { readonly kind: "found"; readonly path: string; readonly from: "setting" | "bundle" | "path" }
  | { readonly kind: "missing"; readonly message: string };

/** The setting, else the binary shipped in the package, else the first one on the PATH. */
export function discover(places: Places): Found {
  const { setting, isExecutable } = places;
  if (places.platform === "win32") {
    return { kind: "missing", message: l10n.t("Cairn runs on Windows inside WSL: open the folder with “WSL: Reopen Folder in WSL”.") };
  }
  if (setting !== "") {
    return isExecutable(setting)
      ? { kind: "found", path: setting, from: "setting" }
      : { kind: "missing", message: l10n.t("The setting cairn.daemon.path names {0}, which is not an executable file.", setting) };
  }
  const bundled = join(places.extension, "bin", "cairn");
  if (isExecutable(bundled)) {
    return { kind: "found", path: bundled, from: "bundle" };
  }
  const onPath = places.path
    .split(delimiter)
    // A relative one would be another in each workspace, and a repository must not bring a daemon.
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, "cairn"))
    .find(isExecutable);
  return onPath === undefined
    ? {
        kind: "missing",
        message: l10n.t("The Cairn daemon was not found: this package brings none for this machine, and there is no `cairn` on the PATH."),
      }
    : { kind: "found", path: onPath, from: "path" };
}
