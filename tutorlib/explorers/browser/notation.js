// Layouts as text, "(4,3):(3,1)". A tuple is an array, a layout {shape, stride}.
import { congruent, columnMajor } from "./algebra.js";
import { Problem } from "./problem.js";

const LONGEST = 200; // characters

export function parseLayout(source) {
  const colon = source.indexOf(":");
  if (colon < 0) return layoutOf(parseTree(source, "shape", source), null);
  const shape = parseTree(source.slice(0, colon), "shape", source);
  return layoutOf(shape, parseTree(source.slice(colon + 1), "stride", source));
}

// "(4,2)" cuts mode by mode: an array; "4:2" or "4" is a layout.
export function parseTiler(source) {
  if (source.includes(":")) return parseLayout(source);
  const cuts = parseTree(source, "tiler", source);
  const whole = layoutOf(cuts, null);
  return Array.isArray(cuts) ? cuts : whole;
}

// A layout, shape, coordinate or tiler as the course writes it.
export function text(thing) {
  if (Array.isArray(thing)) return `(${thing.map(text).join(",")}${thing.length === 1 ? "," : ""})`;
  if (typeof thing !== "object") return String(thing);
  if (thing.swizzle) return `S<${thing.swizzle.join(",")}>∘${text(thing.inner)}`;
  return `${text(thing.shape)}:${text(thing.stride)}`;
}

function parseTree(written, what, whole) {
  if (whole.length > LONGEST)
    throw new Problem(`That is ${whole.length} characters long; a layout here has at most ${LONGEST}.`);
  if (!written.trim())
    throw new Problem(`The ${what} is missing in ${quoted(whole)}; write a layout like (4,3):(3,1).`);
  const odd = written.match(/[^\d(),\s-]/u);
  if (odd)
    throw new Problem(`${quoted(odd[0])} in ${quoted(whole)} is none of digits, commas, parentheses and one colon.`);
  const missing = written.split("(").length - written.split(")").length;
  if (missing) throw new Problem(`The ${what} ${written.trim()} lacks a ${missing > 0 ? ")" : "("}.`);
  const tokens = written.match(/\d+|[^\d\s]/g);
  const value = parseItems(tokens);
  if (value === undefined || tokens.length)
    throw new Problem(`The ${what} ${written.trim()} is not written like (4,3) or ((2,2),3).`);
  return value;
}

// Items up to ")" or the end: one without a comma is itself, else a tuple. Consumes tokens; undefined for an error.
function parseItems(tokens) {
  const items = [];
  let isTuple = false;
  while (tokens.length && tokens[0] !== ")") {
    if (items.length && !isTuple) return undefined;
    const item = parseItem(tokens);
    if (item === undefined) return undefined;
    items.push(item);
    if (tokens[0] === ",") {
      tokens.shift();
      isTuple = true;
    } else if (isTuple) break;
  }
  return isTuple ? items : items[0];
}

function parseItem(tokens) {
  const token = tokens.shift();
  if (token === "(") {
    if (tokens[0] === ")") return tokens.shift() && [];
    const inside = parseItems(tokens);
    return tokens.shift() === ")" ? inside : undefined;
  }
  const digits = token === "-" ? tokens.shift() : token;
  if (!/^(0+|[1-9]\d*)$/.test(digits ?? "")) return undefined;
  return token === "-" ? -Number(digits) : Number(digits);
}

function layoutOf(shape, stride) {
  for (const extent of leaves(shape))
    if (extent < 1)
      throw new Problem(`The shape ${text(shape)} holds ${extent}; every extent is a whole number from 1 on.`);
  if (stride === null) return { shape, stride: columnMajor(shape) };
  leaves(stride);
  if (!congruent(shape, stride))
    throw new Problem(`Shape ${text(shape)} and stride ${text(stride)} are not nested alike: one stride for each.`);
  return { shape, stride };
}

function leaves(nested) {
  if (!Array.isArray(nested)) return [nested];
  if (!nested.length) throw new Problem("() holds no number; write a layout like (4,3):(3,1).");
  return nested.flatMap(leaves);
}

// As Python quotes a text.
function quoted(written) {
  const quote = written.includes("'") && !written.includes('"') ? '"' : "'";
  const escaped = written.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`);
  return quote + escaped + quote;
}
