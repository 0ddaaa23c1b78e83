// Reporter of node's test runner for `suite.mjs`: one line of JSON for each event, marked so that it is told from what
// the tests print.

export const MARK = "\u0000";

export default async function* events(source) {
  for await (const { type, data } of source) {
    const { name, skip, message, nesting, details } = data ?? {};
    if (type === "test:pass" || type === "test:fail") {
      const error = details.error?.cause ?? details.error;
      // A scene is counted by its steps, unless its beginning or its end fails.
      if (details.type === "suite" && (type === "test:pass" || details.error?.failureType === "subtestsFailed")) {
        continue;
      }
      const reason = type === "test:fail" ? String(error?.stack ?? error?.message ?? error) : undefined;
      yield line({ type, name, skip, took: details.duration_ms, reason });
    } else if (type === "test:diagnostic" && nesting > 0) {
      yield line({ type, message });
    }
  }
}

function line(event) {
  return `${MARK}${JSON.stringify(event)}\n`;
}
