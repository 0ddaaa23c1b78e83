/** Duration as text, in symbols that are the same in every language: `0.8 s`, `12 s`, `1 min 5 s`, `2 h 4 min`. */
export function duration(ms: number): string {
  return parts(ms)
    .map(({ value, short }) => `${value} ${short}`)
    .join(" ");
}

/** The same for the ear, in the words of a language: `12 seconds`. */
export function spokenDuration(ms: number, language: string): string {
  return parts(ms)
    .map(({ value, unit }) => new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(value))
    .join(" ");
}

interface Part {
  readonly value: number;
  readonly short: string;
  readonly unit: "hour" | "minute" | "second";
}

function parts(ms: number): Part[] {
  // A tenth says something about a quick command, and nothing about a slow one.
  const seconds = ms < 9_950 ? Math.round(ms / 100) / 10 : Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const hour: Part = { value: hours, short: "h", unit: "hour" };
  const minute: Part = { value: minutes % 60, short: "min", unit: "minute" };
  const second: Part = { value: minutes > 0 ? seconds % 60 : seconds, short: "s", unit: "second" };
  const shown = hours > 0 ? [hour, minute] : minutes > 0 ? [minute, second] : [second];
  return shown.filter(({ value }, index) => index === 0 || value > 0);
}
