// The explorer of a software pipeline, as models/timelines.py and draw/timelines.py have it.
import { grid } from "./layout_grid.js";
import { range, round } from "./numbers.js";
import { CATEGORIES, EMPTY, mixed } from "./palette.js";

const TICKS = 96; // columns that a browser shows without scrolling
const [ISSUED, ARRIVING] = ["#F1F3F5", "#CED4DA"]; // a copy in flight, before its first byte arrives and after
const TILES = [...CATEGORIES.slice(0, -1), "#CDB4DB", "#F6CFA8", "#B5E2C8", "#D6CDA4"];
const PALE = 0.62; // share of white in the color of a tile that has arrived and waits

export const exploreTimeline = ({ tiles }) => (stages, latency, transfer, compute) => {
  const steps = stepsOf(stages, latency, transfer, compute, tiles);
  const roundTrip = latency + transfer + compute;
  const period = Math.max(compute, transfer, roundTrip / stages);
  const busy = round((compute / period) * 100);
  const title =
    `${stages} stage${stages > 1 ? "s" : ""}: ${steps.at(-1).done} ticks for ${tiles} tiles; ` +
    `once it runs, one every ${digits(period)}, computing ${busy}% of the time`;
  const answer =
    `one tile every max(compute ${compute}, transfer ${transfer}, ` +
    `round trip of a buffer ${roundTrip} / ${stages} stages) = ${digits(period)} ticks`;
  return { grids: [timelineGrid(title, steps, stages)], answer };
};

// Three significant digits.
const digits = (x) => String(Number(x.toPrecision(3)));

// The times of each tile, in ticks.
function stepsOf(stages, latency, transfer, compute, tiles) {
  const steps = [];
  for (const tile of range(0, tiles)) {
    const issued = tile >= stages ? steps[tile - stages].done : 0;
    const before = steps.at(-1) ?? { arrived: 0, done: 0 };
    const flows = Math.max(issued + latency, before.arrived);
    const arrived = flows + transfer;
    const started = Math.max(arrived, before.done);
    steps.push({ issued, flows, arrived, started, done: started + compute });
  }
  return steps;
}

function timelineGrid(title, steps, stages) {
  const ticks = Math.min(steps.at(-1).done, TICKS);
  const rows = (value) => range(0, stages + 1).map(() => Array(ticks).fill(value));
  const [labels, colors] = [rows(""), rows(EMPTY)];
  colors[stages].fill(null); // hatched: the arithmetic waits
  const fill = (row, start, end, label, color) => {
    for (const tick of range(start, Math.min(end, ticks))) [labels[row][tick], colors[row][tick]] = [label, color];
  };
  steps.forEach(({ issued, flows, arrived, started, done }, tile) => {
    const [buffer, label, color] = [tile % stages, String(tile), TILES[tile % TILES.length]];
    fill(buffer, issued, flows, "·", ISSUED);
    fill(buffer, flows, arrived, label, ARRIVING);
    fill(buffer, arrived, started, label, mixed(color, EMPTY, PALE));
    fill(buffer, started, done, label, color);
    fill(stages, started, done, label, color);
  });
  return grid({
    title,
    labels,
    colors,
    down: [...range(0, stages).map((n) => `buf ${n}`), "math"],
    across: range(0, ticks).map((tick) => (tick % 5 ? "" : String(tick))),
    rowBreaks: [[stages, 2]],
  });
}
