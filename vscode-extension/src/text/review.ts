import { l10n } from "vscode";

import type { ReviewNotification } from "../protocol";
import { oneLine } from "./display";

/** Origin of a moved file. */
export function movedFrom({ from }: Pick<ReviewNotification, "from">): string {
  return from === undefined ? l10n.t("moved from elsewhere") : l10n.t("moved from {0}", oneLine(from));
}
