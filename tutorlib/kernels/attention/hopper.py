"""Attention for Hopper: O = softmax(Q Kᵀ · scale) V for each head, online over blocks of keys (FlashAttention-3).

One producer warp loads Q once, and K and V into a ring each; two or three consumer warpgroups have 64 rows of Q each.
The accumulators S of Q Kᵀ become, rounded, the A operand of P V without leaving their registers.

Tensors are named by where they live: m in global memory, g a block's tiles of it, s shared memory, r registers;
tSrQ is sQ as the MMA of S reads it. mQ, mK and mO are (tokens, head_dim, heads, batch), mV is (head_dim, tokens, heads,
batch), mLSE (tokens, heads, batch): the base-2 logarithm of each row's denominator.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import BFloat16, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.nvgpu.warp import StMatrix8x8x16bOp
from cutlass.cute.nvgpu.warpgroup import OperandSource
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tutorlib.kernels.hopper.layouts import smem_layout

WARPGROUP, MMA_M, ALIGNMENT = 128, 64, 1024
STORE_BOX = (16, 64)  # of a warp's store: rows, columns of 128 bytes
TURN_BARRIER = 1  # and 2: named barriers, a consumer warpgroup's turn to issue wgmmas
LOG2_E = math.log2(math.e)


@dataclass(frozen=True)
class AttentionConfig:
    """head_dim: of Q, K and V. tile_m: queries of a block. tile_n: keys of a step. pingpong: softmax takes turns.

    overlap: issue S of the next step before P V of this one.
    """

    head_dim: int = 128
    tile_m: int = 128
    tile_n: int = 128
    stages: int = 2
    causal: bool = False
    pingpong: bool = True
    overlap: bool = True
    early: bool = False  # P is rounded before P V of the step before has completed
    group: int = 1  # query heads per head of K and V

    @property
    def consumers(self) -> int:
        return self.tile_m // MMA_M

    @property
    def threads(self) -> int:
        return WARPGROUP * (self.consumers + 1)

    @property
    def registers(self) -> tuple[int, int]:
        return (24, 240) if self.consumers == 2 else (32, 160)

    @property
    def kv_bytes(self) -> int:
        return 2 * self.tile_n * self.head_dim


@dataclass(frozen=True)
class KeyRing:
    """full, empty: the first mbarrier of each stage; empty has one arrival of each consumer warp."""

    full: cute.Pointer
    empty: cute.Pointer

    def release(self, stage: Int32) -> None:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(self.empty + stage)


def make_mmas(config: AttentionConfig) -> tuple[cute.TiledMma, cute.TiledMma]:
    """(S = Q Kᵀ from shared memory, O = P V with P in registers), each warpgroup with 64 rows."""
    k_major, n_major = OperandMajorMode.K, OperandMajorMode.MN
    qk = warpgroup.MmaF16BF16Op(BFloat16, Float32, (MMA_M, config.tile_n), OperandSource.SMEM, k_major, k_major)
    pv = warpgroup.MmaF16BF16Op(BFloat16, Float32, (MMA_M, config.head_dim), OperandSource.RMEM, k_major, n_major)
    stacked = (config.consumers, 1, 1)
    return cute.make_tiled_mma(cute.make_mma_atom(qk), stacked), cute.make_tiled_mma(cute.make_mma_atom(pv), stacked)


def by_row(acc: cute.Tensor) -> cute.Tensor:
    """Accumulators ((2, 2, N/8), 1, 1) of a thread as (2 rows, (2, N/8) columns)."""
    return cute.make_tensor(acc.iterator, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))


def p_operand(p: cute.Tensor) -> cute.Tensor:
    """Accumulators of N columns, rounded, as the A operand of a wgmma with K = N: ((2, 2, 2), 1, N/16)."""
    blocks = cute.size(p) // 8
    return cute.make_tensor(p.iterator, cute.make_layout(((2, 2, 2), 1, blocks), stride=((1, 2, 4), 0, 8)))


@cute.jit
def quad_reduce(value: Float32, op: cutlass.Constexpr) -> Float32:
    """Over the 4 lanes that share a row."""
    for offset in cutlass.range_constexpr(1, 3):
        value = op(value, cute.arch.shuffle_sync_bfly(value, offset=offset))
    return value


@dataclass(frozen=True)
class OnlineSoftmax:
    """A thread's part of the online softmax of its 2 rows: running maxima and sums, in fp32.

    scale: of the logits, times log2(e). rmax, rsum: (2,).
    """

    rmax: cute.Tensor
    rsum: cute.Tensor
    scale: Float32

    @cute.jit
    def first(self, acc: cute.Tensor, p_acc: cute.Tensor) -> None:
        """P = exp2((S - max) · scale), rounded."""
        rows, p_rows = by_row(acc), by_row(p_acc)
        for row in cutlass.range_constexpr(2):
            s = rows[row, None].load()
            top = quad_reduce(s.reduce(cute.ReductionOp.MAX, -Float32.inf, 0), cute.arch.fmax)
            self.rmax[row] = top
            base = Float32(0) if top == -Float32.inf else top * self.scale
            p = cute.math.exp2(s * self.scale - base, fastmath=True)
            self.rsum[row] = p.reduce(cute.ReductionOp.ADD, Float32(0), 0)
            p_rows[row, None].store(p.to(p_acc.element_type))

    @cute.jit
    def step(self, acc: cute.Tensor, p_acc: cute.Tensor, factors: cute.Tensor) -> None:
        """The same for a later block; factors (2,) rescale what was accumulated."""
        rows, p_rows = by_row(acc), by_row(p_acc)
        for row in cutlass.range_constexpr(2):
            s = rows[row, None].load()
            before = self.rmax[row]
            top = quad_reduce(s.reduce(cute.ReductionOp.MAX, before, 0), cute.arch.fmax)
            self.rmax[row] = top
            base = Float32(0) if top == -Float32.inf else top * self.scale
            factor = cute.math.exp2(before * self.scale - base, fastmath=True)
            p = cute.math.exp2(s * self.scale - base, fastmath=True)
            self.rsum[row] = p.reduce(cute.ReductionOp.ADD, self.rsum[row] * factor, 0)
            factors[row] = factor
            p_rows[row, None].store(p.to(p_acc.element_type))

    @cute.jit
    def rescale(self, acc: cute.Tensor, factors: cute.Tensor) -> None:
        rows = by_row(acc)
        for row in cutlass.range_constexpr(2):
            rows[row, None].store(rows[row, None].load() * factors[row])

    @cute.jit
    def normalize(self, acc: cute.Tensor, logs: cute.Tensor) -> None:
        """Divide by the denominators; logs (2,) become their base-2 logarithms."""
        for row in cutlass.range_constexpr(2):
            total = quad_reduce(self.rsum[row], operator.add)
            logs[row] = self.rmax[row] * self.scale + cute.math.log2(total, fastmath=True)
            self.rsum[row] = 1 / total if total > 0 else Float32(0)
        self.rescale(acc, self.rsum)


@cute.jit
def mask_scores(acc: cute.Tensor, first_row: Int32, n_block: Int32, keys: Int32, config: cutlass.Constexpr) -> None:
    """-inf in columns past the last key, or, if causal, past the row's own. first_row: of this thread's two."""
    lane = cute.arch.lane_idx()
    rows = by_row(acc)
    first = n_block * config.tile_n + lane % 4 * 2
    for row in cutlass.range_constexpr(2):
        end = keys
        if cutlass.const_expr(config.causal):
            end = cutlass.min(end, first_row + 8 * row + 1)
        for pair in cutlass.range_constexpr(config.tile_n // 8):
            for one in cutlass.range_constexpr(2):
                past = first + (8 * pair + one) >= end
                rows[row, (one, pair)] = -Float32.inf if past else rows[row, (one, pair)]


@dataclass(frozen=True)
class Consumer:
    """A consumer warpgroup's operands, its rings, and its first row and number."""

    tSrQ: cute.Tensor
    tSrK: cute.Tensor
    tOrV: cute.Tensor
    tSrS: cute.Tensor
    tOrO: cute.Tensor
    tOrP: cute.Tensor
    k_ring: KeyRing
    v_ring: KeyRing
    softmax: OnlineSoftmax
    first_row: Int32
    keys: Int32
    group: Int32
    config: AttentionConfig

    @cute.jit
    def issue_s(self, state: PipelineState) -> None:
        cute.arch.mbarrier_wait(self.k_ring.full + state.index, state.phase)
        qk, _ = make_mmas(self.config)
        warpgroup.fence()
        for k_block in cutlass.range_constexpr(cute.size(self.tSrQ, mode=[2])):
            qk.set(warpgroup.Field.ACCUMULATE, k_block > 0)
            q, k = self.tSrQ[None, None, k_block], self.tSrK[None, None, k_block, state.index]
            cute.gemm(qk, self.tSrS, q, k, self.tSrS)
        warpgroup.commit_group()

    @cute.jit
    def issue_o(self, state: PipelineState) -> None:
        cute.arch.mbarrier_wait(self.v_ring.full + state.index, state.phase)
        _, pv = make_mmas(self.config)
        warpgroup.fence()
        pv.set(warpgroup.Field.ACCUMULATE, True)
        p = p_operand(self.tOrP)
        for k_block in cutlass.range_constexpr(cute.size(p, mode=[2])):
            v = self.tOrV[None, None, k_block, state.index]
            cute.gemm(pv, self.tOrO, p[None, None, k_block], v, self.tOrO)
        warpgroup.commit_group()

    def take_turn(self) -> None:
        if self.config.pingpong:
            cute.arch.barrier(barrier_id=TURN_BARRIER + self.group, number_of_threads=2 * WARPGROUP)

    def pass_turn(self) -> None:
        if self.config.pingpong:
            cute.arch.barrier_arrive(barrier_id=TURN_BARRIER + 1 - self.group, number_of_threads=2 * WARPGROUP)

    @cute.jit
    def step(self, k_state: PipelineState, v_state: PipelineState, n_block: Int32, masked: cutlass.Constexpr) -> None:
        """S of this block while P V of the block before is in flight; then its softmax."""
        factors = cute.make_rmem_tensor(2, Float32)
        self.take_turn()
        self.issue_s(k_state)
        if cutlass.const_expr(self.config.overlap):
            self.issue_o(v_state)
            self.pass_turn()
            warpgroup.wait_group(1)
        else:
            self.pass_turn()
            warpgroup.wait_group(0)
        self.k_ring.release(k_state.index)
        if cutlass.const_expr(masked):
            mask_scores(self.tSrS, self.first_row, n_block, self.keys, self.config)
        if cutlass.const_expr(not self.config.overlap):
            self.issue_o(v_state)
        p = cute.make_rmem_tensor(self.tSrS.shape, BFloat16 if self.config.early else Float32)
        self.softmax.step(self.tSrS, p, factors)
        warpgroup.wait_group(0)
        self.v_ring.release(v_state.index)
        self.softmax.rescale(self.tOrO, factors)
        self.tOrP.store(p.load().to(BFloat16))


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
    me.k_ring.release(k_state.index)
    k_state.advance()
    mask_scores(me.tSrS, me.first_row, n_blocks - 1, me.keys, config)
    me.softmax.first(me.tSrS, me.tOrP)
    if cutlass.const_expr(config.causal):
        for number in cutlass.range(n_blocks - 1 - unmasked, unroll=1):
            me.step(k_state, v_state, n_blocks - 2 - number, True)
            k_state.advance()
            v_state.advance()
    for number in cutlass.range(cutlass.min(unmasked, n_blocks - 1), unroll=1):
        me.step(k_state, v_state, unmasked - 1 - number, False)
        k_state.advance()
        v_state.advance()
    if cutlass.const_expr(config.pingpong) and me.group == 0:
        me.take_turn()
    me.issue_o(v_state)
    warpgroup.wait_group(0)
    me.v_ring.release(v_state.index)


