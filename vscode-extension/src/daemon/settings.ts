import * as vscode from "vscode";

/**
 * The `cairn` section as the daemon wants it. That a workspace cannot set the model or
 * the review mode is the manifest's doing: these settings have the scope `application`
 * or `machine`, for which VS Code ignores workspace values.
 */
export function daemonSettings(): Record<string, unknown> {
  const section = vscode.workspace.getConfiguration().get<Record<string, unknown>>("cairn", {});
  // Where the daemon is found concerns us, not the daemon.
  const settings = Object.fromEntries(Object.entries(section).filter(([key]) => key !== "daemon"));
  return withoutEmpty(settings);
}

/** A setting left empty is one that was not made. */
function withoutEmpty(section: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(section)
      .filter(([, value]) => value !== "" && value !== null)
      .map(([key, value]) => [key, isSection(value) ? withoutEmpty(value) : value]),
  );
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
