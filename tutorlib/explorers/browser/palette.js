// The colors of tutorlib/draw/palette.py.
import { round } from "./numbers.js";

export const CATEGORIES = ["#77AADD", "#EEDD88", "#EE8866", "#99DDFF", "#BBCC33", "#FFAABB", "#44BB99", "#DDDDDD"];
const RAMP = ["#FFFDE3", "#D3EDC3", "#8FD3C1", "#5FB6D0", "#6C9BD2"]; // small to large
export const EMPTY = "#FFFFFF";

export const category = (index) => CATEGORIES[index % CATEGORIES.length];
export const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
export const hex = (parts) => "#" + parts.map((part) => part.toString(16).toUpperCase().padStart(2, "0")).join("");

// A color with this share of another one.
export function mixed(color, other, share) {
  const more = channels(other);
  return hex(channels(color).map((a, n) => round(a + (more[n] - a) * share)));
}

// The color of a value on the scale from low to high.
export function ramp(value, low, high) {
  if (high <= low) return RAMP[0];
  const place = ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (RAMP.length - 1);
  const step = Math.min(Math.trunc(place), RAMP.length - 2);
  return mixed(RAMP[step], RAMP[step + 1], place - step);
}
