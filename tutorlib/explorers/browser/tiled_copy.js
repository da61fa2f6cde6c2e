// The explorer of a TiledCopy, as layouts/views.py has it.
import { at, columnMajor, compose, cosize, rakedProduct, rightInverse, size } from "./algebra.js";
import { grid, mapCells, small } from "./layout_grid.js";
import { floorDiv, range } from "./numbers.js";
import { parseTiler, text } from "./notation.js";
import { category } from "./palette.js";
import { Problem } from "./problem.js";
import { WARP } from "./swizzle.js";

export const exploreTv = () => (typedThreads, typedValues, typedTile, click) => {
  const tile = parseTiler(typedTile);
  if (!Array.isArray(tile)) throw new Problem(`The tile ${typedTile.trim()} is no matrix; write it as (8,16).`);
  small(typedTile);
  const view = tiledCopy(small(typedThreads), small(typedValues), tile);
  if (!click)
    return {
      grids: [tiledGrid(view, [])],
      answer: `One step of all threads covers ${text(view.step)} elements. Click one.`,
    };
  const [, [row, column]] = click;
  const [thread, value] = view.held[row][column];
  const mine = view.held.flatMap((cells, i) => cells.flatMap(([holder], j) => (holder === thread ? [[i, j]] : [])));
  const warp = floorDiv(thread, WARP);
  return {
    grids: [tiledGrid(view, mine)],
    answer:
      `${text([row, column])} is value ${value} of thread ${thread}, in warp ${warp}; ` +
      `it holds ${mine.length} values`,
  };
};

// held: [thread, value] of each element of the tile. One step of all threads covers `step` elements.
function tiledCopy(threads, values, tile) {
  for (const [name, part] of Object.entries({ threads, values })) {
    const { shape } = part;
    if (!Array.isArray(shape) || shape.length !== 2 || shape.some(Array.isArray))
      throw new Problem(`The ${name} ${text(part)} are no matrix; write them like (2,4):(4,1).`);
    const cells = size(shape);
    if (cosize(part) !== cells || new Set(range(0, cells).map((n) => at(part, n))).size !== cells)
      throw new Problem(`The ${name} ${text(part)} do not number ${cells} cells from 0 on, each once.`);
  }
  if (tile.length !== 2 || tile.some(Array.isArray))
    throw new Problem(`The tile ${text(tile)} is no matrix; write it like (8,16).`);
  const step = [0, 1].map((n) => threads.shape[n] * values.shape[n]);
  if (tile.some((extent, n) => extent % step[n]))
    throw new Problem(`One step covers ${text(step)} elements, and ${text(tile)} is not made of such pieces.`);
  const holder = (row, column) => {
    const within = [row % step[0], column % step[1]];
    const thread = at(threads, within.map((here, n) => floorDiv(here, values.shape[n])));
    const value = at(values, within.map((here, n) => here % values.shape[n]));
    const steps = floorDiv(row, step[0]) + floorDiv(column, step[1]) * floorDiv(tile[0], step[0]);
    return [thread, value + steps * size(values.shape)];
  };
  const held = range(0, tile[0]).map((row) => range(0, tile[1]).map((column) => holder(row, column)));
  return { threads, values, tile, step, held };
}

function tiledGrid({ threads, values, tile, step, held }, outlined) {
  const shape = [size(threads.shape), size(values.shape)];
  const layout = compose(rightInverse(rakedProduct(threads, values)), { shape, stride: columnMajor(shape) });
  const breaks = (n) => range(1, tile[n] / step[n]).map((piece) => [piece * step[n], 2]);
  return grid({
    title: `threads ${text(threads)}, values ${text(values)}: (thread, value) → ${text(layout)}`,
    labels: mapCells(held, ([thread, value]) => `T${thread}\nV${value}`),
    colors: mapCells(held, ([thread]) => category(thread)),
    down: range(0, tile[0]).map(String),
    across: range(0, tile[1]).map(String),
    rowBreaks: breaks(0),
    columnBreaks: breaks(1),
    outlined,
  });
}