@dataclass(frozen=True)
class TileLoads:
    """source: (box, tiles). target: (box, stages)."""

    tma: cute.CopyAtom
    source: cute.Tensor
    target: cute.Tensor

    def load(self, tile: Int32, stage: Int32, full: cute.Pointer) -> None:
        cute.copy(self.tma, self.source[None, tile], self.target[None, stage], tma_bar_ptr=full)


def make_tma_load(tma: cute.CopyAtom, g: cute.Tensor, s: cute.Tensor) -> TileLoads:
    """g: (tile, tile, tiles), s: (tile, tile, stages)."""
    alone = cute.make_layout(1)
    target, source = cpasync.tma_partition(tma, 0, alone, cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2))
    return TileLoads(tma, source, target)


@cute.jit
def load_block(ring: KeyRing, load: TileLoads, tile: Int32, state: PipelineState, bytes: cutlass.Constexpr) -> None:
    cute.arch.mbarrier_wait(ring.empty + state.index, state.phase)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(ring.full + state.index, bytes)
    load.load(tile, state.index, ring.full + state.index)


@cute.jit
def produce_blocks(
    q: TileLoads, k: TileLoads, v: TileLoads, k_ring: KeyRing, v_ring: KeyRing, q_full: cute.Pointer, m_block: Int32,
    n_blocks: Int32, config: cutlass.Constexpr,
) -> None:  # fmt: skip
    """K one block ahead of V: the order in which the consumers need them."""
    k_state = make_pipeline_state(PipelineUserType.Producer, config.stages)
    v_state = make_pipeline_state(PipelineUserType.Producer, config.stages)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(q_full, 2 * config.tile_m * config.head_dim)
    q.load(m_block, Int32(0), q_full)
    load_block(k_ring, k, n_blocks - 1, k_state, config.kv_bytes)
    k_state.advance()
    for number in cutlass.range(n_blocks - 1, unroll=1):
        load_block(k_ring, k, n_blocks - 2 - number, k_state, config.kv_bytes)
        load_block(v_ring, v, n_blocks - 1 - number, v_state, config.kv_bytes)
        k_state.advance()
        v_state.advance()
    load_block(v_ring, v, Int32(0), v_state, config.kv_bytes)


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
    q: Any, k: Any, v: Any, o: Any, mLSE: cute.Tensor, scale: Float32, config: cutlass.Constexpr,
):  # fmt: skip
    (tma_q, mQ), (tma_k, mK), (tma_v, mV), (tma_o, mO) = q, k, v, o
    bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
    thread, _, _ = cute.arch.thread_idx()
    head, m_block, batch = cute.arch.block_idx()
    if cutlass.const_expr(config.causal):
        m_block = cute.arch.grid_dim()[1] - 1 - m_block  # the longest rows first
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
        unmasked = cutlass.min(n_blocks - 1, m_block * bM // bN)

    if group == config.consumers:
        cute.arch.setmaxregister_decrease(config.registers[0])
        if warp == 4 * config.consumers:
            loads = make_tma_load(tma_q, gQ, sQ), make_tma_load(tma_k, gK, sK), make_tma_load(tma_v, gV, sV)
            produce_blocks(*loads, k_ring, v_ring, q_full, m_block, n_blocks, config)
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
            OnlineSoftmax(cute.make_rmem_tensor(2, Float32), cute.make_rmem_tensor(2, Float32), scale * LOG2_E),
            rows,
            keys,
            group,
            config,
        )
        consume_blocks(me, n_blocks, unmasked, q_full, config)
        logs = cute.make_rmem_tensor(2, Float32)
        me.softmax.normalize(me.tOrO, logs)
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


