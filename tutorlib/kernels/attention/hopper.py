"""Attention for Hopper: O = softmax(Q Kᵀ · scale) V for each head, online over blocks of keys (FlashAttention-3).

One producer warp loads Q once, and K and V into a ring each; two or three consumer warpgroups have 64 rows of Q each.
The accumulators S of Q Kᵀ become, rounded, the A operand of P V without leaving their registers.

mQ, mK and mO are (tokens, head_dim, heads, batch), mV is (head_dim, tokens, heads, batch), mLSE (tokens, heads, batch):
the base-2 logarithm of each row's denominator.

Persistent: one block for each SM takes tile after tile. The producer draws each tile's number from a counter in global
memory and announces the tile with its Q, so it loads one while the consumers finish another.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import BFloat16, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.nvgpu.warp import StMatrix8x8x16bOp
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib.kernels.attention.roles import (
    COURSE,
    AttentionParts,
    BlockLoads,
    Consumer,
    KeyRing,
    OnlineSoftmax,
    QueryRing,
    first_turn,
    last_turn,
    make_mmas,
    produce_blocks,
)
from tutorlib.kernels.attention.schedule import MMA_M, WARPGROUP, AttentionConfig, DrawnTile, Order, Tile
from tutorlib.kernels.hopper.first import ALIGNMENT, BOX, BoxCopy, boxes
from tutorlib.kernels.hopper.pipeline import Tma, smem_layout

LOG2_E = math.log2(math.e)


@cute.jit
def store_o(tOrO: cute.Tensor, pv: cute.TiledMma, tma: cute.CopyAtom, sO: cute.Tensor, gO: cute.Tensor) -> None:
    """Round O, and store it through rows of sO that no other warp uses. sO, gO: (tile_m, head_dim)."""
    thread = cute.arch.thread_idx()[0]
    warp = cute.arch.make_warp_uniform(thread // 32)
    atom = cute.make_copy_atom(StMatrix8x8x16bOp(transpose=False, num_matrices=4), BFloat16)
    stmatrix = cute.make_tiled_copy_C(atom, pv)
    mine = stmatrix.get_slice(thread)
    rounded = cute.make_rmem_tensor(tOrO.shape, BFloat16)
    rounded.store(tOrO.load().to(BFloat16))
    cute.copy(stmatrix, mine.retile(rounded), mine.partition_D(sO))
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    tSsO, tSgO = boxes(tma, cute.local_tile(sO, BOX, (warp, None)), cute.local_tile(gO, BOX, (warp, None)))
    cute.copy(tma, tSsO, tSgO)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def make_rings(memory: SmemAllocator, config: cutlass.Constexpr) -> tuple[QueryRing, KeyRing, KeyRing]:
    stages = config.stages
    k_full, k_empty, v_full, v_empty = (memory.allocate_array(Int64, stages) for _ in range(4))
    q_full = memory.allocate_array(Int64, config.q_stages)
    q_empty, places = None, None
    if cutlass.const_expr(config.persistent):
        q_empty = memory.allocate_array(Int64, config.q_stages)
        places = memory.allocate_tensor(Int32, cute.make_layout((4, config.q_stages)), 16)
    if cute.arch.thread_idx()[0] == 0:
        for stage in range(config.q_stages):
            cute.arch.mbarrier_init(q_full + stage, 1)
            if cutlass.const_expr(config.persistent):
                cute.arch.mbarrier_init(q_empty + stage, 4 * config.consumers)
        for stage in range(stages):
            for full in (k_full, v_full):
                cute.arch.mbarrier_init(full + stage, 1)
            for empty in (k_empty, v_empty):
                cute.arch.mbarrier_init(empty + stage, 4 * config.consumers)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    return QueryRing(q_full, q_empty, places), KeyRing(k_full, k_empty), KeyRing(v_full, v_empty)


@dataclass(frozen=True)
class Block:
    """What both roles of a block work on. sQ: (bM, bD, q_stages), sK: (bN, bD, stages), sV: (bD, bN, stages).

    warp: of this thread. group: its warpgroup.
    """

    q: Tma
    k: Tma
    v: Tma
    o: Tma
    mLSE: cute.Tensor | None
    sQ: cute.Tensor
    sK: cute.Tensor
    sV: cute.Tensor
    q_ring: QueryRing
    k_ring: KeyRing
    v_ring: KeyRing
    warp: Int32
    group: Int32
    scale: Float32
    config: AttentionConfig
    parts: AttentionParts


@cute.jit
def load_tile(block: Block, tile: Tile) -> None:
    (tma_q, mQ), (tma_k, mK), (tma_v, mV), config = block.q, block.k, block.v, block.config
    bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
    kv_head = tile.head // (mQ.shape[2] // mK.shape[2])
    gQ = cute.local_tile(mQ[None, None, tile.head, tile.batch], (bM, bD), (None, 0))
    gK = cute.local_tile(mK[None, None, kv_head, tile.batch], (bN, bD), (None, 0))
    gV = cute.local_tile(mV[None, None, kv_head, tile.batch], (bD, bN), (0, None))
    cuts = (tma_q, block.sQ, gQ), (tma_k, block.sK, gK), (tma_v, block.sV, gV)
    q, k, v = [BoxCopy(tma, *boxes(tma, s, g)) for tma, s, g in cuts]
    produce_blocks(BlockLoads(q, k, v, block.k_ring, block.v_ring, block.q_ring, tile, config), tile.n_blocks)


@cute.jit
def attend_tile(block: Block, tile: Tile) -> None:
    (tma_o, mO), mLSE, (_, mK), config, parts = block.o, block.mLSE, block.k, block.config, block.parts
    bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
    lane, warp, group = cute.arch.lane_idx(), block.warp, block.group
    sQ = block.sQ[None, None, tile.q_stage]
    gO = cute.local_tile(mO[None, None, tile.head, tile.run], (bM, bD), (tile.m_block, 0))
    qk, pv = make_mmas(config)
    s_slice, o_slice = qk.get_slice(group * WARPGROUP), pv.get_slice(group * WARPGROUP)
    tSrS = cute.make_rmem_tensor(qk.partition_shape_C((bM, bN)), Float32)
    rows = tile.m_block * bM + group * MMA_M + warp % 4 * 16 + lane // 4
    me = Consumer(
        qk.make_fragment_A(s_slice.partition_A(block.sQ))[None, None, None, tile.q_stage],
        qk.make_fragment_B(s_slice.partition_B(block.sK)),
        pv.make_fragment_B(o_slice.partition_B(block.sV)),
        tSrS,
        cute.make_rmem_tensor(pv.partition_shape_C((bM, bD)), Float32),
        cute.make_rmem_tensor(tSrS.shape, BFloat16),
        block.k_ring,
        block.v_ring,
        OnlineSoftmax(
            cute.make_rmem_tensor(2, Float32),
            cute.make_rmem_tensor(2, Float32),
            block.scale * LOG2_E,
        ),
        rows,
        mK.shape[0] - tile.first * bN,
        group,
        config,
        parts,
    )
    parts.consume(me, tile, block.q_ring.full)
    logs = cute.make_rmem_tensor(2, Float32)
    me.softmax.normalize(parts.by_row(me.tOrO), logs)
    if cutlass.const_expr(mLSE is not None):
        for row in cutlass.range_constexpr(2):
            if lane % 4 == 0 and rows + 8 * row < mLSE.shape[0]:
                mLSE[rows + 8 * row, tile.head, tile.run] = logs[row]
    store_o(me.tOrO, pv, tma_o, sQ, gO)


@cute.jit
def load_tiles(block: Block, order: Order, counter: cute.Tensor) -> None:
    """The producer warp draws tiles until none is left, and announces the end as a tile past the last run."""
    state = make_pipeline_state(PipelineUserType.Producer, block.config.q_stages)
    before, number = Int32(0), order.draw(counter)
    while number < order.tiles:
        tile = order.numbered(number, DrawnTile(state, before))
        load_tile(block, tile)
        before += tile.n_blocks
        state.advance()
        number = order.draw(counter)
    block.q_ring.wait_empty(state)
    with cute.arch.elect_one():
        block.q_ring.write_place((0, 0, order.runs, before), state.index)
        cute.arch.mbarrier_arrive(block.q_ring.full + state.index)


@cute.jit
def attend_tiles(block: Block, order: Order) -> None:
    state = make_pipeline_state(PipelineUserType.Consumer, block.config.q_stages)
    m_block, head, run, before = block.q_ring.take(state)
    first_turn(block)
    while run < order.runs:
        tile = order.tile(m_block, head, run, DrawnTile(state, before))
        attend_tile(block, tile)
        block.q_ring.release(state.index)
        state.advance()
        m_block, head, run, before = block.q_ring.take(state)
    last_turn(block)


@cute.kernel
def attention_kernel(
    q: Any, k: Any, v: Any, o: Any, mLSE: cute.Tensor | None, scale: Float32, counter: cute.Tensor | None,
    config: cutlass.Constexpr, parts: cutlass.Constexpr,
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    (head, step, run), (_, m_blocks, _) = cute.arch.block_idx(), cute.arch.grid_dim()
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (32, WARPGROUP))
    layout_q, layout_k, layout_v = qkv_layouts(config)
    memory = SmemAllocator()
    sQ = memory.allocate_tensor(BFloat16, layout_q.outer, ALIGNMENT, layout_q.inner)  # (bM, bD, q_stages)
    sK = memory.allocate_tensor(BFloat16, layout_k.outer, ALIGNMENT, layout_k.inner)  # (bN, bD, stages)
    sV = memory.allocate_tensor(BFloat16, layout_v.outer, ALIGNMENT, layout_v.inner)  # (bD, bN, stages)
    q_ring, k_ring, v_ring = make_rings(memory, config)
    block = Block(q, k, v, o, mLSE, sQ, sK, sV, q_ring, k_ring, v_ring, warp, group, scale, config, parts)
    mQ, mK, mO = q[1], k[1], o[1]
    if cutlass.const_expr(config.persistent):
        m_blocks = cute.ceil_div(mQ.shape[0], config.tile_m)
    order = Order(m_blocks, mQ.shape[2], mO.shape[3], mO.shape[3] // mQ.shape[3], mK.shape[0], config)
    tile = order.tile(order.m_block(step), head, run)
    if group == config.consumers:
        cute.arch.setmaxregister_decrease(config.registers[0])
        if warp == 4 * config.consumers:
            if cutlass.const_expr(config.persistent):
                load_tiles(block, order, counter)
            else:
                load_tile(block, tile)
    else:
        cute.arch.setmaxregister_increase(config.registers[1])
        if cutlass.const_expr(config.persistent):
            attend_tiles(block, order)
        else:
            attend_tile(block, tile)


def qkv_layouts(config: AttentionConfig) -> tuple[cute.ComposedLayout, ...]:
    """In shared memory: Q (tile_m, head_dim, q_stages), K (tile_n, head_dim, stages), V (head_dim, tile_n, stages)."""
    bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
    return (
        smem_layout((bM, bD, config.q_stages), BFloat16),
        smem_layout((bN, bD, config.stages), BFloat16),
        smem_layout((bD, bN, config.stages), BFloat16, "mn"),
    )


def launch_attention(
    tensors: tuple[cute.Tensor, ...],
    lse: cute.Tensor | None,
    scale: Float32,
    config: AttentionConfig,
    parts: AttentionParts = COURSE,
    queue: tuple[cute.Tensor, Int32] | None = None,
    **stream: CUstream,
) -> None:
    """tensors: q, k, v, o, (batch, heads, tokens, head_dim), head_dim contiguous. scale: of the scores.

    lse: (batch, heads, tokens), fp32, if it is wanted. queue: of a persistent kernel, a counter (1,) that is 0 before
    and after, and the most blocks. stream: of that name, if it is not the default one.
    """
    q, k, v, o = tensors
    mQ, mK, mO = (cute.make_tensor(x.iterator, cute.select(x.layout, [2, 3, 1, 0])) for x in (q, k, o))
    mV = cute.make_tensor(v.iterator, cute.select(v.layout, [3, 2, 1, 0]))
    mLSE = None if lse is None else cute.make_tensor(lse.iterator, cute.select(lse.layout, [2, 1, 0]))
    load, save = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
    layout_q, layout_k, layout_v = (cute.slice_(layout, (None, None, 0)) for layout in qkv_layouts(config))
    box = smem_layout(BOX, BFloat16)
    tma_q = cpasync.make_tiled_tma_atom(load, mQ, layout_q, (bM, bD))
    tma_k = cpasync.make_tiled_tma_atom(load, mK, layout_k, (bN, bD))
    tma_v = cpasync.make_tiled_tma_atom(load, mV, layout_v, (bD, bN))
    tma_o = cpasync.make_tiled_tma_atom(save, mO, box, BOX)
    grid, counter = (q.shape[1], cute.ceil_div(q.shape[2], bM), o.shape[0]), None
    if cutlass.const_expr(config.persistent):
        counter, most = queue
        grid = cutlass.min(cute.size(grid), most), 1, 1
    kernel = attention_kernel(tma_q, tma_k, tma_v, tma_o, mLSE, scale, counter, config, parts)
    kernel.launch(grid=grid, block=(config.threads, 1, 1), **stream)


def make_attention(config: AttentionConfig, parts: AttentionParts = COURSE) -> Callable[..., None]:
    """The host function attention(q, k, v, o, lse, scale, counter, blocks, stream), as for `launch_attention`."""

    @cute.jit
    def attention(
        q: cute.Tensor,
        k: cute.Tensor,
        v: cute.Tensor,
        o: cute.Tensor,
        lse: cute.Tensor,
        scale: Float32,
        counter: cute.Tensor | None,
        blocks: Int32,
        stream: CUstream,
    ) -> None:
        launch_attention((q, k, v, o), lse, scale, config, parts, (counter, blocks), stream=stream)

    return attention
