// The explorer of a swizzle, with the wavefronts of models/memory.py and the grids of draw/banks.py.
import { behind } from "./algebra.js";
import { layoutGrid, mapCells, matrix, small } from "./layout_grid.js";
import { binary, ceilDiv, counted, floorDiv, mod, range } from "./numbers.js";
import { text } from "./notation.js";
import { category } from "./palette.js";
import { Problem } from "./problem.js";

export const WARP = 32; // threads
const [BANKS, WORD] = [32, 4];
const WAVEFRONT = BANKS * WORD; // bytes
const CROWDED = 32; // columns; with more, a cell is a 16-byte vector if vectors stay whole
const ACCESSES = {
  // down the column?, 16-byte vectors?, threads
  "a row, one element a thread": [false, false, WARP],
  "a column, one element a thread": [true, false, WARP],
  "rows, 16 bytes a thread": [false, true, WARP],
  "a column, 16 bytes a thread": [true, true, WARP],
  "ldmatrix: eight rows of 16 bytes": [true, true, 8],
};

export const exploreSwizzle = () => (typed, b, m, s, bytes, name, click) => {
  const before = small(typed);
  if (s < b) throw new Problem(`S<${b},${m},${s}> would mix bits with themselves: S is at least B.`);
  const after = behind([b, m, s], before);
  const [plain, offsets] = [before, after].map(matrix);
  const [row, column] = click ? click[1] : [0, 0];
  const access = accessOf(name, plain.length, plain[0].length, bytes, [row, column]);
  const read = access.cells.flatMap(([i, j]) => range(0, access.vector).map((n) => [i, j + n]));
  const grids = [
    ["before", before, plain],
    ["after", after, offsets],
  ].map(([when, layout, table]) => {
    const title = `${when}: banks of ${text(layout)}\n${costLine(access, bytes, accessCost(table, access, bytes))}`;
    return bankGrid(layout, table, title, bytes, read);
  });
  const [from, to] = [plain[row][column], offsets[row][column]];
  const bits = Math.abs(Math.max(...plain.flat())).toString(2).replace(/^0$/, "").length;
  const inBits = `${binary(from, bits)} → ${binary(to, bits)}`;
  const moved = `offset ${from} → ${to}, in bits ${inBits}; bank ${bank(to, bytes)}`;
  return { grids, answer: `(${row},${column}): ${moved}\nClick a cell to move the access there.` };
};

const bank = (offset, bytes) => mod(floorDiv(offset * bytes, WORD), BANKS);

// The cells from which the threads of a warp read `vector` elements each.
function accessOf(name, rows, columns, bytes, [row, column]) {
  const [down, vectors, threads] = ACCESSES[name];
  const vector = vectors ? 16 / bytes : 1;
  const across = floorDiv(columns, vector);
  const place = floorDiv(column, vector);
  if (down) {
    const top = threads < WARP ? floorDiv(row, threads) * threads : 0;
    const reached = place < across ? Math.min(top + threads, rows) : top;
    return { vector, cells: range(top, reached).map((i) => [i, place * vector]) };
  }
  const first = row * across;
  const end = Math.min(first + threads, rows * across);
  return { vector, cells: range(first, end).map((n) => [floorDiv(n, across), (n % across) * vector]) };
}

const consecutive = (offsets) =>
  offsets[0] % offsets.length === 0 && offsets.every((offset, n) => offset === offsets[0] + n);

// Wavefronts; null where a thread's elements are not consecutive and aligned.
function accessCost(table, { cells, vector }, bytes) {
  const read = cells.map(([row, column]) => table[row].slice(column, column + vector));
  if (!read.every(consecutive)) return null;
  const together = Math.min(WARP, floorDiv(WAVEFRONT, bytes * vector));
  let sum = 0;
  for (let start = 0; start < read.length; start += together)
    sum += ways(read.slice(start, start + together), bytes, vector);
  return sum;
}

// The most different words that threads served together want from one bank.
function ways(read, bytes, vector) {
  const words = range(0, BANKS).map(() => new Set());
  for (const [offset] of read)
    for (const word of range(floorDiv(offset * bytes, WORD), floorDiv((offset + vector) * bytes - 1, WORD) + 1))
      words[mod(word, BANKS)].add(word);
  return Math.max(...words.map((set) => set.size));
}

function costLine({ cells, vector }, bytes, cost) {
  const each = vector * bytes;
  const access = `${cells.length} threads × ${each} bytes`;
  if (cost === null) return `${access}: impossible, the ${each} bytes are not contiguous`;
  const best = ceilDiv(cells.length * each, WAVEFRONT);
  return `${access}: ${counted(cost, "wavefront")}, ${cost === best ? "the least" : `${best} would do`}`;
}

// A layout labeled with its banks; a color is a 16-byte group of four.
function bankGrid(layout, table, title, bytes, outlined) {
  const banks = mapCells(table, (offset) => bank(offset, bytes));
  const colors = mapCells(banks, (number) => category(floorDiv(number, 4)));
  const drawn = layoutGrid(layout, { title: `${title}\na color is four banks, 16 bytes`, colors });
  const grid = { ...drawn, labels: mapCells(banks, String), outlined };
  const vector = 16 / bytes;
  const columns = banks[0].length;
  const starts = range(0, floorDiv(columns, vector)).map((n) => n * vector);
  const whole = (row) => starts.every((start) => consecutive(row.slice(start, start + vector)));
  if (columns <= CROWDED || columns % vector || !table.every(whole)) return grid;
  const firsts = (row) => row.filter((_, n) => n % vector === 0);
  return {
    ...grid,
    title: `${grid.title}\neach cell: ${vector} elements, 16 bytes`,
    labels: banks.map((row) => firsts(row).map((number) => `${number}-${number + 16 / WORD - 1}`)),
    colors: colors.map(firsts),
    across: firsts(grid.across),
    columnBreaks: grid.columnBreaks.filter(([n]) => n % vector === 0).map(([n, width]) => [n / vector, width]),
    outlined: outlined.map(([row, column]) => [row, floorDiv(column, vector)]),
    step: vector,
  };
}
