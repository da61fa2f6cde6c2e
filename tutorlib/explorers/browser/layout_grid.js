// A layout as a matrix of offsets, and as a grid of cells: tutorlib/layouts/matrix.py and tutorlib/draw/layouts.py.
// A grid has the fields of draw/grid.py's CellGrid; breaks are [position, width], outlined cells [row, column].
import { at, coordinateOf, size } from "./algebra.js";
import { range, thousands } from "./numbers.js";
import { ramp } from "./palette.js";
import { Problem } from "./problem.js";
import { parseLayout, text } from "./notation.js";

const LARGEST = 64 * 64; // cells that a browser redraws without a pause
const PICTURE = 128 * 128;
const [THICK, THIN] = [2.4, 1.3];

export const sameCell = (a, b) => a[0] === b[0] && a[1] === b[1];
export const mapCells = (table, make) => table.map((row, i) => row.map((value, j) => make(value, i, j)));
export const grid = (fields) =>
  ({ down: [], across: [], rowBreaks: [], columnBreaks: [], outlined: [], step: 1, ...fields });

// The typed layout, if it is small enough.
export function small(typed) {
  const meant = parseLayout(typed);
  const elements = size(meant.shape);
  if (elements > LARGEST)
    throw new Problem(`${text(meant)} has ${thousands(elements)} elements; an explorer shows ${thousands(LARGEST)}.`);
  return meant;
}

// A shape as [rows, columns]: the first mode down, all others across; rank 1 is one row.
export function modes(shape) {
  if (!Array.isArray(shape)) return [1, shape];
  if (shape.length === 1) return [1, shape[0]];
  return [shape[0], shape.length === 2 ? shape[1] : shape.slice(1)];
}

export const shapeOf = (layout) => (layout.inner ?? layout).shape;
export const coordinate = (shape, [row, column]) => coordinateOf(row + column * size(modes(shape)[0]), shape);

// Offsets as rows.
export function matrix(layout) {
  const [rows, columns] = modes(shapeOf(layout)).map(size);
  const elements = rows * columns;
  if (elements > PICTURE)
    throw new Problem(`${text(layout)} has ${thousands(elements)} elements; a picture holds ${thousands(PICTURE)}.`);
  return range(0, rows).map((row) => range(0, columns).map((column) => at(layout, row + column * rows)));
}

export function layoutGrid(layout, { title = text(layout), colors } = {}) {
  const table = matrix(layout);
  const offsets = table.flat();
  const [low, high] = [Math.min(...offsets), Math.max(...offsets)];
  const [down, across] = modes(shapeOf(layout));
  return grid({
    title,
    labels: mapCells(table, String),
    colors: colors ?? mapCells(table, (offset) => ramp(offset, low, high)),
    down: table.length > 1 ? names(down) : [],
    across: names(across),
    rowBreaks: breaks(down),
    columnBreaks: breaks(across),
  });
}

function names(mode) {
  const natural = range(0, size(mode)).map((index) => text(coordinateOf(index, mode)));
  return natural.at(-1).length <= 6 ? natural : natural.map((_, index) => String(index));
}

// The borders between the blocks of a nested mode.
function breaks(mode) {
  if (!Array.isArray(mode)) return [];
  const found = new Map();
  const inner = mode.slice(0, -1);
  let block = 1;
  inner.forEach((part, depth) => {
    block *= size(part);
    const width = THIN + ((THICK - THIN) * (depth + 1)) / inner.length;
    for (let index = block; index < size(mode); index += block) found.set(index, width);
  });
  return [...found];
}

// The border of a set of cells, as lines [x, y, x, y]; none between two cells of the set.
export function outline(cells) {
  const inside = new Set(cells.map(String));
  return [...inside].map((cell) => cell.split(",").map(Number)).flatMap(([row, column]) =>
    [
      [[row - 1, column], [column, row, column + 1, row]],
      [[row + 1, column], [column, row + 1, column + 1, row + 1]],
      [[row, column - 1], [column, row, column, row + 1]],
      [[row, column + 1], [column + 1, row, column + 1, row + 1]],
    ]
      .filter(([beside]) => !inside.has(String(beside)))
      .map(([, line]) => line),
  );
}
