// The explorers of a layout, a composition and a division.
import { at, bundle, complement, compose, coordinateOf, cosize, modesOf, size } from "./algebra.js";
import { coordinate, layoutGrid, mapCells, matrix, modes, sameCell, small } from "./layout_grid.js";
import { counted, floorDiv, mod, range } from "./numbers.js";
import { parseTiler, text } from "./notation.js";
import { CATEGORIES, category, EMPTY, ramp } from "./palette.js";
import { Problem } from "./problem.js";

const pointed = (grid, outlined) => ({ ...grid, outlined });
const withLabels = (grid, offsets) => ({ ...grid, labels: mapCells(offsets, (offset) => String(offset ?? "")) });

export const exploreLayout = () => (typed, click) => {
  const shown = small(typed);
  const grid = layoutGrid(shown);
  const elements = size(shown.shape);
  if (!click)
    return { grids: [grid], answer: `size ${elements}, cosize ${cosize(shown)}. Click a cell.` };
  const [, cell] = click;
  const where = coordinate(shown.shape, cell);
  const steps = [shown.stride].flat(Infinity);
  const terms = [where].flat(Infinity).map((index, n) => `${index}·${steps[n]}`);
  const index = cell[0] + cell[1] * size(modes(shown.shape)[0]);
  return {
    grids: [pointed(grid, [cell])],
    answer:
      `coordinate ${text(where)}, index ${index} of ${elements}\n` +
      `offset ${terms.join(" + ")} = ${at(shown, index)}`,
  };
};

// Composition ---------------------------------------------------------------------------------------------------

export const exploreCompose = () => (typedA, typedB, click) => {
  const view = composeView(small(typedA), small(typedB));
  const [b, a, composed] = composeGrids(view);
  if (!click)
    return {
      grids: [b, a, composed],
      answer: "Click a cell of a∘b to see its origin, or one of a to see the cells of b that select it.",
    };
  const [which, cell] = click;
  if (which === 1) {
    const takers = cellsOf(view.picked).filter((taker) => sameCell(sourceOf(view, taker) ?? [], cell));
    const count = takers.length === 1 ? "one cell" : counted(takers.length, "cell");
    return {
      grids: [pointed(b, takers), pointed(a, [cell]), pointed(composed, takers)],
      answer: `a${coordinateText(view.a, cell)} is selected by ${count} of b.`,
    };
  }
  const source = sourceOf(view, cell);
  const index = view.picked[cell[0]][cell[1]];
  const here = coordinateText(view.b, cell);
  const grids = [pointed(b, [cell]), pointed(a, source ? [source] : []), pointed(composed, [cell])];
  if (!source)
    return { grids, answer: `b${here} = ${index} is no index of a, which has ${size(view.a.shape)} elements.` };
  const offset = view.offsets[cell[0]][cell[1]];
  const where = coordinateText(view.a, source);
  return { grids, answer: `b${here} = ${index}, which is a${where}\n(a∘b)${here} = a(${index}) = ${offset}` };
};

// picked: b's values, indices of a. offsets: a∘b's; null where b leaves a's indices.
function composeView(a, b) {
  let composed = compose(a, b);
  if (!Array.isArray(b.shape) && Array.isArray(composed.shape)) composed = bundle([composed]);
  const picked = matrix(b);
  const table = matrix(composed);
  const offsets = mapCells(picked, (index, row, column) =>
    index >= 0 && index < size(a.shape) ? table[row][column] : null,
  );
  for (const [row, column] of cellsOf(picked)) {
    const [index, offset] = [picked[row][column], offsets[row][column]];
    if (offset !== null && offset !== at(a, index)) {
      const wrong = `${text(composed)} has ${offset} where a(${index}) = ${at(a, index)}`;
      throw new Problem(`No layout is a∘b, as a sum of b's modes carries: ${wrong}.`);
    }
  }
  return { a, b, composed, picked, offsets };
}

// The cell of a from which a cell of the result comes.
function sourceOf({ a, picked }, [row, column]) {
  const index = picked[row][column];
  const rows = size(modes(a.shape)[0]);
  return index >= 0 && index < size(a.shape) ? [mod(index, rows), floorDiv(index, rows)] : null;
}

function composeGrids({ a, b, composed, picked, offsets }) {
  const [rows, columns] = modes(a.shape).map(size);
  const last = Math.max(rows * columns - 1, ...picked.flat());
  const taken = new Set(picked.flat());
  const byIndex = mapCells(picked, (index) => ramp(index, 0, last));
  const flat = range(0, rows).map((row) => range(0, columns).map((column) => row + column * rows));
  const result = Array.isArray(b.shape) ? composed : modesOf(composed)[0];
  const ofA = mapCells(flat, (index) => (taken.has(index) ? ramp(index, 0, last) : EMPTY));
  const ofResult = mapCells(byIndex, (color, row, column) => (offsets[row][column] === null ? null : color));
  return [
    layoutGrid(b, { title: `b = ${text(b)}\nindex of a`, colors: byIndex }),
    layoutGrid(a, { title: `a = ${text(a)}\ncolored: the indices in b`, colors: ofA }),
    withLabels(
      layoutGrid(composed, { title: `a∘b = ${text(result)}\na's offset at b's index`, colors: ofResult }),
      offsets,
    ),
  ];
}

