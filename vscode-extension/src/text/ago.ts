const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Time since an event, in its largest unit: `3 days ago`. */
export function ago(then: number, now: number): string {
  const passed = now - then;
  // A clock that was set back is no news of the future.
  if (passed < MINUTE) {
    return "just now";
  }
  const [size, word]: [number, string] = passed < HOUR ? [MINUTE, "minute"] : passed < DAY ? [HOUR, "hour"] : [DAY, "day"];
  const value = Math.floor(passed / size);
  return `${value} ${word}${value === 1 ? "" : "s"} ago`;
}
