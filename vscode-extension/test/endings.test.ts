import { expect, it } from "vitest";

import { changedEndings } from "../src/edits/endings";

it.each([
  ["", "\n", 0],
  ["a\nb\n", "\n", 0],
  ["a\r\nb\r\n", "\r\n", 0],
  // The user chose another kind for a file that has one.
  ["a\nb\n", "\r\n", 0],
  ["a\r\nb\nc\r\n", "\r\n", 1],
  ["a\r\nb\nc\r\n", "\n", 2],
  ["a\rb\n", "\n", 1],
] as const)("counts the endings of %j that a save with %j changes", (file, written, count) => {
  expect(changedEndings(file, written)).toBe(count);
});
