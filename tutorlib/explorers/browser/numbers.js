// Python's arithmetic and formats where JavaScript's differ.

export const mod = (a, b) => ((a % b) + b) % b;
export const floorDiv = (a, b) => Math.floor(a / b);
export const ceilDiv = (a, b) => Math.ceil(a / b);
export const range = (start, end) => Array.from({ length: Math.max(0, end - start) }, (_, n) => start + n);
export const thousands = (n) => n.toLocaleString("en-US");
export const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// Rounded to the nearest, halves to even.
export function round(x) {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 ? below + 1 : below;
}

// In binary, with zeros in front up to a width.
export function binary(n, width) {
  const sign = n < 0 ? "-" : "";
  return sign + Math.abs(n).toString(2).padStart(width - sign.length, "0");
}
