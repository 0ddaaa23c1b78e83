// What the end-to-end tests have VS Code load: the extension as it is shipped, which stands next to this file once it is
// built, and a report of its state to the test.

import type * as vscode from "vscode";

import type * as extension from "../../src/extension";
import { reportState, stateOf, testPort } from "./state";
import { watchSurface } from "./surface";

const shipped = module.require("./extension.js") as typeof extension;

/** Starts the extension, and the report if `CAIRN_E2E` names a port. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const port = testPort(process.env["CAIRN_E2E"]);
  if (port === undefined) {
    await shipped.activate(context);
    return;
  }
  const surface = watchSurface();
  await shipped.activate(context, (store, conversation) => reportState(port, { ...stateOf(store, conversation), ...surface }));
}

export const deactivate = shipped.deactivate;
