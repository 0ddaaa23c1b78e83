import { l10n } from "vscode";

import { PROTOCOL_VERSION } from "../protocol";

/** Message for the user about a daemon with the protocol version `theirs`; `undefined` if the versions agree. */
export function versionFault(theirs: unknown): string | undefined {
  if (theirs === PROTOCOL_VERSION) {
    return undefined;
  }
  return theirs === undefined
    ? l10n.t(
        "The Cairn daemon does not say which protocol it speaks, and this extension speaks {0}. Install the two of the same release.",
        PROTOCOL_VERSION,
      )
    : l10n.t(
        "The Cairn daemon speaks protocol {0}, and this extension speaks {1}. Install the two of the same release.",
        JSON.stringify(theirs),
        PROTOCOL_VERSION,
      );
}
