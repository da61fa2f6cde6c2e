"""An FP8 GEMM whose operands have a scale for every 128 of K: one for each row of A, one for 128 × 128 of B.

C (M, N) = Σ over blocks of K: scale_a (M, K/128) · scale_b (N/128, K/128) · (A · Bᵀ of the block). The tensor cores add
up e4m3 products with fewer bits than fp32 has, so a block's accumulators go into fp32 accumulators on the ordinary
cores, scaled.

A usually has few rows, tokens, and B many, weights. So B's rows are the 64 rows of a wgmma and A's its columns, of
which any multiple of 8 will do, and the result is C transposed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import Float32, Int32, cute
from cutlass.cute.nvgpu import warpgroup
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tutorlib.kernels.hopper.config import SMEM_ALIGNMENT, HopperConfig
from tutorlib.kernels.hopper.epilogue import Finish, Partials, make_stores
from tutorlib.kernels.hopper.gemm import (
    Beside,
    Multiply,
    geometry,
    make_multiply,
    pass_turn,
    plan_for,
    take_turn,
)
from tutorlib.kernels.hopper.layouts import DTYPES, Tma, buffers_layout, make_load, make_store, stage_layout
from tutorlib.kernels.hopper.parts import produce_tiles
from tutorlib.kernels.hopper.pipeline import Here, Loads, divide_roles, locate, make_operand, make_ring, start
from tutorlib.kernels.hopper.scheduler import Plan, Schedule
from tutorlib.kernels.hopper.slots import COURSE
from tutorlib.kernels.hopper.timeline import Did, make_trace

LANES = 32  # of a warp


@dataclass(frozen=True)
class ScaledMultiply:
    """A warpgroup's main loop: multiply one K block, then add it to the accumulators with its scales.

    multiply.tCrC: ((2 columns, 2 rows, N/8), 1, 1) of one K block; accumulators: the same of a tile.
    sX: (2 of a thread, 4 threads, N/8, stages), the columns' scales. mW: (N/128, K/128), those of 128 rows.
    """

    multiply: Multiply
    acc: cute.Tensor
    sX: cute.Tensor
    mW: cute.Tensor
    me: Here
    turns: int

    @cute.jit
    def step(self, state: PipelineState, weight: Float32) -> None:
        """As soon as the stage is full, multiply it and add it to the accumulators."""
        multiply, turns = self.multiply, self.turns
        if cutlass.const_expr(turns > 0):
            take_turn(self.me.group)
        multiply.step(state, True, turns)
        scales = cute.make_rmem_tensor((2, cute.size(self.sX, mode=[2])), Float32)
        cute.autovec_copy(self.sX[None, self.me.thread % 4, None, state.index], scales)
        scales.store(scales.load() * weight)
        cute.arch.sync_warp()  # retire lets one lane free the stage, from which all have read their scales
        if cutlass.const_expr(turns > 0):
            warpgroup.wait_group(turns - 1)
            pass_turn(self.me.group)
        multiply.retire(0, state)
        for_both_rows = cute.make_layout(((2, 2, scales.shape[1]), 1, 1), stride=((1, 0, 2), 0, 0))
        scaled = multiply.tCrC.load() * cute.make_tensor(scales.iterator, for_both_rows).load()
        self.acc.store(self.acc.load() + scaled)

    @cute.jit
    def tile(self, row: Int32, k_begin: Int32, k_end: Int32, state: PipelineState) -> PipelineState:
        """Every K block of a tile. A warp's lanes hold the weights of 32 of them."""
        row = cutlass.min(row, self.mW.shape[0] - 1)
        self.acc.fill(0.0)
        lane, weights = cute.arch.lane_idx(), Float32(0.0)
        for k_tile in cutlass.range(k_begin, k_end, unroll=1):
            turn = (k_tile - k_begin) % LANES
            if turn == 0:
                weights = self.mW[row, cutlass.min(k_tile + lane, k_end - 1)]
            self.step(state, cute.arch.shuffle_sync(weights, turn))
            state.advance()
        return state


@cute.jit
def consume_scaled(schedule: Schedule, multiply: ScaledMultiply, out: Finish, config: cutlass.Constexpr) -> None:
    state = make_pipeline_state(PipelineUserType.Consumer, config.ab_stages)
    if cutlass.const_expr(config.turns > 0):
        if schedule.me.group == 1:
            pass_turn(schedule.me.group)
    for number in cutlass.range(schedule.items(), unroll=1):
        place, k_begin, k_end = schedule.item(number)
        state = multiply.tile(schedule.block_tile(place)[0], k_begin, k_end, state)
        out.round_and_store(number)
    out.drain()


