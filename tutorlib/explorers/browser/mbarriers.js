// The explorer of a ring of stages between a producer and a consumer, executed one instruction at a time.
import { grid } from "./layout_grid.js";
import { counted, range } from "./numbers.js";
import { category, EMPTY } from "./palette.js";

const OPERANDS = { A: 16, B: 32 }; // KiB of a stage
const BUSY = "#F1F3F5";
const ACTORS = ["producer", null, "consumer"]; // null: TMA
const COLUMNS = ["A", "B", "phase", "arrive", "KiB", "phase", "arrive"];
const LOOPS = {
  producer: ["wait", "expect", "load", "next"],
  consumer: ["wait", "mma", "done", "free", "next"],
};
const FAULTS = {
  noFree: "the consumer does not arrive on empty",
  otherPhase: "the consumer waits for the other phase",
  phase0: "the producer begins with phase 0",
  onlyA: "the producer expects A's bytes alone",
  noWait: "the producer does not wait for empty",
  earlyFree: "the consumer frees before it is done",
};

export const exploreMbarriers = () => {
  let ring = null;
  return (stages, fault, click) => {
    if (ring?.stages !== stages || ring.fault !== fault) ring = newRing(stages, fault);
    else if (click) play(ring, click);
    return scene(ring);
  };
};

// One warp arrives on each barrier; KiB: announced and not yet there; phase: how many are over.
const barrier = (phase = 0) => ({ missing: 1, pending: 0, phase });
const turned = (one) => (one.missing || one.pending ? one : barrier(one.phase + 1));
const letsPass = (one, parity) => one.phase % 2 !== parity;

function newRing(stages, fault) {
  const loops = structuredClone(LOOPS);
  if (fault === FAULTS.noWait) loops.producer.shift();
  if (fault === FAULTS.noFree) loops.consumer.splice(3, 1);
  if (fault === FAULTS.earlyFree) loops.consumer = ["wait", "mma", "free", "done", "next"];
  const place = (phase) => ({ phase, index: 0, count: 0, order: 0 });
  return {
    stages,
    fault,
    loops,
    full: range(0, stages).map(() => barrier()),
    empty: range(0, stages).map(() => barrier()),
    holds: range(0, stages).map(() => ({})), // operand → tile
    inFlight: [], // {operand, tile, stage}
    producer: place(fault === FAULTS.phase0 ? 0 : 1),
    consumer: place(fault === FAULTS.otherPhase ? 1 : 0),
    reading: null,
    multiplied: 0,
    said: "",
    wrong: "",
  };
}

const blame = (ring, what) => (ring.wrong ||= what);
const barriersOf = (ring, side) => (side === "producer" ? ring.empty : ring.full);

function blocked(ring, side) {
  const here = ring[side];
  return ring.loops[side][here.order] === "wait" && !letsPass(barriersOf(ring, side)[here.index], here.phase);
}

const stuck = (ring) => !ring.inFlight.length && blocked(ring, "producer") && blocked(ring, "consumer");

// A click on a side's row executes its next instruction; one on a transfer completes it.
function play(ring, [which, [row, column]]) {
  if (which !== 0) return;
  const side = ACTORS[row];
  if (side) step(ring, side);
  else if (column < ring.inFlight.length) deliver(ring, column);
}

function step(ring, side) {
  const here = ring[side];
  if (blocked(ring, side)) {
    const name = side === "producer" ? "empty" : "full";
    ring.said = `${side} waits: phase ${here.phase} of ${name}[${here.index}] is not over.`;
  } else {
    const loop = ring.loops[side];
    const instruction = loop[here.order];
    here.order = (here.order + 1) % loop.length;
    ring.said = `${side}: ${INSTRUCTIONS[side][instruction](ring, here)}`;
  }
  if (stuck(ring)) blame(ring, "Both sides wait, and nothing is in flight: forever.");
}

function deliver(ring, number) {
  const [{ operand, tile, stage }] = ring.inFlight.splice(number, 1);
  if (ring.reading === stage)
    blame(ring, `${operand} of tile ${tile} overwrites stage ${stage} while wgmmas still read it.`);
  ring.holds[stage][operand] = tile;
  const full = ring.full[stage];
  ring.full[stage] = turned({ ...full, pending: full.pending - OPERANDS[operand] });
  const bytes = `${OPERANDS[operand]} KiB counted on full[${stage}]`;
  ring.said = `TMA: ${operand} of tile ${tile} is in stage ${stage}, ${bytes}.`;
}

function next(ring, here) {
  here.index = (here.index + 1) % ring.stages;
  here.count += 1;
  if (here.index === 0) here.phase ^= 1;
  return `on to step ${here.count}, stage ${here.index}, phase ${here.phase}.`;
}

