// The explorer of block orders, as models/l2.py and draw/tiles.py have them.
import { grid } from "./layout_grid.js";
import { ceilDiv, floorDiv, range, round, thousands } from "./numbers.js";
import { category, EMPTY } from "./palette.js";

const BLOCK = [128, 128, 64]; // the tile of a block, in bf16
const STEPS = 32; // along K
const READ = "#8FD3C1"; // a row of A's tiles or a column of B's that the wave reads
const MIB = 2 ** 20;

export const exploreBlockOrder = ({ k }) => (rows, columns, order, inFlight, l2, drift, click) => {
  const tiles = range(0, rows * columns).map((block) => tileOf(order, block, rows, columns));
  const kTiles = ceilDiv(k, BLOCK[2]);
  const { requested, fetched, least } = traffic(tiles, [rows, columns], kTiles, inFlight, l2 * MIB, drift);
  const hits = round((1 - fetched / requested) * 1000) / 10;
  const mb = (bytes) => thousands(round(bytes / MIB));
  const caption =
    `all waves: ${hits.toFixed(1)}% of the loads hit L2; read from memory: ` +
    `${mb(fetched)} MB; A and B together: ${mb(least)} MB`;
  const [m, n] = click ? click[1].map((at) => at - 1) : [-1, -1];
  const block = tiles.findIndex((tile) => tile[0] === m && tile[1] === n);
  const wave = block < 0 ? 0 : floorDiv(block, inFlight);
  const grids = [orderGrid(tiles, [rows, columns], inFlight, order, wave)];
  if (block < 0) return { grids, answer: `${caption}\nClick a tile to see its wave.` };
  const running = tiles.slice(wave * inFlight, (wave + 1) * inFlight);
  const [row, column] = [[0, m], [1, n]].map(([mode, at]) => running.filter((tile) => tile[mode] === at).length);
  const here = `block ${block}: ${row} of its wave read the same row of A, ${column} the same column of B`;
  return { grids, answer: `${caption}\n${here}` };
};

// The tile of a block: "raster", down one column of tiles after the other, or "groups of 8", strips of eight rows.
function tileOf(order, block, rows, columns) {
  if (order === "raster") return [block % rows, floorDiv(block, rows)];
  const group = Math.min(Number(order.replace("groups of ", "")), rows);
  const [strip, place] = [floorDiv(block, group * columns), block % (group * columns)];
  const lower = floorDiv(strip, floorDiv(rows, group));
  const height = group - lower * (group - (rows % group));
  return [strip * group + (place % height), floorDiv(place, height)];
}

function orderGrid(tiles, [rows, columns], inFlight, name, wave) {
  const running = tiles.slice(wave * inFlight, (wave + 1) * inFlight);
  const [readA, readB] = [0, 1].map((mode) => new Set(running.map((tile) => tile[mode])));
  const blockOf = new Map(tiles.map((tile, block) => [String(tile), block]));
  const blocks = range(0, rows).map((m) => range(0, columns).map((n) => blockOf.get(String([m, n]))));
  const marks = (seen, count, [yes, no]) => range(0, count).map((at) => (seen.has(at) ? yes : no));
  const beside = marks(readA, rows, ["A", ""]);
  const shade = marks(readA, rows, [READ, EMPTY]);
  return grid({
    title:
      `${name}: wave ${wave}, ${running.length} blocks,\n` +
      `reads ${readA.size} rows of A and ${readB.size} columns of B`,
    labels: [["", ...marks(readB, columns, ["B", ""])], ...blocks.map((row, m) => [beside[m], ...row.map(String)])],
    colors: [
      [EMPTY, ...marks(readB, columns, [READ, EMPTY])],
      ...blocks.map((row, m) => [shade[m], ...row.map((block) => category(floorDiv(block, inFlight)))]),
    ],
    down: ["", ...range(0, rows).map(String)],
    across: ["", ...range(0, columns).map(String)],
    rowBreaks: [[1, 2]],
    columnBreaks: [[1, 2]],
  });
}

// Bytes of A and B that the blocks ask for, that memory sends since L2 does not have them, and the least possible.
function traffic(tiles, [rows, columns], kTiles, inFlight, l2, drift) {
  const steps = Math.min(kTiles, STEPS);
  const [a, b] = BLOCK.slice(0, 2).map((extent) => floorDiv(2 * extent * BLOCK[2] * kTiles, steps));
  const load = cache(l2);
  let fetched = 0;
  for (const [block, step] of timetable(tiles.length, steps, inFlight, drift)) {
    const [m, n] = tiles[block];
    fetched += load(2 * m * steps + step, a) + load((2 * n + 1) * steps + step, b);
  }
  return { requested: tiles.length * steps * (a + b), fetched, least: steps * (rows * a + columns * b) };
}

// Which block makes which of its steps, in the order in which they happen.
function timetable(blocks, steps, inFlight, drift) {
  const random = generator();
  const pace = range(0, blocks).map(() => 1 + drift * (random() - 0.5));
  const free = Array(inFlight).fill(0);
  const events = [];
  for (const block of range(0, blocks)) {
    const place = free.indexOf(Math.min(...free));
    for (const step of range(0, steps)) events.push([block, step, free[place] + pace[block] * step]);
    free[place] += steps * pace[block];
  }
  return events.sort(([, , a], [, , b]) => a - b); // a stable sort
}

// A function that uses a tile and returns the bytes that memory sends; the least recently used tiles are evicted.
function cache(room) {
  const tiles = new Map(); // bytes of each, the last used at the end
  let used = 0;
  return (tile, bytes) => {
    const held = tiles.delete(tile);
    tiles.set(tile, bytes);
    if (held) return 0;
    used += bytes;
    for (const [oldest, size] of tiles) {
      if (used <= room) break;
      tiles.delete(oldest);
      used -= size;
    }
    return bytes;
  };
}

// The numbers of numpy.random.default_rng(0).random(): PCG64, M. O'Neill's XSL-RR 128/64, from NumPy's state of seed 0.
function generator() {
  let state = 35399562948360463058890781895381311971n;
  const wrap = (bits, x) => BigInt.asUintN(bits, x);
  return () => {
    state = wrap(128, state * 47026247687942121848144207491837523525n + 87136372517582989555478159403783844777n);
    const mixed = wrap(64, (state >> 64n) ^ state);
    const turn = state >> 122n;
    const word = wrap(64, (mixed >> turn) | (mixed << (64n - turn)));
    return Number(word >> 11n) / 2 ** 53;
  };
}