def make_attention(config: AttentionConfig) -> Callable[..., None]:
    """The host function attention(q, k, v, o, lse, scale, stream).

    q, k, v, o: (batch, heads, tokens, head_dim), head_dim contiguous. lse: (batch, heads, tokens), fp32. scale: of the
    scores.
    """

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
        mQ, mK, mO = (cute.make_tensor(x.iterator, cute.select(x.layout, [2, 3, 1, 0])) for x in (q, k, o))
        mV = cute.make_tensor(v.iterator, cute.select(v.layout, [3, 2, 1, 0]))
        mLSE = cute.make_tensor(lse.iterator, cute.select(lse.layout, [2, 1, 0]))
        load, save = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        bM, bN, bD = config.tile_m, config.tile_n, config.head_dim
        layout_q, layout_k, layout_v = (cute.slice_(layout, (None, None, 0)) for layout in qkv_layouts(config))
        box = smem_layout(STORE_BOX, BFloat16)
        tma_q = cpasync.make_tiled_tma_atom(load, mQ, layout_q, (bM, bD))
        tma_k = cpasync.make_tiled_tma_atom(load, mK, layout_k, (bN, bD))
        tma_v = cpasync.make_tiled_tma_atom(load, mV, layout_v, (bD, bN))
        tma_o = cpasync.make_tiled_tma_atom(save, mO, box, STORE_BOX)
        kernel = attention_kernel(tma_q, tma_k, tma_v, tma_o, mLSE, scale, config)
        grid = q.shape[1], cute.ceil_div(q.shape[2], bM), q.shape[0]
        kernel.launch(grid=grid, block=(config.threads, 1, 1), stream=stream)

    return attention
