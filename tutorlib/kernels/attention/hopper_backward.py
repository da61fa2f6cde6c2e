"""Attention's gradients on Hopper, by five products: S = Q Kᵀ, dP = dO Vᵀ, dV = Pᵀ dO, dK = dSᵀ Q, dQ = dS K.

A block owns 128 keys, 64 for each of two consumer warpgroups, and takes the tiles of queries that see them, of all
query heads that share K and V. dK and dV stay in registers. S and dP are computed transposed, (keys, queries), so that
Pᵀ and dSᵀ are A operands without leaving their registers. dQ needs the dS of all 128 keys, so dS goes through shared
memory, each warpgroup computes one half of dQ, and TMA adds each warp's part of it to fp32 in global memory. Blocks add
in any order, so the last bits of dQ differ from run to run.

mQ, mK, mV, mdO, mdK and mdV are (tokens, head_dim, heads, batch). The scratch: mdQ (rows of 32, 32, heads, batch),
accumulators as the registers have them, and mLogs, mDelta (tokens, heads, batch), tokens padded to `ROWS`.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import cuda.tile as ct
import cutlass
import torch
from cuda.bindings.driver import CUstream
from cutlass import BFloat16, Float32, Int32, Int64, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.nvgpu.warp import StMatrix8x8x16bOp
from cutlass.cute.nvgpu.warpgroup import OperandSource
from cutlass.cute.runtime import make_fake_tensor
from cutlass.memory import SmemAllocator
from cutlass.pipeline import PipelineUserType, make_pipeline_state
from torch import Tensor

from tutorlib.kernels.attention import tiles
from tutorlib.kernels.attention.hopper import LOG2_E, store_o
from tutorlib.kernels.attention.roles import KeyRing, p_operand
from tutorlib.kernels.attention.schedule import MMA_M, WARPGROUP
from tutorlib.kernels.hopper.first import ALIGNMENT, BOX, BoxCopy, boxes
from tutorlib.kernels.hopper.launch import compile_for_torch
from tutorlib.kernels.hopper.pipeline import Tma, smem_layout

CONSUMERS, STAGES = 2, 2
TILE_N = CONSUMERS * MMA_M  # keys of a block
ROWS = 128  # queries to whose multiples the scratch is padded
LANES = 32
HEAD_DIMS = 64, 128
BOTH_BARRIER = 1  # the named barrier of both consumer warpgroups
L2 = 32 * 2**20  # bytes of it that queries may take


@dataclass(frozen=True)
class BackwardConfig:
    head_dim: int = 128
    causal: bool = False

    @property
    def tile_m(self) -> int:
        """Queries of a step: as many as leave room in registers for dK and dV."""
        return 128 * 64 // self.head_dim

    @property
    def registers(self) -> int:
        """Of a thread, for its part of dQ's tile."""
        return self.tile_m * self.head_dim // (CONSUMERS * WARPGROUP)


@dataclass(frozen=True)
class Gradients:
    """What both roles of a block work on. sQ, sdO: (bM, bD, stages), sK, sV: (bN, bD).

    sdS: (bM, bN, 2), for even steps and for odd ones. sRows: (bM, stages) of logs and of delta. full: of K and V.
    """

    q: Tma
    k: Tma
    v: Tma
    do: Tma
    dk: Tma
    dv: Tma
    dq: Tma
    rows: tuple[cute.Tensor, cute.Tensor]  # mLogs, mDelta
    sQ: cute.Tensor
    sK: cute.Tensor
    sV: cute.Tensor
    sdO: cute.Tensor
    sdS: cute.Tensor
    sdQ: cute.Tensor
    sRows: tuple[cute.Tensor, cute.Tensor]
    full: cute.Pointer
    q_ring: KeyRing
    do_ring: KeyRing
    scale: Float32
    config: BackwardConfig


