import { env, l10n } from "vscode";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const FORMAT = new Intl.RelativeTimeFormat(env.language);

/** Time since an event, in its largest unit: `3 days ago`. */
export function ago(then: number, now: number): string {
  const passed = now - then;
  // A clock that was set back is no news of the future.
  if (passed < MINUTE) {
    return l10n.t("just now");
  }
  const [size, unit]: [number, Intl.RelativeTimeFormatUnit] = passed < HOUR ? [MINUTE, "minute"] : passed < DAY ? [HOUR, "hour"] : [DAY, "day"];
  return FORMAT.format(-Math.floor(passed / size), unit);
}

/** Time of day; empty if it is not known. `at` is in milliseconds since 1970. */
export function timeOfDay(at: number | undefined): string {
  return at === undefined ? "" : new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}
