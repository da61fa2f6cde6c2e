"""A GEMM for Hopper: C (M, N) = A (M, K) · Bᵀ with B (N, K), rows contiguous, accumulators in fp32.

TMA brings tiles of A and B into a ring of stages in shared memory, wgmma multiplies them from there, and TMA takes C
back. Each stage has two mbarriers: `full`, when its tiles have arrived, and `empty`, when all have read them.

Tensors are named by where they live: m in global memory, g a block's tiles of it, s in shared memory, r in registers;
tCrA is sA as the MMA reads it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import Float32, Int32, cute
from cutlass.cute.nvgpu import warpgroup
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tutorlib.kernels.hopper.config import SMEM_ALIGNMENT, WARPGROUP, HopperConfig
from tutorlib.kernels.hopper.epilogue import Finish, Partials, make_exchange, make_stores
from tutorlib.kernels.hopper.parts import COURSE, Parts
from tutorlib.kernels.hopper.pipeline import (
    DTYPES,
    Here,
    Loads,
    Ring,
    Tma,
    buffers_layout,
    divide_roles,
    locate,
    make_load,
    make_mma,
    make_operands,
    make_ring,
    make_store,
    stage_layout,
    start,
)
from tutorlib.kernels.hopper.scheduler import Plan, Schedule, make_plan

TURN_BARRIER = 1  # and 2: named barriers, a ping-pong warpgroup's turn to multiply


@dataclass(frozen=True)
class Multiply:
    """A warpgroup's main loop.

    tCrA, tCrB: (1, M or N atoms, K blocks, stages), descriptors of shared memory. tCrC: ((2, 2, N/8), M atoms, 1).
    """

    tCrA: cute.Tensor
    tCrB: cute.Tensor
    tCrC: cute.Tensor
    ring: Ring

    @property
    def stages(self) -> int:
        return self.ring.config.ab_stages

    @cute.jit
    def step(self, state: PipelineState, first: cutlass.Constexpr) -> None:
        """When the stage is full, issue its wgmmas; the first step of a tile discards the old accumulators."""
        self.ring.wait_full(state.index, state.phase)
        warpgroup.fence()
        tiled_mma = mma_of_tile(self.ring.config)  # a new one: set() must not outlive its loop
        for k_block in cutlass.range_constexpr(cute.size(self.tCrA, mode=[2])):
            tiled_mma.set(warpgroup.Field.ACCUMULATE, not first or k_block > 0)
            a, b = self.tCrA[None, None, k_block, state.index], self.tCrB[None, None, k_block, state.index]
            cute.gemm(tiled_mma, self.tCrC, a, b, self.tCrC)
        warpgroup.commit_group()

    @cute.jit
    def rest(self, k_tiles: Int32, state: PipelineState) -> tuple[PipelineState, PipelineState]:
        """The other steps of a tile. Returns (the state of the last one, which is still in flight, the next state)."""
        in_flight = state.clone()
        state.advance()
        for _ in cutlass.range(k_tiles - 1, unroll=1):
            self.step(state, False)
            self.retire(1, in_flight)
            in_flight = state.clone()
            state.advance()
        return in_flight, state

    def retire(self, pending: int, state: PipelineState) -> None:
        """Wait until no more than `pending` steps are in flight, and free the stage that was read."""
        warpgroup.wait_group(pending)
        self.ring.release(state.index)


def mma_of_tile(config: HopperConfig) -> cute.TiledMma:
    return make_mma(config, config.tile[1], config.tile_warpgroups)


def make_multiply(sA: cute.Tensor, sB: cute.Tensor, ring: Ring, me: Here, config: HopperConfig) -> Multiply:
    """sA, sB: (tile M or N, tile K, stages)."""
    tiled_mma = mma_of_tile(config)
    math = tiled_mma.get_slice(me.in_tile * WARPGROUP)
    return Multiply(
        tCrA=tiled_mma.make_fragment_A(math.partition_A(sA)),
        tCrB=tiled_mma.make_fragment_B(math.partition_B(sB)),
        tCrC=cute.make_rmem_tensor(tiled_mma.partition_shape_C(config.tile[:2]), Float32),
        ring=ring,
    )


# Roles ----------------------------------------------------------------------------------------------------------


@cute.jit
def consume_in_turns(schedule: Schedule, multiply: Multiply, out: Finish) -> None:
    """A ping-pong warpgroup: every other item."""
    group = schedule.me.group
    state = make_pipeline_state(PipelineUserType.Consumer, multiply.stages)
    if group == 1:
        pass_turn(group)
        state.advance(schedule.k_tiles_of(0))
    for number in cutlass.range(group, schedule.items(), 2, unroll=1):
        out.ask(number)
        take_turn(group)
        multiply.step(state, True)
        in_flight, state = multiply.rest(schedule.k_tiles_of(number), state)
        pass_turn(group)
        state.advance(schedule.k_tiles_of(number + 1))
        multiply.retire(0, in_flight)
        out.round_and_store(number)
    out.drain()


def take_turn(group: Int32) -> None:
    """Until the other ping-pong warpgroup has started its last multiplication: the stages after it are this one's."""
    cute.arch.barrier(barrier_id=TURN_BARRIER + group, number_of_threads=2 * WARPGROUP)


def pass_turn(group: Int32) -> None:
    cute.arch.barrier_arrive(barrier_id=TURN_BARRIER + 1 - group, number_of_threads=2 * WARPGROUP)


# The kernel -----------------------------------------------------------------------------------------------------


