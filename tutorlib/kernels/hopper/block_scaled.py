"""An FP8 GEMM whose operands have a scale for every 128 of K: one for each row of A, one for 128 × 128 of B.

C (M, N) = Σ over blocks of K: scale_a (M, K/128) · scale_b (N/128, K/128) · (A · Bᵀ of the block). The tensor cores add
up e4m3 products with fewer bits than fp32 has, so a block's sums go into fp32 sums on the ordinary cores, scaled.

A has few rows as a rule, tokens, and B many, weights: so B's rows lie along the 64 rows of wgmma and A's along its
columns, of which any multiple of 8 will do, and C comes out transposed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import Float32, Int32, cute
from cutlass.cute.nvgpu import warpgroup
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tutorlib.kernels.hopper.config import MMA_M, SMEM_ALIGNMENT, HopperConfig
from tutorlib.kernels.hopper.epilogue import Finish, Partials, make_stores
from tutorlib.kernels.hopper.gemm import Multiply, make_multiply, pass_turn, produce, take_turn
from tutorlib.kernels.hopper.layouts import DTYPES, make_load, make_mma, make_store, stage_layout, store_layout
from tutorlib.kernels.hopper.pipeline import Here, Loads, locate, make_operand, make_ring, start
from tutorlib.kernels.hopper.scheduler import Plan, Schedule, make_plan
from tutorlib.kernels.hopper.timeline import Did, make_trace

LANES = 32  # of a warp


@dataclass(frozen=True)
class ScaledMultiply:
    """What a warpgroup does with full stages: multiply one K block, then add it to the sums with its scales.

    multiply.tCrC: ((2 columns, 2 rows, N/8), 1, 1) of one K block; sums: the same of a tile.
    sX: (2 of a thread, 4 threads, N/8, stages), the columns' scales. mW: (N/128, K/128), those of 128 rows.
    """

    multiply: Multiply
    sums: cute.Tensor
    sX: cute.Tensor
    mW: cute.Tensor
    me: Here
    turns: int

    @cute.jit
    def step(self, state: PipelineState, weight: Float32) -> None:
        """As soon as the stage is full, multiply it and add it to the sums."""
        multiply, turns = self.multiply, self.turns
        if cutlass.const_expr(turns > 0):
            take_turn(self.me.group)
        multiply.step(state, True, turns)
        scales = cute.make_rmem_tensor((2, cute.size(self.sX, mode=[2])), Float32)
        cute.autovec_copy(self.sX[None, self.me.thread % 4, None, state.index], scales)
        scales.store(scales.load() * weight)
        if cutlass.const_expr(turns > 0):
            warpgroup.wait_group(turns - 1)
            pass_turn(self.me.group)
        multiply.retire(0, state)
        for_both_rows = cute.make_layout(((2, 2, scales.shape[1]), 1, 1), stride=((1, 0, 2), 0, 0))
        scaled = multiply.tCrC.load() * cute.make_tensor(scales.iterator, for_both_rows).load()
        self.sums.store(self.sums.load() + scaled)

    @cute.jit
    def tile(self, row: Int32, k_begin: Int32, k_end: Int32, state: PipelineState) -> PipelineState:
        """Every K block of a tile. A warp's lanes hold the weights of 32 of them."""
        row = cutlass.min(row, self.mW.shape[0] - 1)
        self.sums.fill(0.0)
        lane, weights = cute.arch.lane_idx(), Float32(0.0)
        for k_tile in cutlass.range(k_begin, k_end, unroll=1):
            turn = (k_tile - k_begin) % LANES
            if turn == 0:
                weights = self.mW[row, cutlass.min(k_tile + lane, k_end - 1)]
            self.step(state, cute.arch.shuffle_sync(weights, turn))
            state.advance()
        return state


@cute.jit
def consume_scaled(schedule: Schedule, multiply: ScaledMultiply, finish: Finish, config: cutlass.Constexpr) -> None:
    state = make_pipeline_state(PipelineUserType.Consumer, config.ab_stages)
    if cutlass.const_expr(config.turns > 0):
        if schedule.me.group == 1:
            pass_turn(schedule.me.group)
    for number in cutlass.range(schedule.items(), unroll=1):
        place, k_begin, k_end = schedule.item(number)
        state = multiply.tile(schedule.block_tile(place)[0], k_begin, k_end, state)
        finish.item(multiply.sums, schedule, number)
        multiply.multiply.trace.stamp(Did.STORE, number)
    finish.stores.finish()


