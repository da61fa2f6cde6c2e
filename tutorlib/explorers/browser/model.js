// What an explorer shows for the values of its inputs and the clicks so far.
import { outline } from "./layout_grid.js";
import { exploreCompose, exploreDivide, exploreLayout } from "./layouts.js";
import { exploreMbarriers } from "./mbarriers.js";
import { Problem } from "./problem.js";
import { exploreSwizzle } from "./swizzle.js";
import { exploreTileSpace } from "./tile_space.js";
import { exploreTv } from "./tiled_copy.js";

// kind → a function of the explorer's arguments that returns a function of its inputs' values and the click:
// [grid, [row, column]], or null. That one returns {grids, answer} or throws a Problem.
const EXPLORERS = {
  layout: exploreLayout,
  compose: exploreCompose,
  divide: exploreDivide,
  swizzle: exploreSwizzle,
  tv: exploreTv,
  tile_space: exploreTileSpace,
  mbarriers: exploreMbarriers,
};

export class Model {
  constructor({ kind, arguments: given, inputs }) {
    this.compute = EXPLORERS[kind](given);
    this.inputs = inputs;
    this.state = { grids: [], answer: "", problem: "" };
    this.drawn = [];
    this.click = null;
    this.listener = () => {}; // called after each change of the state
    this.redraw();
  }

  // A click in a grid. While a message is shown, the picture is of earlier inputs.
  send({ grid, row, column }) {
    if (this.state.problem) return;
    this.click = [grid, [row, column * this.drawn[grid].step]];
    this.redraw();
  }

  // A new value of an input. New text means other cells, so it clears the click.
  change(input, value) {
    input.value = value;
    if (input.kind === "text") this.click = null;
    this.redraw();
  }

  // For an input without a picture, the message, and the last picture stays.
  redraw() {
    try {
      const { grids, answer } = this.compute(...this.inputs.map((input) => input.value), this.click);
      this.drawn = grids;
      const sent = grids.map(({ outlined, step, ...grid }) => ({ ...grid, outline: outline(outlined) }));
      this.state = { problem: "", grids: sent, answer };
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.state.problem = error.message;
    }
    this.listener();
  }
}
