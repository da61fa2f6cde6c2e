"""Attention for Hopper: O = softmax(Q Kᵀ · scale) V for each head, online over blocks of keys (FlashAttention-3).

One producer warp loads Q once, and K and V into a ring each; two or three consumer warpgroups have 64 rows of Q each.
The accumulators S of Q Kᵀ become, rounded, the A operand of P V without leaving their registers.

mQ, mK and mO are (tokens, head_dim, heads, batch), mV is (head_dim, tokens, heads, batch), mLSE (tokens, heads, batch):
the base-2 logarithm of each row's denominator.
"""

import math
from collections.abc import Callable
from typing import Any

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import BFloat16, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.nvgpu.warp import StMatrix8x8x16bOp
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib.kernels.attention.parts import softmax_first
from tutorlib.kernels.attention.roles import (
    MMA_M,
    WARPGROUP,
    AttentionConfig,
    BlockLoads,
    Consumer,
    KeyRing,
    OnlineSoftmax,
    make_mmas,
    make_tma_load,
)
from tutorlib.kernels.attention.slots import COURSE, AttentionParts
from tutorlib.kernels.hopper.layouts import smem_layout

ALIGNMENT = 1024
STORE_BOX = (16, 64)  # of a warp's store: rows, columns of 128 bytes
LOG2_E = math.log2(math.e)


@cute.jit
def consume_blocks(
    me: Consumer, n_blocks: Int32, unmasked: Int32, q_full: cute.Pointer, config: cutlass.Constexpr
) -> None:
    """Blocks n_blocks - 1 … 0; those from `unmasked` on need the mask, which the last one always gets."""
    k_state = make_pipeline_state(PipelineUserType.Consumer, config.stages)
    v_state = make_pipeline_state(PipelineUserType.Consumer, config.stages)
    me.tOrO.fill(0)
    cute.arch.mbarrier_wait(q_full, Int32(0))
    if cutlass.const_expr(config.pingpong) and me.group == 1:
        me.pass_turn()
    me.take_turn()
    me.issue_s(k_state)
    me.pass_turn()
    warpgroup.wait_group(0)
    me.free_k(k_state)
    k_state.advance()
    me.mask(n_blocks - 1)
    softmax_first(me.softmax, me.parts.by_row(me.tSrS), me.parts.by_row(me.tOrP))
    if cutlass.const_expr(config.causal):
        for number in cutlass.range(n_blocks - 1 - unmasked, unroll=1):
            me.parts.step(me, k_state, v_state, n_blocks - 2 - number, True)
            k_state.advance()
            v_state.advance()
    for number in cutlass.range(cutlass.min(unmasked, n_blocks - 1), unroll=1):
        me.parts.step(me, k_state, v_state, unmasked - 1 - number, False)
        k_state.advance()
        v_state.advance()
    if cutlass.const_expr(config.pingpong) and me.group == 0:
        me.take_turn()
    me.issue_o(v_state)
    warpgroup.wait_group(0)
    me.free_v(v_state)


@cute.jit
def store_o(tOrO: cute.Tensor, pv: cute.TiledMma, tma: cute.CopyAtom, sO: cute.Tensor, gO: cute.Tensor) -> None:
    """Round O, and store it through the rows of sQ that this warp alone has read. sO, gO: (tile_m, head_dim)."""
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
    boxes = cute.local_tile(sO, STORE_BOX, (warp, None)), cute.local_tile(gO, STORE_BOX, (warp, None))
    tSsO, tSgO = cpasync.tma_partition(tma, 0, cute.make_layout(1), *(cute.group_modes(x, 0, 2) for x in boxes))
    cute.copy(tma, tSsO, tSgO)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def make_rings(memory: SmemAllocator, config: cutlass.Constexpr) -> tuple[KeyRing, KeyRing, cute.Pointer]:
    stages = config.stages
    k_full, k_empty, v_full, v_empty = (memory.allocate_array(Int64, stages) for _ in range(4))
    q_full = memory.allocate_array(Int64, 1)
    if cute.arch.thread_idx()[0] == 0:
        cute.arch.mbarrier_init(q_full, 1)
        for stage in range(stages):
            for full in (k_full, v_full):
                cute.arch.mbarrier_init(full + stage, 1)
            for empty in (k_empty, v_empty):
                cute.arch.mbarrier_init(empty + stage, 4 * config.consumers)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    return KeyRing(k_full, k_empty), KeyRing(v_full, v_empty), q_full