@cute.kernel
def scaled_kernel(
    tma_w: cute.CopyAtom,
    mB: cute.Tensor,
    tma_x: cute.CopyAtom,
    mA: cute.Tensor,
    tma_s: cute.CopyAtom,
    mS: cute.Tensor,
    tma_c: cute.CopyAtom,
    mC: cute.Tensor,
    mW: cute.Tensor,
    sums: cute.Tensor | None,
    flags: cute.Tensor | None,
    events: cute.Tensor | None,
    tiled_mma: cute.TiledMma,
    store_mma: cute.TiledMma,
    layout_w: cute.ComposedLayout,
    layout_x: cute.ComposedLayout,
    layout_s: cute.Layout,
    layout_c: cute.ComposedLayout,
    plan: Plan,
    config: cutlass.Constexpr,
):
    rows, columns, block = config.tile
    dtype = DTYPES[config.dtype]
    me = locate(config)
    memory = SmemAllocator()
    sB = memory.allocate_tensor(dtype, layout_w.outer, SMEM_ALIGNMENT, layout_w.inner)
    sA = memory.allocate_tensor(dtype, layout_x.outer, SMEM_ALIGNMENT, layout_x.inner)
    sC = memory.allocate_tensor(DTYPES[config.c_dtype], layout_c.outer, SMEM_ALIGNMENT, layout_c.inner)
    sS = memory.allocate_tensor(Float32, layout_s, 128)  # (columns, 1, stages)
    ring = make_ring(memory, me, config)
    trace = make_trace(events, memory, me, config)
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
    multiply = make_multiply(tiled_mma, sB, sA, ring, trace, me, config)
    sX = cute.make_tensor(
        sS.iterator, cute.make_layout((2, 4, columns // 8, config.ab_stages), stride=(1, 2, 8, config.scale_columns))
    )
    scaled = ScaledMultiply(multiply, cute.make_fragment_like(multiply.tCrC), sX, mW, me, config.turns)
    stores = make_stores(tma_c, mC, sC, store_mma, me, config)
    partials = Partials(sums, flags, me, config) if config.stream_k else None
    finish = Finish(stores, partials, None, None, config)

    if me.group == config.mma_warpgroups:
        cute.arch.setmaxregister_decrease(config.register_split[0])
        if me.warp == 0:
            produce(schedule, loads, config)
    else:
        cute.arch.setmaxregister_increase(config.register_split[1])
        consume_scaled(schedule, scaled, finish, config)


def make_scaled_gemm(config: HopperConfig) -> Callable[..., None]:
    """The host function gemm(b, a, c, scale_b, scale_a, sums, flags, events, max_clusters, stream).

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
        sums: cute.Tensor | None,
        flags: cute.Tensor | None,
        events: cute.Tensor | None,
        max_clusters: Int32,
        stream: CUstream,
    ):
        rows, columns, block = config.tile
        cluster_m, cluster_n = config.cluster
        layout_w, layout_x = stage_layout(rows, config), stage_layout(columns, config)
        layout_s = cute.make_layout((columns, 1, config.ab_stages), stride=(1, 0, config.scale_columns))
        tma_w, mB = make_load(b, layout_w, cluster_n)
        tma_x, mA = make_load(a, layout_x, cluster_m)
        tma_s, mS = make_load(scale_a, layout_s, cluster_m)
        tma_c, mC = make_store(c, config)
        tiles = (cute.ceil_div(c.shape[0], rows * cluster_m), cute.ceil_div(c.shape[1], columns * cluster_n))
        plan, clusters = make_plan(tiles, cute.ceil_div(b.shape[1], block), max_clusters, config)
        scaled_kernel(
            tma_w,
            mB,
            tma_x,
            mA,
            tma_s,
            mS,
            tma_c,
            mC,
            scale_b,
            sums,
            flags,
            events,
            make_mma(config, columns, config.tile_warpgroups),
            make_mma(config, config.store_columns, 1),
            layout_w,
            layout_x,
            layout_s,
            store_layout(MMA_M, config.store_buffers, config.mma_warpgroups, config=config),
            plan,
            config,
        ).launch(
            grid=(clusters * cluster_m, cluster_n, 1),
            block=(config.threads, 1, 1),
            cluster=(cluster_m, cluster_n, 1),
            min_blocks_per_mp=1,
            preferred_smem_carveout=100,
            stream=stream,
            use_pdl=config.pdl,
        )

    return gemm