class Beside(NamedTuple):
    """The kernel's arguments besides A, B and C; None where its configuration does not need them.

    scale_a, scale_b: fp32 by which C is multiplied, one each.
    acc, flags: fp32 for a tile of every block, and zeroed int32 for its warps, where blocks share tiles.
    operand: what a fused epilogue reads: (N,), the same for every row of C, or (M, N), or TMA's loads of that.
    """

    scale_a: cute.Tensor | None
    scale_b: cute.Tensor | None
    acc: cute.Tensor | None
    flags: cute.Tensor | None
    operand: Any = None


@cute.kernel
def gemm_kernel(
    a: Tma,
    b: Tma,
    c: Tma,
    beside: Beside,
    plan: Plan,
    config: cutlass.Constexpr,
    fusion: cutlass.Constexpr = None,
    parts: cutlass.Constexpr = COURSE,
):
    dtype, c_dtype = DTYPES[config.dtype], DTYPES[config.c_dtype]
    (tma_a, _), (tma_b, _), (tma_c, mC) = a, b, c
    me = locate(config)
    out = config if fusion is None else fusion.out(config)
    layout_a, layout_b, layout_c = stage_layout(0, config), stage_layout(1, config), buffers_layout(out)
    memory = SmemAllocator()
    sA = memory.allocate_tensor(dtype, layout_a.outer, SMEM_ALIGNMENT, layout_a.inner)
    sB = memory.allocate_tensor(dtype, layout_b.outer, SMEM_ALIGNMENT, layout_b.inner)
    sC = memory.allocate_tensor(c_dtype, layout_c.outer, SMEM_ALIGNMENT, layout_c.inner)
    ring = make_ring(memory, me, config, parts)
    exchange = make_exchange(sA, sB, memory, me, config) if config.split_k > 1 else None
    start((ring, exchange), (tma_a, tma_b, tma_c), me, config)

    schedule = Schedule(plan, me, config)
    loads = Loads(make_operands(a, b, sA, sB, me, config, parts), config.stage_bytes, ring)
    multiply = make_multiply(sA, sB, ring, me, config)
    stores = make_stores(tma_c, mC, sC, me, out, parts)
    stores = stores if fusion is None else fusion.stores(stores, beside.operand)
    partials = Partials(beside.acc, beside.flags, me, config, parts) if config.stream_k else None
    scale = beside.scale_a[0] * beside.scale_b[0] if config.scaled else None
    finish = Finish(stores, partials, exchange, scale, multiply.tCrC, schedule, config)

    produce = partial(parts.produce, schedule, loads)
    if cutlass.const_expr(config.schedule == "pingpong"):
        consume = partial(consume_in_turns, schedule, multiply, finish)
    else:
        consume = partial(parts.consume, schedule, multiply, finish, config.defer_stores)
    divide_roles(me, config, produce, consume)


def make_gemm(config: HopperConfig, parts: Parts = COURSE, fusion: Any = None) -> Callable[..., None]:
    """The host function gemm(a, b, c, scale_a, scale_b, acc, flags, operand, max_clusters, stream).

    The arguments between c and max_clusters are the fields of Beside. max_clusters: as many as the GPU holds at a time.
    fusion: of `kernels.hopper.fused`.
    """

    @cute.jit
    def gemm(
        a: cute.Tensor,
        b: cute.Tensor,
        c: cute.Tensor,
        scale_a: cute.Tensor | None,
        scale_b: cute.Tensor | None,
        acc: cute.Tensor | None,
        flags: cute.Tensor | None,
        operand: cute.Tensor | None,
        max_clusters: Int32,
        stream: CUstream,
    ):
        beside = Beside(scale_a, scale_b, acc, flags, operand)
        launch_gemm(a, b, c, beside, max_clusters, config, parts, stream, fusion)

    return gemm


def launch_gemm(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    beside: Beside,
    max_clusters: Int32,
    config: HopperConfig,
    parts: Parts = COURSE,
    stream: CUstream | None = None,
    fusion: Any = None,
) -> None:
    """Within a host function. a: (M, K), b: (N, K), c: (M, N), or (M, N / 2) where the fusion is gated."""
    (bM, bN, bK), (cluster_m, cluster_n) = config.tile, config.cluster
    load_a = make_load(a, stage_layout(0, config), cluster_n)
    load_b = make_load(b, stage_layout(1, config), cluster_m)
    store_c = make_store(c, config if fusion is None else fusion.out(config))
    m, n = c.shape if fusion is None else (a.shape[0], b.shape[0])  # of the accumulators
    tiles = cute.ceil_div(m, bM * cluster_m), cute.ceil_div(n, bN * cluster_n)
    plan, clusters = make_plan(tiles, cute.ceil_div(a.shape[1], bK), max_clusters, config)
    if fusion is not None:
        beside = beside._replace(operand=fusion.source(beside.operand, config))
    kernel = gemm_kernel(load_a, load_b, store_c, beside, plan, config, fusion, parts)
    queue = {} if stream is None else {"stream": stream}
    kernel.launch(**geometry(clusters, config), **queue)


def geometry(clusters: Int32, config: HopperConfig) -> dict[str, Any]:
    """A launch of so many clusters, but for its stream.

    Blocks of their own are launched without clusters, and not as clusters of one. On an H200 two neighbors of the grid
    then share a TPC, where clusters of one have a TPC each, and the same kernel is often faster.
    No kernel signals that the next one may start before its own end: blocks then start in another order. That gains
    where they are few, and loses more elsewhere.
    """
    cluster_m, cluster_n = config.cluster
    launch: dict[str, Any] = {
        "grid": (clusters * cluster_m, cluster_n, config.split_k),
        "block": (config.threads, 1, 1),
        "min_blocks_per_mp": 1,
        "preferred_smem_carveout": 100,
        "use_pdl": config.pdl,
    }
    if config.cluster_blocks > 1:
        launch["cluster"] = cluster_m, cluster_n, config.split_k
    return launch
