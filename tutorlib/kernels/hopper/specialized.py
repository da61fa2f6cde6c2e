"""The GEMM that notebook 15 builds: a warp that loads, warpgroups that multiply, and the reader's loops for both.

Persistent: a block takes tile after tile, down bands of GROUP rows. While the consumers store one tile, the producer
fills the stages for the next. Each tile has mbarriers of its own, so that both loops can count from 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import cutlass
from cutlass import Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib.kernels.hopper.config import SMEM_ALIGNMENT, WARPGROUP, HopperConfig
from tutorlib.kernels.hopper.epilogue import Stores, make_stores
from tutorlib.kernels.hopper.pipeline import (
    DTYPES,
    Tma,
    TmaLoad,
    buffers_layout,
    divide_roles,
    locate,
    make_load,
    make_mma,
    make_operands,
    make_store,
    stage_layout,
)
from tutorlib.models.l2 import grouped

GROUP = 8  # rows of tiles in a band
SMS = 132  # of an H100 SXM and an H200: the number of persistent blocks
STAGES_READ = 1  # named barrier: a tile's last stage has been read
VECTOR = 8  # bf16 of 16 bytes, the step of TMA's rows


@dataclass(frozen=True)
class RoleSteps:
    """One tile's steps along K, for a thread of either role.

    k_tiles: their number. stages: buffers for them. stage_bytes: of A's and B's tile together.
    full, empty: mbarriers, one for each stage. A phase of full[stage] completes with 1 arrival and the bytes that it
        announces; one of empty[stage] with `consumers` arrivals, one from each consumer warp.
    tile: (M, N) place in C. operands: of A and B.
    tCrA, tCrB: (1, M or N atoms, K blocks, stages), descriptors of shared memory. tCrC: ((2, 2, N/8), M atoms, 1).
    """

    k_tiles: int
    stages: int
    stage_bytes: int
    consumers: int
    full: cute.Pointer
    empty: cute.Pointer
    tile: tuple[Int32, Int32]
    operands: tuple[TmaLoad, ...]
    tiled_mma: cute.TiledMma
    tCrA: cute.Tensor
    tCrB: cute.Tensor
    tCrC: cute.Tensor

    def load(self, k_tile: Any, stage: Any) -> None:
        """Issue the loads of a K tile of A and B into the stage; full[stage] counts their bytes."""
        for operand in self.operands:
            operand.load(self.tile, k_tile, stage, self.full + stage)

    def multiply(self, stage: Any, first: bool) -> None:
        """Issue the wgmmas of a stage's K blocks. first: discard the old accumulators. Raises TypeError."""
        if not isinstance(first, int):
            raise TypeError(
                "`first` is True or False in Python: the first K tile comes before the loop over the others"
            )
        for k_block in range(cute.size(self.tCrA, mode=[2])):
            self.tiled_mma.set(warpgroup.Field.ACCUMULATE, not first or k_block > 0)
            a, b = self.tCrA[None, None, k_block, stage], self.tCrB[None, None, k_block, stage]
            cute.gemm(self.tiled_mma, self.tCrC, a, b, self.tCrC)


RoleLoop = Callable[[RoleSteps], None]


@cute.jit
def load_steps(steps: RoleSteps) -> None:
    """The producer warp's loop: fill every stage as soon as it is empty."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(k_tile, state.index)
        state.advance()


@cute.jit
def multiply_steps(steps: RoleSteps) -> None:
    """A consumer warp's loop: one step is in flight while the next is issued."""
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
    warpgroup.fence()
    steps.multiply(state.index, True)
    warpgroup.commit_group()
    before = state.clone()
    state.advance()
    for _ in cutlass.range(steps.k_tiles - 1, unroll=1):
        cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
        warpgroup.fence()
        steps.multiply(state.index, False)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + before.index)
        before = state.clone()
        state.advance()
    warpgroup.wait_group(0)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive(steps.empty + before.index)


@dataclass(frozen=True)
class TileWalk:
    """Which of C's tiles (tiles_m × tiles_n) a cluster computes: every `clusters`-th, in groups of rows."""

    tiles_m: int
    tiles_n: int
    clusters: int
    cluster: Int32
    group: int = GROUP

    @property
    def count(self) -> Int32:
        return (self.tiles_m * self.tiles_n - self.cluster + self.clusters - 1) // self.clusters

    def tile(self, number: Any) -> tuple[Any, Any]:
        """(M, N) of the number-th."""
        return grouped(self.cluster + number * self.clusters, self.tiles_m, self.tiles_n, self.group)


@dataclass(frozen=True)
class Tiles:
    """A block's tiles. first: the steps of one. threads: of the consumers and the producer warp."""

    walk: TileWalk
    first: RoleSteps
    threads: int

    def steps(self, number: Int32) -> RoleSteps:
        """The steps of the number-th tile: another place, other mbarriers."""
        ring = 2 * self.first.stages * number
        full, empty = self.first.full + ring, self.first.empty + ring
        return replace(self.first, tile=self.walk.tile(number), full=full, empty=empty)


