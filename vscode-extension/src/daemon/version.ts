import { PROTOCOL_VERSION } from "../protocol";

/** Message for the user about a daemon with the protocol version `theirs`; `undefined` if the versions agree. */
export function versionFault(theirs: unknown): string | undefined {
  if (theirs === PROTOCOL_VERSION) {
    return undefined;
  }
  const said = theirs === undefined ? "does not say which protocol it speaks" : `speaks protocol ${JSON.stringify(theirs)}`;
  return `The Cairn daemon ${said}, and this extension speaks ${PROTOCOL_VERSION}. Install the two of the same release.`;
}
