"""The configuration of the Hopper attention kernel, and its schedule: which tile of queries a block works on.

That is the one at its place in the grid, or, if persistent, the next one left.

Persistent blocks draw numbers from a counter that all of them share. A fixed share of the tiles for each block would
need no counter, but tiles under a causal mask differ in length, and a batch's K and V stay in L2 only if all blocks
work on this batch.
"""

from dataclasses import dataclass

import cutlass
from cutlass import Int32, cute
from cutlass.pipeline import PipelineState

WARPGROUP, MMA_M = 128, 64


@dataclass(frozen=True)
class AttentionConfig:
    """head_dim: of Q, K and V. tile_m: queries of a block. tile_n: keys of a step. pingpong: softmax takes turns.

    overlap: issue S of the next step before P V of this one. few_masks: the causal mask only in blocks that need it.
    longest_first: the tiles of a causal grid with the most keys start first. persistent: a block on each SM takes tile
    after tile.
    """

    head_dim: int = 128
    tile_m: int = 128
    tile_n: int = 128
    stages: int = 2
    causal: bool = False
    pingpong: bool = True
    overlap: bool = True
    few_masks: bool = True
    longest_first: bool = True
    persistent: bool = False

    def __post_init__(self) -> None:
        if self.pingpong and self.consumers != 2:
            what = f"ping-pong is for 2 consumer warpgroups, tile_m={2 * MMA_M}; tile_m={self.tile_m} has"
            raise ValueError(f"{what} {self.consumers}: pass pingpong=False")

    @property
    def consumers(self) -> int:
        return self.tile_m // MMA_M

    @property
    def threads(self) -> int:
        return WARPGROUP * (self.consumers + 1)

    @property
    def registers(self) -> tuple[int, int]:
        return (32, 160) if self.consumers == 3 else (24, 240)

    @property
    def q_stages(self) -> int:
        """The next tile's Q is loaded while this tile's is read, and while O is stored through it."""
        return 2 if self.persistent else 1

    @property
    def kv_bytes(self) -> int:
        return 2 * self.tile_n * self.head_dim


@dataclass(frozen=True)
class DrawnTile:
    """q_state: of a tile's Q in the ring. before: blocks of keys that went through the rings for earlier tiles."""

    q_state: PipelineState
    before: Int32


@dataclass(frozen=True)
class Tile:
    """The m_block-th tile of queries of a head in a run. drawn: only if persistent.

    run: of keys; those of a batch follow one another. first: its first block of keys. n_blocks: of keys that the tile
    needs, from there on. unmasked: those of them that need no mask, without the last.
    """

    m_block: Int32
    head: Int32
    batch: Int32
    run: Int32
    first: Int32
    n_blocks: Int32
    unmasked: Int32
    drawn: DrawnTile | None

    @property
    def q_stage(self) -> Int32 | int:
        return self.drawn.q_state.index if self.drawn else 0

    @property
    def place(self) -> tuple[Int32, ...]:
        return self.m_block, self.head, self.run, self.drawn.before

    def carried(self, state: PipelineState) -> PipelineState:
        """The state of the ring of K or V, given the state of one in which this tile's first block is at 0."""
        if self.drawn:
            state = state.clone()
            state.advance(self.drawn.before)
        return state


@dataclass(frozen=True)
class Order:
    """The tiles of all heads and runs: those of a run before the next one's, each of all heads before the next.

    m_blocks: tiles of queries of each head. runs: of keys, of all batches; each batch has `splits`.
    """

    m_blocks: Int32
    heads: Int32
    runs: Int32
    splits: Int32
    keys: Int32
    config: AttentionConfig

    @property
    def tiles(self) -> Int32:
        return self.m_blocks * self.heads * self.runs

    def m_block(self, step: Int32) -> Int32:
        """The step-th of a head's tiles."""
        return self.m_blocks - 1 - step if self.config.causal and self.config.longest_first else step

    @cute.jit
    def tile(self, m_block: Int32, head: Int32, run: Int32, drawn: DrawnTile | None = None) -> Tile:
        config = self.config
        bM, bN = config.tile_m, config.tile_n
        n_blocks = cute.ceil_div(self.keys, bN)
        most = cute.ceil_div(n_blocks, self.splits)
        first = run % self.splits * most
        n_blocks = cutlass.min(most, n_blocks - first)
        unmasked = n_blocks - 1
        if cutlass.const_expr(config.causal):  # in one run
            n_blocks = cutlass.min(n_blocks, cute.ceil_div((m_block + 1) * bM, bN))
            unmasked = cutlass.min(n_blocks - 1, m_block * bM // bN) if cutlass.const_expr(config.few_masks) else 0
        return Tile(m_block, head, run // self.splits, run, first, n_blocks, unmasked, drawn)

    def numbered(self, number: Int32, drawn: DrawnTile) -> Tile:
        rest, head = number // self.heads, number % self.heads
        return self.tile(self.m_block(rest % self.m_blocks), head, rest // self.m_blocks, drawn)

    @cute.jit
    def draw(self, counter: cute.Tensor) -> Int32:
        """The number of the next tile, to all lanes of a warp. Each block draws until none is left.

        counter: (1,). The last draw of the grid resets it to 0.
        """
        number = Int32(0)
        if cute.arch.lane_idx() == 0:
            number = cute.arch.atomic_add(counter.iterator, Int32(1))
            draws = self.tiles + cute.arch.grid_dim()[0]
            if number == draws - 1:
                cute.arch.atomic_add(counter.iterator, -draws)
        return cute.arch.shuffle_sync(number, 0)