@dataclass(frozen=True)
class Steps:
    """Of a block: `count` tiles of queries, those that see its keys, from the last on, all query heads of each.

    So blocks of a K head read the same few tiles at a time. shift: the place at which it starts, another for each of
    them, so that they add to different parts of dQ.
    """

    first: Int32
    count: Int32
    first_head: Int32
    heads: Int32
    shift: Int32

    @property
    def all(self) -> Int32:
        return self.heads * self.count

    @property
    def start(self) -> tuple[Int32, Int32]:
        """(tile of queries, head) of the first step."""
        turn = self.shift % cutlass.max(self.all, 1)
        return self.first + self.count - 1 - turn // self.heads, self.first_head + turn % self.heads

    @cute.jit
    def after(self, m_block: Int32, head: Int32) -> tuple[Int32, Int32]:
        """Those of the next step, without the divisions that adding to dQ would have to wait for."""
        last = head == self.first_head + self.heads - 1
        below = m_block - 1 if m_block > self.first else self.first + self.count - 1
        return below if last else m_block, self.first_head if last else head + 1


@cute.jit
def place_of(number: Int32, mQ: cute.Tensor, mK: cute.Tensor, config: BackwardConfig) -> tuple[Int32, Int32, Int32]:
    """(n_block, kv_head, batch) of a block: a head's keys in order, heads after one another.

    Early keys are seen by the most queries if causal: those of all heads first, as far as L2 holds Q, dO and dQ of one
    query head of each.
    """
    n_blocks, heads, together = cute.ceil_div(mK.shape[0], TILE_N), mK.shape[2], Int32(1)
    if cutlass.const_expr(config.causal):
        together = cutlass.max(L2 // (8 * config.head_dim * mQ.shape[0]), 1)
    before = number // (together * n_blocks) * together  # heads
    together, rest = cutlass.min(together, heads * mK.shape[3] - before), number - before * n_blocks
    head = before + rest % together
    return rest // together, head % heads, head // heads


@cute.jit
def steps_of(block: Gradients, n_block: Int32, kv_head: Int32) -> Steps:
    bM, mQ, mK, first = block.config.tile_m, block.q[1], block.k[1], Int32(0)
    m_blocks = cute.ceil_div(mQ.shape[0], bM)
    if cutlass.const_expr(block.config.causal):
        first = cutlass.min(n_block * TILE_N // bM, m_blocks)
    heads = mQ.shape[2] // mK.shape[2]
    return Steps(first, m_blocks - first, kv_head * heads, heads, n_block)


def make_mmas(config: BackwardConfig) -> tuple[cute.TiledMma, ...]:
    """(Sᵀ and dPᵀ, dK and dV, dQ): a warpgroup has 64 keys of the first two, and 64 rows or columns of dQ."""
    k, mn, smem, rmem = OperandMajorMode.K, OperandMajorMode.MN, OperandSource.SMEM, OperandSource.RMEM
    st = warpgroup.MmaF16BF16Op(BFloat16, Float32, (MMA_M, config.tile_m), smem, k, k)
    dkv = warpgroup.MmaF16BF16Op(BFloat16, Float32, (MMA_M, config.head_dim), rmem, k, mn)
    dq = warpgroup.MmaF16BF16Op(BFloat16, Float32, (MMA_M, config.head_dim * config.tile_m // TILE_N), smem, mn, mn)
    down = config.tile_m // MMA_M
    grids = (st, (CONSUMERS, 1, 1)), (dkv, (CONSUMERS, 1, 1)), (dq, (down, CONSUMERS // down, 1))
    return tuple(cute.make_tiled_mma(cute.make_mma_atom(op), grid) for op, grid in grids)


@cute.jit
def issue(mma: cute.TiledMma, acc: cute.Tensor, a: cute.Tensor, b: cute.Tensor, adds: cutlass.Constexpr) -> None:
    """A group of wgmmas. a, b: (V, M or N, K blocks)."""
    warpgroup.fence()
    for k_block in cutlass.range_constexpr(cute.size(a, mode=[2])):
        mma.set(warpgroup.Field.ACCUMULATE, True if cutlass.const_expr(adds) else k_block > 0)
        cute.gemm(mma, acc, a[None, None, k_block], b[None, None, k_block], acc)
    warpgroup.commit_group()


@cute.jit
def load_pairs(row: cute.Tensor, column: Int32, count: cutlass.Constexpr) -> cute.Tensor:
    """(2, count): elements column, column + 1, column + 8, column + 9, … of a row in shared memory; column is even."""
    pairs = cute.make_rmem_tensor((2, count), Float32)
    source = cute.make_tensor((row.iterator + column).align(8), cute.make_layout(pairs.shape, stride=(1, 8)))
    for pair in cutlass.range_constexpr(count):
        cute.autovec_copy(source[None, pair], pairs[None, pair])
    return pairs


@cute.jit
def mask(rows: cute.Tensor, key: Int32, column: Int32, keys: Int32, causal: cutlass.Constexpr) -> None:
    """-inf for keys past the last, and, if causal, for queries before the key. rows: as `by_key` has it."""
    for row in cutlass.range_constexpr(2):
        for pair in cutlass.range_constexpr(cute.size(rows, mode=[2])):
            for one in cutlass.range_constexpr(2):
                unseen = key + 8 * row >= keys
                if cutlass.const_expr(causal):
                    unseen = unseen or key + 8 * row > column + (8 * pair + one)
                rows[one, row, pair] = -Float32.inf if unseen else rows[one, row, pair]


def by_key(acc: cute.Tensor) -> cute.Tensor:
    """Accumulators of Sᵀ as (2 queries, 2 keys, pairs of queries)."""
    return cute.make_tensor(acc.iterator, cute.make_layout((2, 2, cute.size(acc) // 4)))


@cute.jit
def load_steps(block: Gradients, steps: Steps, n_block: Int32, kv_head: Int32, batch: Int32) -> None:
    """The producer warp: K and V once, then Q with logs, and dO with delta, of each step."""
    config = block.config
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(block.full, 2 * 2 * TILE_N * config.head_dim)
    for (tma_kv, m_kv), s_kv in ((block.k, block.sK), (block.v, block.sV)):
        g_kv = cute.local_tile(m_kv[None, None, kv_head, batch], (TILE_N, config.head_dim), (n_block, 0))
        tXsX, tXgX = boxes(tma_kv, s_kv, g_kv)
        cute.copy(tma_kv, tXgX, tXsX, tma_bar_ptr=block.full)
    state = make_pipeline_state(PipelineUserType.Producer, STAGES)
    m_block, head = steps.start
    tile = config.tile_m, config.head_dim
    bulk = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32, num_bits_per_copy=32 * tile[0])
    loads = (block.q, block.sQ, block.q_ring), (block.do, block.sdO, block.do_ring)
    for _ in cutlass.range(steps.all, unroll=1):
        for ((tma, m), s, ring), rows, s_rows in zip(loads, block.rows, block.sRows, strict=True):
            full = ring.full + state.index
            g_rows = cute.local_tile(rows[None, head, batch], (tile[0],), (m_block,))
            g_rows = cute.make_tensor(g_rows.iterator.align(16), cute.make_layout(tile[0]))
            cute.arch.mbarrier_wait(ring.empty + state.index, state.phase)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, 2 * tile[0] * tile[1] + 4 * tile[0])
                cute.copy(bulk, g_rows, s_rows[None, state.index], mbar_ptr=full)
            g = cute.local_tile(m[None, None, head, batch], tile, (None, 0))
            BoxCopy(tma, *boxes(tma, s, g)).load(m_block, state.index, full)
        state.advance()
        m_block, head = steps.after(m_block, head)


@cute.jit
def add_dq(acc: cute.Tensor, block: Gradients, part: Int32, head: Int32, batch: Int32) -> None:
    """TMA adds a warp's accumulators, the part-th of a head, to the scratch, through its own piece of sdQ."""
    thread, (tma, mdQ), shape = cute.arch.thread_idx()[0], block.dq, (cute.size(acc), LANES)
    cute.arch.cp_async_bulk_wait_group(0, read=True)
    cute.arch.sync_warp()
    sdQ = cute.local_tile(block.sdQ, shape, (cute.arch.make_warp_uniform(thread // LANES), 0))
    for register in cutlass.range_constexpr(shape[0]):
        sdQ[register, thread % LANES] = acc[register]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    tXsX, tXgX = boxes(tma, sdQ, cute.local_tile(mdQ[None, None, head, batch], shape, (part, 0)))
    cute.copy(tma, tXsX, tXgX)
    cute.arch.cp_async_bulk_commit_group()


def transposed(s: cute.Tensor, major: str = "mn") -> cute.Tensor:
    """The same matrices in shared memory, (columns, rows, …). major: of the transposed ones."""
    rows, columns, *more = (cute.size(s, mode=[n]) for n in range(cute.rank(s)))
    return cute.make_tensor(s.iterator, smem_layout((columns, rows, *more), BFloat16, major).outer)


@cute.jit
def take_steps(block: Gradients, steps: Steps, n_block: Int32, kv_head: Int32, batch: Int32) -> None:
    """A consumer warpgroup: dK and dV of its 64 keys, and half of each step's dQ."""
    config, (_, mK) = block.config, block.k
    bM, bN, bD = config.tile_m, TILE_N, config.head_dim
    thread, lane = cute.arch.thread_idx()[0], cute.arch.lane_idx()
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (LANES, WARPGROUP))
    st, dkv, dq = make_mmas(config)
    s_slice, kv_slice, q_slice = (mma.get_slice(group * WARPGROUP) for mma in (st, dkv, dq))
    tSrK, tSrV = (st.make_fragment_A(s_slice.partition_A(s)) for s in (block.sK, block.sV))
    tSrQ, tSrdO = (st.make_fragment_B(s_slice.partition_B(s)) for s in (block.sQ, block.sdO))
    tKrQ, tVrdO = (dkv.make_fragment_B(kv_slice.partition_B(transposed(s))) for s in (block.sQ, block.sdO))
    tQrdS = dq.make_fragment_A(q_slice.partition_A(block.sdS))
    tQrK = dq.make_fragment_B(q_slice.partition_B(transposed(block.sK)))
    tSrS, tSrP = (cute.make_rmem_tensor(st.partition_shape_C((bN, bM)), Float32) for _ in "SP")
    tKrK, tVrV = (cute.make_rmem_tensor(dkv.partition_shape_C((bN, bD)), Float32) for _ in "KV")
    tQrQ = cute.make_rmem_tensor(dq.partition_shape_C((bM, bD)), Float32)
    rP, rdS = (cute.make_rmem_tensor(tSrS.shape, BFloat16) for _ in "PS")
    tKrK.fill(0)
    tVrV.fill(0)
    stmatrix = cute.make_tiled_copy_C(cute.make_copy_atom(StMatrix8x8x16bOp(False, 4), BFloat16), st)
    to_shared = stmatrix.get_slice(thread)
    tSsS = to_shared.partition_D(transposed(block.sdS, "k"))
    s_rows, p_rows = by_key(tSrS), by_key(tSrP)
    key, own = n_block * bN + warp * 16 + lane // 4, lane % 4 * 2  # of a thread's first element
    crosses_end = (n_block + 1) * bN > mK.shape[0]
    cute.arch.mbarrier_wait(block.full, Int32(0))
    state = make_pipeline_state(PipelineUserType.Consumer, STAGES)
    m_block, head = steps.start
    for step in cutlass.range(steps.all, unroll=1):
        cute.arch.mbarrier_wait(block.q_ring.full + state.index, state.phase)
        issue(st, tSrS, tSrK, tSrQ[None, None, None, state.index], False)
        cute.arch.mbarrier_wait(block.do_ring.full + state.index, state.phase)
        issue(st, tSrP, tSrV, tSrdO[None, None, None, state.index], False)
        logs = load_pairs(block.sRows[0][None, state.index], own, bM // 8)
        warpgroup.wait_group(1)
        masked = crosses_end
        if cutlass.const_expr(config.causal):
            masked = masked or m_block * bM < (n_block + 1) * bN
        if masked:
            mask(s_rows, key, m_block * bM + own, mK.shape[0], config.causal)
        for pair in cutlass.range_constexpr(bM // 8):
            for row in cutlass.range_constexpr(2):
                for one in cutlass.range_constexpr(2):
                    scaled = s_rows[one, row, pair] * (block.scale * LOG2_E)
                    s_rows[one, row, pair] = cute.math.exp2(scaled - logs[one, pair], fastmath=True)
        rP.store(tSrS.load().to(BFloat16))
        deltas = load_pairs(block.sRows[1][None, state.index], own, bM // 8)
        warpgroup.wait_group(0)
        for pair in cutlass.range_constexpr(bM // 8):
            for row in cutlass.range_constexpr(2):
                for one in cutlass.range_constexpr(2):
                    p_rows[one, row, pair] = s_rows[one, row, pair] * (p_rows[one, row, pair] - deltas[one, pair])
        rdS.store(tSrP.load().to(BFloat16))
        cute.copy(stmatrix, to_shared.retile(rdS), tSsS[None, None, None, step % 2])
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=BOTH_BARRIER, number_of_threads=CONSUMERS * WARPGROUP)
        issue(dkv, tVrV, p_operand(rP), tVrdO[None, None, None, state.index], True)
        issue(dq, tQrQ, tQrdS[None, None, None, step % 2], tQrK, False)
        issue(dkv, tKrK, p_operand(rdS), tKrQ[None, None, None, state.index], True)
        warpgroup.wait_group(1)  # for dV and dQ
        block.do_ring.release(state.index)
        add_dq(tQrQ, block, 4 * CONSUMERS * m_block + warp, head, batch)
        warpgroup.wait_group(0)
        block.q_ring.release(state.index)
        state.advance()
        m_block, head = steps.after(m_block, head)
    cute.arch.barrier(barrier_id=BOTH_BARRIER, number_of_threads=CONSUMERS * WARPGROUP)  # both have read K and V
    tKrK.store(tKrK.load() * block.scale)
    for acc, (tma, m), s in ((tVrV, block.dv, block.sV), (tKrK, block.dk, block.sK)):
        store_o(acc, dkv, tma, s, cute.local_tile(m[None, None, kv_head, batch], (bN, bD), (n_block, 0)))


@cute.kernel
def backward_kernel(
    q: Any, k: Any, v: Any, do: Any, dk: Any, dv: Any, dq: Any, rows: Any,
    scale: Float32, config: cutlass.Constexpr,
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    n_block, kv_head, batch = place_of(cute.arch.block_idx()[0], q[1], k[1], config)
    warp, group = (cute.arch.make_warp_uniform(thread // size) for size in (LANES, WARPGROUP))
    bM, bN, bD = config.tile_m, TILE_N, config.head_dim
    memory = SmemAllocator()
    of_keys, of_queries = smem_layout((bN, bD), BFloat16), smem_layout((bM, bD, STAGES), BFloat16)
    layouts = of_keys, of_keys, of_queries, of_queries, smem_layout((bM, bN, 2), BFloat16, "mn")
    sK, sV, sQ, sdO, sdS = (memory.allocate_tensor(BFloat16, x.outer, ALIGNMENT, x.inner) for x in layouts)
    sdQ = memory.allocate_tensor(Float32, by_register(4 * CONSUMERS * config.registers), ALIGNMENT)
    sRows = tuple(memory.allocate_tensor(Float32, cute.make_layout((bM, STAGES)), 128) for _ in "LD")
    kv_full = memory.allocate_array(Int64, 1)
    q_ring, do_ring = (KeyRing(*(memory.allocate_array(Int64, STAGES) for _ in "fe")) for _ in "qo")
    if thread == 0:
        cute.arch.mbarrier_init(kv_full, 1)
        for ring in (q_ring, do_ring):
            for stage in range(STAGES):
                cute.arch.mbarrier_init(ring.full + stage, 1)
                cute.arch.mbarrier_init(ring.empty + stage, 4 * CONSUMERS)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    block = Gradients(
        q, k, v, do, dk, dv, dq, rows, sQ, sK, sV, sdO, sdS, sdQ, sRows, kv_full, q_ring, do_ring, scale, config
    )
    steps = steps_of(block, n_block, kv_head)
    if group == CONSUMERS:
        cute.arch.setmaxregister_decrease(24)
        if warp == 4 * CONSUMERS:
            load_steps(block, steps, n_block, kv_head, batch)
    else:
        cute.arch.setmaxregister_increase(240)
        take_steps(block, steps, n_block, kv_head, batch)


def by_register(count: int) -> cute.Layout:
    """A warp's accumulators: (register, lane)."""
    return cute.make_layout((count, LANES), stride=(LANES, 1))


def make_backward(config: BackwardConfig) -> Any:
    """The host function backward(q, k, v, do, dk, dv, dq, logs, delta, scale, stream), as `backward_into` calls it."""

    @cute.jit
    def backward(
        q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, do: cute.Tensor, dk: cute.Tensor, dv: cute.Tensor,
        dq: cute.Tensor, logs: cute.Tensor, delta: cute.Tensor, scale: Float32, stream: CUstream,
    ):  # fmt: skip
        load, save = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        of_queries, of_keys = (config.tile_m, config.head_dim), (TILE_N, config.head_dim)
        tiles = (q, load, of_queries), (k, load, of_keys), (v, load, of_keys), (do, load, of_queries)
        atoms = []
        for x, op, tile in (*tiles, (dk, save, BOX), (dv, save, BOX)):
            m = cute.make_tensor(x.iterator, cute.select(x.layout, [2, 3, 1, 0]))
            atoms.append(cpasync.make_tiled_tma_atom(op, m, smem_layout(tile, BFloat16), tile))
        mdQ = cute.make_tensor(dq.iterator, cute.select(dq.layout, [2, 3, 1, 0]))
        part, add = by_register(config.registers), cpasync.CopyReduceBulkTensorTileS2GOp()
        atoms.append(cpasync.make_tiled_tma_atom(add, mdQ, part, part.shape))
        rows = tuple(cute.make_tensor(x.iterator, cute.select(x.layout, [2, 1, 0])) for x in (logs, delta))
        grid = cute.ceil_div(k.shape[2], TILE_N) * k.shape[1] * k.shape[0], 1, 1
        threads = WARPGROUP * (CONSUMERS + 1)
        backward_kernel(*atoms, rows, scale, config).launch(grid=grid, block=(threads, 1, 1), stream=stream)

    return backward


def backward_fakes() -> tuple[Any, ...]:
    """Stand-ins for the tensors of `make_backward`, (batch, heads, tokens, head_dim), and the scale."""

    def tensor(dtype: Any, rank: int, together: int) -> Any:
        sizes = (*(cute.sym_int() for _ in range(rank - 1)), cute.sym_int(divisibility=8))
        strides = (*(cute.sym_int64(divisibility=together) for _ in range(rank - 1)), 1)
        return make_fake_tensor(dtype, sizes, strides, assumed_align=16)

    return *(tensor(BFloat16, 4, 8) for _ in range(6)), *(tensor(Float32, rank, 4) for rank in (4, 3, 3)), Float32(1)


@cache
def compiled_backward(config: BackwardConfig) -> Any:
    return compile_for_torch(make_backward(config), *backward_fakes())


def backward_into(
    dq: Tensor, dk: Tensor, dv: Tensor, do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
    scale: float, causal: bool,
) -> None:  # fmt: skip
    """On a Hopper GPU, for bf16 of head_dim ≤ 128 with strides that are multiples of 16 bytes."""
    batch, heads, queries, d = q.shape
    padded, count = -(-queries // ROWS) * ROWS, -(-queries // ROWS)
    config = BackwardConfig(next(wide for wide in HEAD_DIMS if d <= wide), causal)
    logs, delta = torch.empty(2, batch, heads, padded, device=q.device).unbind(0)
    scratch = torch.empty(batch, heads, padded * config.head_dim // LANES, LANES, device=q.device)
    sizes, stream = (ROWS, config.head_dim), torch.cuda.current_stream()
    by_rows = scratch.view(batch, heads, padded, config.head_dim)
    ct.launch(stream, (count, heads, batch), tiles.prepare_rows, (o, do, lse, logs, delta, by_rows, *sizes))
    compiled_backward(config)(q, k, v, do, dk, dv, scratch, logs, delta, scale)
    tile = config.tile_m, config.head_dim
    ct.launch(stream, (-(-queries // tile[0]), heads, batch), tiles.round_queries, (scratch, dq, scale, *tile))
