/** Discounts in per cent, by code. */
const DISCOUNTS = { SPRING: 10, FRIEND: 15 };

/** Returns the discount of a code. An unknown code gives no discount. */
export function discount(sum, code) {
  const percent = DISCOUNTS[code] ?? 0;
  console.error("discount", code, percent);
  return (sum * percent) / 10;
}