@cute.kernel
def scaled_kernel(b: Tma, a: Tma, scale_a: Tma, c: Tma, beside: Beside, plan: Plan, config: cutlass.Constexpr):
    rows, columns, block = config.tile
    dtype = DTYPES[config.dtype]
    (tma_w, mB), (tma_x, mA), (tma_s, mS), (tma_c, mC) = b, a, scale_a, c
    layout_w, layout_x = stage_layout(0, config), stage_layout(1, config)
    layout_s, layout_c = scales_layout(config), buffers_layout(config)
    me = locate(config)
    memory = SmemAllocator()
    sB = memory.allocate_tensor(dtype, layout_w.outer, SMEM_ALIGNMENT, layout_w.inner)
    sA = memory.allocate_tensor(dtype, layout_x.outer, SMEM_ALIGNMENT, layout_x.inner)
    sC = memory.allocate_tensor(DTYPES[config.c_dtype], layout_c.outer, SMEM_ALIGNMENT, layout_c.inner)
    sS = memory.allocate_tensor(Float32, layout_s, 128)  # (columns, 1, stages)
    ring = make_ring(memory, me, config)
    trace = make_trace(beside.events, memory, me, config)
    start((ring, None), (tma_w, tma_x, tma_s, tma_c), me, config)
    trace.stamp(Did.START, cute.arch.smid())

    schedule = Schedule(plan, me, config)
    gB = cute.local_tile(mB, (rows, block), (None, None))  # (128, 128, N tiles, K blocks)
    gA = cute.local_tile(mA, (columns, block), (None, None))  # (columns, 128, M tiles, K blocks)
    gS = cute.local_tile(mS, (columns, 1), (None, None))  # (columns, 1, M tiles, K blocks)
    operands = (
        make_operand(tma_w, gB, sB, 0, config.l2_a, me, config),
        make_operand(tma_x, gA, sA, 1, config.l2_b, me, config),
        make_operand(tma_s, gS, sS, 1, config.l2_b, me, config),
    )
    loads = Loads(operands, config.stage_bytes, ring, trace)
    multiply = make_multiply(sB, sA, ring, trace, me, config)
    sX = cute.make_tensor(
        sS.iterator, cute.make_layout((2, 4, columns // 8, config.ab_stages), stride=(1, 2, 8, config.scale_columns))
    )
    scaled = ScaledMultiply(multiply, cute.make_fragment_like(multiply.tCrC), sX, beside.scale_b, me, config.turns)
    stores = make_stores(tma_c, mC, sC, me, config)
    partials = Partials(beside.acc, beside.flags, me, config) if config.stream_k else None
    finish = Finish(stores, partials, None, None, scaled.acc, schedule, trace, config)

    consume = partial(consume_scaled, schedule, scaled, finish, config)
    divide_roles(me, config, COURSE, partial(produce_tiles, schedule, loads), consume)


def make_scaled_gemm(config: HopperConfig) -> Callable[..., None]:
    """The host function gemm(b, a, c, scale_b, scale_a, acc, flags, events, max_clusters, stream).

    a: (M, K), b: (N, K), c: (N, M) with N contiguous. scale_a: (M, K/128) with M contiguous, scale_b: (N/128, K/128).
    The rest is as in make_gemm.
    """

    @cute.jit
    def gemm(
        b: cute.Tensor,
        a: cute.Tensor,
        c: cute.Tensor,
        scale_b: cute.Tensor,
        scale_a: cute.Tensor,
        acc: cute.Tensor | None,
        flags: cute.Tensor | None,
        events: cute.Tensor | None,
        max_clusters: Int32,
        stream: CUstream,
    ):
        cluster_m, cluster_n = config.cluster
        load_b = make_load(b, stage_layout(0, config), cluster_n)
        load_a = make_load(a, stage_layout(1, config), cluster_m)
        load_s = make_load(scale_a, scales_layout(config), cluster_m)
        plan, clusters = plan_for(c, b.shape[1], max_clusters, config)
        beside = Beside(scale_a, scale_b, acc, flags, events)
        kernel = scaled_kernel(load_b, load_a, load_s, make_store(c, config), beside, plan, config)
        kernel.launch(**geometry(clusters, config), stream=stream)

    return gemm


def scales_layout(config: HopperConfig) -> cute.Layout:
    """(columns, 1, stages) of A's scales."""
    return cute.make_layout((config.tile[1], 1, config.ab_stages), stride=(1, 0, config.scale_columns))
