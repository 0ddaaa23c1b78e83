import assert from "node:assert/strict";
import { test } from "node:test";

import { receipt, subtotal, total } from "../src/cart.mjs";

const cart = [
  { name: "tea", price: 0.1, quantity: 3 },
  { name: "cake", price: 4.35, quantity: 2 },
];

test("an empty cart costs nothing", () => {
  assert.equal(subtotal([]), 0);
});

test("a subtotal is exact to the cent", () => {
  assert.equal(subtotal(cart), 9);
  assert.equal(subtotal([{ name: "tea", price: 0.1, quantity: 3 }]), 0.3);
});

test("a code takes its per cent off", () => {
  assert.equal(total([{ name: "cake", price: 20, quantity: 1 }], "SPRING"), 18);
});

test("an unknown code takes nothing off", () => {
  assert.equal(total([{ name: "cake", price: 20, quantity: 1 }], "WINTER"), 20);
});

test("a receipt shows two decimals", () => {
  assert.equal(receipt([{ name: "tea", price: 2.5, quantity: 2 }]), "2 x tea: 2.50\nTotal: 5.00");
});
