// The explorer of tile space, as draw/tiles.py draws it.
import { grid, mapCells } from "./layout_grid.js";
import { ceilDiv, floorDiv, range } from "./numbers.js";
import { category, channels, hex } from "./palette.js";

export const exploreTileSpace = () => (rows, columns, tm, tn, click) => {
  const [array, tile] = [[rows, columns], [tm, tn]];
  const tiles = [ceilDiv(rows, tm), ceilDiv(columns, tn)];
  const [which, [row, column]] = click ?? [0, [-1, -1]];
  const [i, j] = which ? [row, column] : [floorDiv(row, tm), floorDiv(column, tn)];
  const inSpace = i >= 0 && i < tiles[0] && j >= 0 && j < tiles[1];
  if (!inSpace)
    return {
      grids: [arrayGrid(array, tile, tiles, []), spaceGrid(tiles, [])],
      answer: "Click an element of the array, or a tile.",
    };
  const inside = range(0, tm).flatMap((r) => range(0, tn).map((c) => [i * tm + r, j * tn + c]));
  const grids = [arrayGrid(array, tile, tiles, inside), spaceGrid(tiles, [[i, j]])];
  const held = inside.filter(([r, c]) => r < rows && c < columns).length;
  const load = `ct.load(x, (${i}, ${j}), (${tm}, ${tn})): ${held} of its ${tm * tn} elements exist`;
  if (which) return { grids, answer: load };
  const outside = row >= rows || column >= columns;
  const place = outside
    ? `(${row}, ${column}) is outside: a load pads it, a store drops it`
    : `element (${row}, ${column}) is (${row % tm}, ${column % tn}) of tile (${i}, ${j})`;
  return { grids, answer: `${place}\n${load}` };
};

function arrayGrid([rows, columns], [tm, tn], tiles, outlined) {
  const [down, across] = [tiles[0] * tm, tiles[1] * tn];
  const cells = range(0, down).map(() => Array(across).fill(""));
  const color = (_, row, column) =>
    row < rows && column < columns ? tileColor(tiles, floorDiv(row, tm), floorDiv(column, tn)) : null;
  const names = (n, tile) => range(0, n).map((at) => (at % tile ? "" : String(at)));
  const breaks = (n, tile) => range(1, n / tile).map((piece) => [piece * tile, 2]);
  return grid({
    title: `an array of ${rows}×${columns} elements\nin tiles of ${tm}×${tn}`,
    labels: cells,
    colors: mapCells(cells, color),
    down: names(down, tm),
    across: names(across, tn),
    rowBreaks: breaks(down, tm),
    columnBreaks: breaks(across, tn),
    outlined,
  });
}

function spaceGrid(tiles, outlined) {
  const [down, across] = tiles;
  const labels = range(0, down).map((i) => range(0, across).map((j) => `${i},${j}`));
  return grid({
    title: `its tile space\n${down}×${across} tiles`,
    labels,
    colors: mapCells(labels, (_, i, j) => tileColor(tiles, i, j)),
    down: range(0, down).map(String),
    across: range(0, across).map(String),
    outlined,
  });
}

// Neighbors differ, also diagonal ones, and any sixteen in a row.
function tileColor([, across], i, j) {
  let row = across; // from one row of tiles to the next, of eight hues
  while (row % 8 < 2 || row % 8 > 6) row += 1;
  const number = i * row + j;
  const color = category(number);
  return floorDiv(number, 8) % 2 ? hex(channels(color).map((part) => floorDiv(part + 255, 2))) : color;
}
