/** Limits of the daemon, checked here as well: a refusal is shown before anything is sent. */
export const IMAGE_BYTES = 5 * 1024 * 1024;
export const TEXT_CHARS = 900_000;
export const MOST = 20;
/** A pasted text with more lines becomes a chip. */
export const PASTE_LINES = 40;

const SIGNATURES: readonly (readonly [type: string, at: number, bytes: readonly number[]])[] = [
  ["image/png", 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", 0, [0xff, 0xd8, 0xff]],
  ["image/gif", 0, [0x47, 0x49, 0x46, 0x38, 0x37, 0x61]],
  ["image/gif", 0, [0x47, 0x49, 0x46, 0x38, 0x39, 0x61]],
];
const RIFF = [0x52, 0x49, 0x46, 0x46];
const WEBP = [0x57, 0x45, 0x42, 0x50];

/** Type of an image by its first bytes; nothing for other content, whatever its name says. */
export function imageType(bytes: Uint8Array): string | undefined {
  const has = (at: number, wanted: readonly number[]): boolean => wanted.every((byte, index) => bytes[at + index] === byte);
  const [type] = SIGNATURES.find(([, at, wanted]) => has(at, wanted)) ?? [];
  return type ?? (has(0, RIFF) && has(8, WEBP) ? "image/webp" : undefined);
}

/** Lines of a text; a line break at its end begins no further one. */
export function linesOf(text: string): number {
  const breaks = text.match(/\r\n|\r|\n/gu)?.length ?? 0;
  return /[\r\n]$/u.test(text) ? breaks : breaks + 1;
}
