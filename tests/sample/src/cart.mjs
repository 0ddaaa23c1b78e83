import { discount } from "./pricing.mjs";

/** A cart is a list of lines: `{ name, price, quantity }`, with prices in euros. */
export function subtotal(lines) {
  let sum = 0;
  for (let i = 0; i < lines.length; i++) {
    sum = sum + lines[i].price * lines[i].quantity;
  }
  return sum;
}

/** Returns the total after the discount of a code. */
export function total(lines, code) {
  const sum = subtotal(lines);
  return sum - discount(sum, code);
}

/** One line of text for each line of the cart, and the total. */
export function receipt(lines, code) {
  const rows = lines.map(({ name, price, quantity }) => `${quantity} x ${name}: ${price}`);
  return [...rows, `Total: ${total(lines, code)}`].join("\n");
}
