// The algebra of layouts, as CuTe and the Python package tensor_layouts define it.
// A tuple is an array; a layout is {shape, stride}; one behind a swizzle is {swizzle: [B, M, S], inner}.
import { ceilDiv, floorDiv, mod } from "./numbers.js";
import { Problem } from "./problem.js";

const isTuple = Array.isArray;
const asList = (x) => (isTuple(x) ? x : [x]);
const asShape = (items) => (items.length === 1 ? items[0] : items);
const flatten = (x) => asList(x).flat(Infinity);

export const size = (shape) => flatten(shape).reduce((product, extent) => product * extent, 1);
export const cosize = (layout) =>
  pairs(layout).reduce((sum, [extent, step]) => sum + (extent - 1) * Math.abs(step), 1);
export const modesOf = (layout) =>
  isTuple(layout.shape) ? layout.shape.map((shape, n) => ({ shape, stride: layout.stride[n] })) : [layout];
export const bundle = (layouts) => ({
  shape: layouts.map((one) => one.shape),
  stride: layouts.map((one) => one.stride),
});

// [extent, stride] of each flat mode.
function pairs(layout) {
  const strides = flatten(layout.stride);
  return flatten(layout.shape).map((extent, n) => [extent, strides[n]]);
}

const fromPairs = (found) =>
  found.length
    ? { shape: asShape(found.map(([extent]) => extent)), stride: asShape(found.map(([, step]) => step)) }
    : { shape: 1, stride: 0 };

export function congruent(a, b) {
  if (isTuple(a) !== isTuple(b)) return false;
  return !isTuple(a) || (a.length === b.length && a.every((part, n) => congruent(part, b[n])));
}

// Strides of a compact layout, its first mode fastest; 0 for modes of extent 1 before any other.
export function columnMajor(shape) {
  let step = 1;
  const strides = (part) => {
    if (isTuple(part)) return part.map(strides);
    const mine = part === 1 && step === 1 ? 0 : step;
    step *= part;
    return mine;
  };
  return strides(shape);
}

// The offset of an index or a coordinate; the last mode goes on beyond its extent.
export function at(layout, coordinate) {
  if (layout.swizzle) return swizzled(layout.swizzle, at(layout.inner, coordinate));
  const { shape, stride } = layout;
  if (!isTuple(shape)) return coordinate * stride;
  let index = coordinate;
  return shape.reduce((offset, extent, n) => {
    let here = isTuple(coordinate) ? coordinate[n] : index;
    if (!isTuple(coordinate) && n < shape.length - 1) {
      here = mod(index, size(extent));
      index = floorDiv(index, size(extent));
    }
    return offset + at({ shape: extent, stride: stride[n] }, here);
  }, 0);
}

// The coordinate of an index in a shape.
export function coordinateOf(index, shape) {
  if (!isTuple(shape)) return mod(index, shape);
  return shape.map((part) => {
    const here = coordinateOf(mod(index, size(part)), part);
    index = floorDiv(index, size(part));
    return here;
  });
}

function swizzled([bits, base, shift], offset) {
  const [b, m, s, x] = [bits, base, shift, offset].map(BigInt);
  return Number(x ^ ((x >> s) & (((1n << b) - 1n) << m)));
}

export const behind = (swizzle, inner) => (swizzle[0] ? { swizzle, inner } : inner);

// Without modes of extent 1, contiguous modes merged.
export function coalesce(layout) {
  const found = [];
  for (const [extent, step] of pairs(layout)) {
    const last = found.at(-1);
    if (extent === 1) continue;
    if (last && step === last[0] * last[1]) last[0] *= extent;
    else found.push([extent, step]);
  }
  return fromPairs(found);
}

// a∘b, mode by mode of b. Throws Problem where CuTe composes nothing.
export function compose(a, b) {
  if (isTuple(b.shape)) return bundle(modesOf(b).map((mode) => compose(a, mode)));
  return composeMode(pairs(coalesce(a)), b.shape, b.stride);
}

function composeMode(modes, extent, step) {
  if (step === 0) return { shape: extent, stride: 0 };
  const found = [];
  for (const [here, stride] of modes.slice(0, -1)) {
    const far = Math.abs(step);
    const fits = extent > 1 && (extent - 1) * far < here;
    if (!fits && here % far && far % here)
      throw new Problem(`compose: shape ${here} and stride ${step} are not divisible`);
    if (fits) {
      found.push([extent, step * stride]);
      extent = 1;
      break;
    }
    const next = Math.sign(step) * ceilDiv(far, here);
    const taken = Math.min(ceilDiv(here, far), extent);
    if (taken > 1) {
      if (extent % taken)
        throw new Problem(`compose: shape ${extent} and consumed extent ${taken} are not divisible`);
      found.push([taken, step * stride]);
      extent /= taken;
    }
    step = next;
  }
  if (extent !== 1 || !found.length) found.push([extent, step * modes.at(-1)[1]]);
  return fromPairs(found);
}

const byStride = ([extentA, a], [extentB, b]) => a - b || extentA - extentB;

// The layout of the offsets that copies of a layout start from to fill `bound` of them.
export function complement(layout, bound) {
  const found = [];
  let reached = 1;
  for (const [extent, step] of pairs(layout).filter(([extent, step]) => extent !== 1 && step !== 0).sort(byStride)) {
    if (step < 0) throw new Problem(`complement: negative stride ${step} is not supported`);
    const gap = step > reached ? floorDiv(step, reached) : 1;
    if (gap > 1) found.push([gap, reached]);
    reached = step * extent;
  }
  found.push([ceilDiv(bound, reached), reached]);
  return coalesce(fromPairs(found));
}

// R with layout(R(i)) = i.
export function rightInverse(layout) {
  let before = 1;
  const modes = pairs(layout).map(([extent, step]) => {
    const mode = [extent, step, before];
    before *= extent;
    return mode;
  });
  const found = [];
  let reached = 1;
  for (const [extent, step, mine] of modes.sort(byStride)) {
    if (extent === 1 || step !== reached) continue;
    reached = extent * step;
    found.push([extent, mine]);
  }
  return coalesce(fromPairs(found));
}

// Copies of a block of rank 2, interleaved: the copies run fastest in each mode.
export function rakedProduct(block, tiler) {
  const copies = compose(complement(block, size(block.shape) * cosize(tiler)), tiler);
  return bundle([0, 1].map((n) => bundle([modesOf(copies)[n], modesOf(block)[n]])));
}