@cute.kernel
def attention_kernel(
    q: Any, k: Any, v: Any, o: Any, mLSE: cute.Tensor | None, scale: Float32, config: cutlass.Constexpr,
    parts: cutlass.Constexpr,
):  # fmt: skip
    (tma_q, mQ), (tma_k, mK), (tma_v, mV), (tma_o, mO) = q, k, v, o
    bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
    thread, _, _ = cute.arch.thread_idx()
    head, m_block, batch = cute.arch.block_idx()
    if cutlass.const_expr(config.causal and config.longest_first):
        m_block = cute.arch.grid_dim()[1] - 1 - m_block
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (32, WARPGROUP))
    keys, kv_head = mK.shape[0], head // config.group
    gQ = cute.local_tile(mQ[None, None, head, batch], (bM, bD), (None, 0))
    gK = cute.local_tile(mK[None, None, kv_head, batch], (bN, bD), (None, 0))
    gV = cute.local_tile(mV[None, None, kv_head, batch], (bD, bN), (0, None))
    gO = cute.local_tile(mO[None, None, head, batch], (bM, bD), (m_block, 0))

    layout_q, layout_k, layout_v = qkv_layouts(config)
    memory = SmemAllocator()
    sQ = memory.allocate_tensor(BFloat16, layout_q.outer, ALIGNMENT, layout_q.inner)  # (bM, bD, 1)
    sK = memory.allocate_tensor(BFloat16, layout_k.outer, ALIGNMENT, layout_k.inner)  # (bN, bD, stages)
    sV = memory.allocate_tensor(BFloat16, layout_v.outer, ALIGNMENT, layout_v.inner)  # (bD, bN, stages)
    k_ring, v_ring, q_full = make_rings(memory, config)

    n_blocks = cute.ceil_div(keys, bN)
    unmasked = n_blocks - 1
    if cutlass.const_expr(config.causal):
        n_blocks = cutlass.min(n_blocks, cute.ceil_div((m_block + 1) * bM, bN))
        unmasked = cutlass.min(n_blocks - 1, m_block * bM // bN) if cutlass.const_expr(config.few_masks) else 0

    if group == config.consumers:
        cute.arch.setmaxregister_decrease(config.registers[0])
        if warp == 4 * config.consumers:
            loads = make_tma_load(tma_q, gQ, sQ), make_tma_load(tma_k, gK, sK), make_tma_load(tma_v, gV, sV)
            parts.produce(BlockLoads(*loads, k_ring, v_ring, q_full, m_block, config), n_blocks)
    else:
        cute.arch.setmaxregister_increase(config.registers[1])
        qk, pv = make_mmas(config)
        s_slice, o_slice = qk.get_slice(group * WARPGROUP), pv.get_slice(group * WARPGROUP)
        tSrS = cute.make_rmem_tensor(qk.partition_shape_C((bM, bN)), Float32)
        rows = m_block * bM + group * MMA_M + warp % 4 * 16 + cute.arch.lane_idx() // 4
        me = Consumer(
            qk.make_fragment_A(s_slice.partition_A(sQ))[None, None, None, 0],
            qk.make_fragment_B(s_slice.partition_B(sK)),
            pv.make_fragment_B(o_slice.partition_B(sV)),
            tSrS,
            cute.make_rmem_tensor(pv.partition_shape_C((bM, bD)), Float32),
            cute.make_rmem_tensor(tSrS.shape, BFloat16),
            k_ring,
            v_ring,
            OnlineSoftmax(
                cute.make_rmem_tensor(2, Float32),
                cute.make_rmem_tensor(2, Float32),
                scale * LOG2_E,
                parts.quad_reduce,
            ),
            rows,
            keys,
            group,
            config,
            parts,
        )
        consume_blocks(me, n_blocks, unmasked, q_full, config)
        logs = cute.make_rmem_tensor(2, Float32)
        me.softmax.normalize(parts.by_row(me.tOrO), logs)
        if cutlass.const_expr(mLSE is not None):
            for row in cutlass.range_constexpr(2):
                if cute.arch.lane_idx() % 4 == 0 and rows + 8 * row < mLSE.shape[0]:
                    mLSE[rows + 8 * row, head, batch] = logs[row]
        store_o(me.tOrO, pv, tma_o, sQ[None, None, 0], gO)


def qkv_layouts(config: AttentionConfig) -> tuple[cute.ComposedLayout, ...]:
    """Of Q (tile_m, head_dim, 1), K (tile_n, head_dim, stages) and V (head_dim, tile_n, stages) in shared memory."""
    bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
    return (
        smem_layout((bM, bD, 1), BFloat16),
        smem_layout((bN, bD, config.stages), BFloat16),
        smem_layout((bD, bN, config.stages), BFloat16, "mn"),
    )


def launch_attention(
    tensors: tuple[cute.Tensor, ...],
    lse: cute.Tensor | None,
    scale: Float32,
    config: AttentionConfig,
    parts: AttentionParts = COURSE,
    **stream: CUstream,
) -> None:
    """tensors: q, k, v, o, (batch, heads, tokens, head_dim), head_dim contiguous. scale: of the scores.

    lse: (batch, heads, tokens), fp32, if it is wanted. stream: of that name, if it is not the default one.
    """
    q, k, v, o = tensors
    mQ, mK, mO = (cute.make_tensor(x.iterator, cute.select(x.layout, [2, 3, 1, 0])) for x in (q, k, o))
    mV = cute.make_tensor(v.iterator, cute.select(v.layout, [3, 2, 1, 0]))
    mLSE = None if lse is None else cute.make_tensor(lse.iterator, cute.select(lse.layout, [2, 1, 0]))
    load, save = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
    layout_q, layout_k, layout_v = (cute.slice_(layout, (None, None, 0)) for layout in qkv_layouts(config))
    box = smem_layout(STORE_BOX, BFloat16)
    tma_q = cpasync.make_tiled_tma_atom(load, mQ, layout_q, (bM, bD))
    tma_k = cpasync.make_tiled_tma_atom(load, mK, layout_k, (bN, bD))
    tma_v = cpasync.make_tiled_tma_atom(load, mV, layout_v, (bD, bN))
    tma_o = cpasync.make_tiled_tma_atom(save, mO, box, STORE_BOX)
    kernel = attention_kernel(tma_q, tma_k, tma_v, tma_o, mLSE, scale, config, parts)
    grid = q.shape[1], cute.ceil_div(q.shape[2], bM), q.shape[0]
    kernel.launch(grid=grid, block=(config.threads, 1, 1), **stream)


def make_attention(config: AttentionConfig) -> Callable[..., None]:
    """The host function attention(q, k, v, o, lse, scale, stream), as `launch_attention` takes them."""

    @cute.jit
    def attention(
        q: cute.Tensor,
        k: cute.Tensor,
        v: cute.Tensor,
        o: cute.Tensor,
        lse: cute.Tensor,
        scale: Float32,
        stream: CUstream,
    ) -> None:
        launch_attention((q, k, v, o), lse, scale, config, stream=stream)

    return attention