@cute.jit
def load_tiles(tiles: Tiles, produce: cutlass.Constexpr) -> None:
    for number in cutlass.range(tiles.walk.count, unroll=1):
        produce(tiles.steps(number))
        cute.arch.barrier(barrier_id=STAGES_READ, number_of_threads=tiles.threads)


@cute.jit
def multiply_tiles(tiles: Tiles, consume: cutlass.Constexpr, stores: Stores) -> None:
    for number in cutlass.range(tiles.walk.count, unroll=1):
        steps = tiles.steps(number)
        consume(steps)
        cute.arch.barrier_arrive(barrier_id=STAGES_READ, number_of_threads=tiles.threads)
        stores.round(steps.tCrC, None, stores.steps, steps.tile)
        stores.send(steps.tile, stores.steps)
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def specialized_kernel(
    a: Tma, b: Tma, c: Tma, config: cutlass.Constexpr, roles: cutlass.Constexpr, sizes: cutlass.Constexpr
):
    """roles: (produce, consume). sizes: tiles of C along M and N, K tiles of each, blocks that share the tiles."""
    tiles_m, tiles_n, k_tiles, blocks = sizes
    rounds = -(-tiles_m * tiles_n // blocks)  # the most tiles that a block takes
    dtype, stages = DTYPES[config.dtype], config.ab_stages
    (tma_a, _), (tma_b, _), (tma_c, mC) = a, b, c
    layout_a, layout_b, layout_c = stage_layout(0, config), stage_layout(1, config), buffers_layout(config)
    produce, consume = roles
    consumers = 4 * config.mma_warpgroups
    threads = WARPGROUP * config.mma_warpgroups + 32  # of the consumers, and the producer warp
    me = locate(config)
    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, layout_a.outer, SMEM_ALIGNMENT, layout_a.inner)
    sB = memory.allocate_tensor(dtype, layout_b.outer, SMEM_ALIGNMENT, layout_b.inner)
    sC = memory.allocate_tensor(dtype, layout_c.outer, SMEM_ALIGNMENT, layout_c.inner)
    rings = memory.allocate_array(Int64, 2 * stages * rounds)
    if me.group == 0 and me.warp == 0:
        for tma in (tma_a, tma_b, tma_c):
            cpasync.prefetch_descriptor(tma)
        with cute.arch.elect_one():
            for number in cutlass.range(rounds, unroll=1):
                for stage in cutlass.range_constexpr(stages):
                    cute.arch.mbarrier_init(rings + number * 2 * stages + stage, 1)
                    cute.arch.mbarrier_init(rings + number * 2 * stages + stages + stage, consumers)
            cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    operands = make_operands(a, b, sA, sB, me, config)
    tiled_mma = make_mma(config, config.tile[1], config.tile_warpgroups)
    math = tiled_mma.get_slice(me.in_tile * WARPGROUP)
    tCrA = tiled_mma.make_fragment_A(math.partition_A(sA))
    tCrB = tiled_mma.make_fragment_B(math.partition_B(sB))
    tCrC = cute.make_rmem_tensor(tiled_mma.partition_shape_C(config.tile[:2]), Float32)
    stores = make_stores(tma_c, mC, sC, me, config)

    fixed = (k_tiles, stages, config.stage_bytes, consumers)
    first = RoleSteps(*fixed, rings, rings + stages, (Int32(0), Int32(0)), operands, tiled_mma, tCrA, tCrB, tCrC)
    tiles = Tiles(TileWalk(tiles_m, tiles_n, blocks, me.cluster), first, threads)
    divide_roles(me, config, partial(load_tiles, tiles, produce), partial(multiply_tiles, tiles, consume, stores))


def make_specialized(config: HopperConfig, produce: RoleLoop, consume: RoleLoop) -> Callable[..., None]:
    """The host function gemm(a, b, c) of these loops, for cute.Tensors of static shape, without clusters.

    It raises ValueError while it is compiled where rows of A, B or C do not start at multiples of 16 bytes.
    """

    @cute.jit
    def gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
        (bM, bN, bK), (m, n), k = config.tile, c.shape, a.shape[1]
        if cutlass.const_expr(k % VECTOR != 0 or n % VECTOR != 0):
            raise ValueError(f"N = {n}, K = {k}: TMA's rows start at multiples of 16 bytes, 8 elements")
        tiles_m, tiles_n = -(-m // bM), -(-n // bN)
        blocks = min(tiles_m * tiles_n, SMS)
        load_a, load_b = make_load(a, stage_layout(0, config), 1), make_load(b, stage_layout(1, config), 1)
        # A layout that knows of one box only would take a box beside C for that one: so it does not know.
        unknown = cute.make_layout((Int32(m), Int32(n)), stride=c.stride)
        store_c = make_store(cute.make_tensor(c.iterator, unknown), config)
        sizes = tiles_m, tiles_n, -(-k // bK), blocks
        specialized_kernel(load_a, load_b, store_c, config, (produce, consume), sizes).launch(
            grid=(blocks, 1, 1), block=(config.threads, 1, 1)
        )

    return gemm
