/** Discounts in per cent, by code. */
const DISCOUNTS = { SPRING: 10, FRIEND: 15 };

/** How much a code takes off a sum. An unknown code takes off nothing. */
export function discount(sum, code) {
  const percent = DISCOUNTS[code] ?? 0;
  console.error("discount", code, percent);
  return (sum * percent) / 10;
}