// Division ------------------------------------------------------------------------------------------------------

export const exploreDivide = () => (typed, cut, click) => {
  const view = divideView(small(typed), parseTiler(cut));
  if (!click) {
    const first = view.sources.map((row) => row[0]).filter(Boolean);
    return {
      grids: divideGrids(view, first),
      answer: "Tile 0 is outlined. Click a cell on either side to find it on the other.",
    };
  }
  const [which, cell] = click;
  const source = which === 1 ? view.sources[cell[0]][cell[1]] : cell;
  if (!source) {
    const [whole, divided] = divideGrids(view, []);
    return {
      grids: [whole, pointed(divided, [cell])],
      answer: "This element of the tile is outside the matrix: a kernel predicates it off.",
    };
  }
  const grids = divideGrids(view, [source]);
  const [place] = which === 1 ? [cell] : placesOf(view, source);
  if (!place) return { grids, answer: "No tile reaches this element." };
  const [inside, tile] = place;
  return {
    grids,
    answer:
      `${coordinateText(view.whole, source)} is element ${inside} of tile ${tile}\n` +
      `offset ${view.offsets[inside][tile]} on both sides`,
  };
};

// The zipped divide, mode by mode: L ⊘ T = L ∘ (T, T*). sources: the cell of the whole of each cell, or null.
function divideView(whole, tiler) {
  const rows = matrix(whole).length;
  const [parts, tiles] = dividedModes(whole, tiler);
  const others = tiles.map((tile, n) => complement(tile, size(parts[n].shape)));
  const inside = tiles.map((tile, n) => compose(parts[n], tile));
  const outside = others.map((other, n) => compose(parts[n], other));
  const [down, across] = [inside, [...outside, ...parts.slice(tiles.length)]].map(bundleOrOne);
  const divided = bundle([down, across]);
  const extents = parts.map((part) => size(part.shape));
  const uncut = extents.slice(tiles.length);
  const steps = [...others, ...uncut.map((shape) => ({ shape, stride: 1 }))];
  const origin = (i, j) => {
    const within = coordinateOf(i, tiles.map((tile) => size(tile.shape)));
    const which = coordinateOf(j, steps.map((step) => size(step.shape)));
    const index = steps.map((step, n) => (n < tiles.length ? at(tiles[n], within[n]) : 0) + at(step, which[n]));
    if (index.some((here, n) => here >= extents[n])) return null;
    const flat = index.reduceRight((sum, here, n) => here + extents[n] * sum, 0);
    return [mod(flat, rows), floorDiv(flat, rows)];
  };
  const sources = range(0, size(down.shape)).map((i) => range(0, size(across.shape)).map((j) => origin(i, j)));
  const table = matrix(divided);
  return { whole, tiler, divided, sources, offsets: mapCells(sources, (cell, i, j) => (cell ? table[i][j] : null)) };
}

const bundleOrOne = (layouts) => (layouts.length === 1 ? layouts[0] : bundle(layouts));

// The modes that a tiler sees, and its tile for each of the first of them; a layout sees a single mode.
function dividedModes(whole, tiler) {
  if (!Array.isArray(tiler)) return [[whole], [tiler]];
  const parts = modesOf(whole);
  if (tiler.length > parts.length)
    throw new Problem(`The tiler ${text(tiler)} has more modes than the shape ${text(whole.shape)}.`);
  if (tiler.some(Array.isArray))
    throw new Problem(`The tiler ${text(tiler)} is nested; give each mode one number or one layout.`);
  return [parts, tiler.map((extent) => ({ shape: extent, stride: extent === 1 ? 0 : 1 }))];
}

// Every [inside, which tile] of a cell of the whole.
const placesOf = ({ sources }, cell) =>
  cellsOf(sources).filter(([i, j]) => sources[i][j] && sameCell(sources[i][j], cell));

function divideGrids(view, outlined) {
  const tiles = view.sources[0].length;
  const tileOf = new Map();
  view.sources.forEach((row) => row.forEach((cell, tile) => cell && tileOf.set(String(cell), tile)));
  const repeated = tiles > CATEGORIES.length ? `; after ${CATEGORIES.length} they repeat` : "";
  const whole = layoutGrid(view.whole, {
    title: `${text(view.whole)}\ntiles of ${text(view.tiler)} in color${repeated}`,
    colors: mapCells(matrix(view.whole), (_, row, column) => category(tileOf.get(String([row, column])))),
  });
  const divided = layoutGrid(view.divided, {
    title: `⊘ ${text(view.tiler)} = ${text(view.divided)}\ninside the tile (down) × which tile (across)`,
    colors: mapCells(view.sources, (cell, _, tile) => (cell ? category(tile) : null)),
  });
  const places = outlined.flatMap((cell) => placesOf(view, cell));
  return [pointed(whole, outlined), pointed(withLabels(divided, view.offsets), places)];
}

const cellsOf = (table) => table.flatMap((row, i) => row.map((_, j) => [i, j]));

// A cell as its coordinate in parentheses, "(2,1)".
function coordinateText(layout, cell) {
  const where = text(coordinate(layout.shape, cell));
  return where.startsWith("(") ? where : `(${where})`;
}