// Each changes the ring and returns what it did.
const INSTRUCTIONS = {
  producer: {
    wait: (_, here) => `phase ${here.phase} of empty[${here.index}] is over, the stage is free.`,
    expect(ring, { index }) {
      const size = ring.fault === FAULTS.onlyA ? OPERANDS.A : OPERANDS.A + OPERANDS.B;
      const full = ring.full[index];
      if (full.missing) ring.full[index] = turned({ ...full, missing: 0, pending: full.pending + size });
      else blame(ring, `full[${index}] has its arrival of this phase already: this one is lost.`);
      return `arrives on full[${index}], ${size} KiB will come.`;
    },
    load(ring, { index, count }) {
      for (const operand of Object.keys(OPERANDS)) ring.inFlight.push({ operand, tile: count, stage: index });
      return `TMA is to bring A and B of tile ${count} into stage ${index}.`;
    },
    next,
  },
  consumer: {
    wait: (_, here) => `phase ${here.phase} of full[${here.index}] is over.`,
    mma(ring, { index, count }) {
      const missing = Object.keys(OPERANDS).filter((operand) => ring.holds[index][operand] !== count);
      if (missing.length) {
        const are = missing.length > 1 ? "are" : "is";
        blame(ring, `wgmma reads stage ${index}, and ${missing.join(" and ")} of tile ${count} ${are} not there.`);
      }
      ring.reading = index;
      return `wgmmas read stage ${index} from now on.`;
    },
    done(ring, { index }) {
      ring.reading = null;
      ring.multiplied += 1;
      return `wait_group returns, stage ${index} has been read.`;
    },
    free(ring, { index }) {
      ring.empty[index] = turned({ ...ring.empty[index], missing: 0 });
      return `arrives on empty[${index}].`;
    },
    next,
  },
};

function scene(ring) {
  const first = "Click the producer's row to execute its first instruction, then continue in any order.";
  const lines = [ring.said || first];
  for (const side of Object.keys(LOOPS)) {
    const { index, phase, count } = ring[side];
    lines.push(`${side}: index ${index}, phase ${phase}, count ${count}`);
  }
  lines.push(`${counted(ring.multiplied, "tile")} multiplied${ring.wrong ? `. WRONG: ${ring.wrong}` : ""}`);
  return { grids: [instructionsGrid(ring), stagesGrid(ring)], answer: lines.join("\n") };
}

function instructionsGrid(ring) {
  const longest = Math.max(...Object.values(LOOPS).map((loop) => loop.length));
  const width = Math.max(longest, ring.inFlight.length);
  const fill = (row, value) => [...row, ...Array(width - row.length).fill(value)];
  const outlined = [];
  const rows = ACTORS.map((side, row) => {
    if (!side) {
      const names = ring.inFlight.map(({ operand, tile }) => `${operand} ${tile}`);
      return [names, ring.inFlight.map(({ tile }) => category(tile))];
    }
    const { count, order } = ring[side];
    outlined.push([row, order]);
    return [ring.loops[side], ring.loops[side].map((_, n) => (n === order ? category(count) : BUSY))];
  });
  return grid({
    title: `click a row: its next instruction${stuck(ring) ? " (both wait forever)" : ""}`,
    labels: rows.map(([labels]) => fill(labels, "")),
    colors: rows.map(([, colors]) => fill(colors, EMPTY)),
    down: ["loads", "TMA", "math"],
    outlined,
  });
}

function stagesGrid(ring) {
  const rows = ring.holds.map((held, stage) => {
    const tiles = Object.keys(OPERANDS).map((operand) => held[operand] ?? null);
    const [full, empty] = [ring.full[stage], ring.empty[stage]];
    return [tiles, [full.phase % 2, full.missing, full.pending, empty.phase % 2, empty.missing]];
  });
  return grid({
    title: "stages: tiles · full: phase, pending arrivals and KiB · empty: phase, pending arrivals",
    labels: rows.map(([tiles, numbers]) => [...tiles.map((tile) => String(tile ?? "")), ...numbers.map(String)]),
    colors: rows.map(([tiles, numbers]) => [
      ...tiles.map((tile) => (tile === null ? null : category(tile))),
      ...numbers.map(() => EMPTY),
    ]),
    down: range(0, ring.stages).map((stage) => `[${stage}]`),
    across: COLUMNS,
    columnBreaks: [[2, 2], [5, 2]],
    outlined: ring.reading === null ? [] : [[ring.reading, 0], [ring.reading, 1]],
  });
}
