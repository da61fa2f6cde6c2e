"""What the warps of the Hopper attention kernel work on: rings, MMAs, and the two roles' operands.

Tensors are named by where they live: m in global memory, g a block's tiles of it, s shared memory, r registers;
tSrQ is sQ as the MMA of S reads it.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import BFloat16, Float32, Int32, cute
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.cute.nvgpu.warpgroup import OperandSource
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tutorlib.kernels.attention.schedule import MMA_M, WARPGROUP, AttentionConfig, Tile
from tutorlib.kernels.hopper.first import BoxCopy

TURN_BARRIER = 1  # and 2: named barriers, a consumer warpgroup's turn to issue wgmmas


@dataclass(frozen=True)
class KeyRing:
    """full, empty: the first mbarrier of each stage; empty has one arrival of each consumer warp."""

    full: cute.Pointer
    empty: cute.Pointer

    def release(self, stage: Int32) -> None:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(self.empty + stage)


@dataclass(frozen=True)
class QueryRing(KeyRing):
    """Of Q. If persistent, places (4, q_stages) has each tile's m_block, head, batch and `before`, as `Tile` has them.

    If not, `full` alone is used.
    """

    places: cute.Tensor | None

    def wait_empty(self, state: PipelineState) -> None:
        cute.arch.mbarrier_wait(self.empty + state.index, state.phase)

    def write_place(self, place: tuple[Int32, ...], stage: Int32) -> None:
        for n, coordinate in enumerate(place):
            self.places[n, stage] = coordinate

    def take(self, state: PipelineState) -> tuple[Int32, ...]:
        """Wait for a stage; the place of its tile."""
        cute.arch.mbarrier_wait(self.full + state.index, state.phase)
        return tuple(self.places[n, state.index] for n in range(4))


def make_mmas(config: AttentionConfig) -> tuple[cute.TiledMma, cute.TiledMma]:
    """(S = Q Kᵀ from shared memory, O = P V with P in registers), each warpgroup with 64 rows."""
    k_major, n_major = OperandMajorMode.K, OperandMajorMode.MN
    qk = warpgroup.MmaF16BF16Op(BFloat16, Float32, (MMA_M, config.tile_n), OperandSource.SMEM, k_major, k_major)
    pv = warpgroup.MmaF16BF16Op(BFloat16, Float32, (MMA_M, config.head_dim), OperandSource.RMEM, k_major, n_major)
    stacked = (config.consumers, 1, 1)
    return cute.make_tiled_mma(cute.make_mma_atom(qk), stacked), cute.make_tiled_mma(cute.make_mma_atom(pv), stacked)


@dataclass(frozen=True)
class OnlineSoftmax:
    """A thread's part of the online softmax of its 2 rows: running maxima and sums, in fp32.

    scale: of the logits, times log2(e). rmax, rsum: (2,).
    """

    rmax: cute.Tensor
    rsum: cute.Tensor
    scale: Float32

    @cute.jit
    def rescale(self, rows: cute.Tensor, factors: cute.Tensor) -> None:
        """rows: (2, columns)."""
        for row in cutlass.range_constexpr(2):
            rows[row, None].store(rows[row, None].load() * factors[row])

    @cute.jit
    def normalize(self, rows: cute.Tensor, logs: cute.Tensor) -> None:
        """Divide by the denominators; logs (2,) become their base-2 logarithms."""
        for row in cutlass.range_constexpr(2):
            total = quad_reduce(self.rsum[row], operator.add)
            logs[row] = self.rmax[row] * self.scale + cute.math.log2(total, fastmath=True)
            self.rsum[row] = 1 / total if total > 0 else Float32(0)
        self.rescale(rows, self.rsum)


@dataclass(frozen=True)
class Consumer:
    """A consumer warpgroup's operands, its rings, its first row and number.

    tSrS, tOrO: accumulators. tOrP: as tSrS, rounded. first_row: of this thread's two, which are 8 rows apart.
    """

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
    parts: "AttentionParts"

    def free_k(self, state: PipelineState) -> None:
        self.k_ring.release(state.index)

    def free_v(self, state: PipelineState) -> None:
        self.v_ring.release(state.index)

    def take_turn(self) -> None:
        if self.config.pingpong:
            take_turn(self)

    def pass_turn(self) -> None:
        if self.config.pingpong:
            pass_turn(self)

    @cute.jit
    def issue_s(self, state: PipelineState) -> None:
        """Wait for K; S = Q Kᵀ, a group of wgmmas."""
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
        """Wait for V; O += P V, a group of wgmmas."""
        cute.arch.mbarrier_wait(self.v_ring.full + state.index, state.phase)
        _, pv = make_mmas(self.config)
        add_pv(pv, self.tOrO, self.parts.p_operand(self.tOrP), self.tOrV, state.index)

    @cute.jit
    def mask(self, n_block: Int32) -> None:
        """-inf in columns past the last key, or, if causal, past the row's own."""
        rows = self.parts.by_row(self.tSrS)
        first = n_block * self.config.tile_n + cute.arch.lane_idx() % 4 * 2
        for row in cutlass.range_constexpr(2):
            end = self.keys
            if cutlass.const_expr(self.config.causal):
                end = cutlass.min(end, self.first_row + 8 * row + 1)
            for pair in cutlass.range_constexpr(self.config.tile_n // 8):
                for one in cutlass.range_constexpr(2):
                    past = first + (8 * pair + one) >= end
                    rows[row, (one, pair)] = -Float32.inf if past else rows[row, (one, pair)]

    def softmax_step(self, p: cute.Tensor, factors: cute.Tensor) -> None:
        """p, as tSrS, becomes the block's P; factors (2,) rescale what was accumulated."""
        by_row = self.parts.by_row
        self.parts.softmax_step(self.softmax, by_row(self.tSrS), by_row(p), factors)

    def rescale(self, factors: cute.Tensor) -> None:
        self.softmax.rescale(self.parts.by_row(self.tOrO), factors)


@cute.jit
def first_turn(me: Any) -> None:
    """Before a block's first turn: warpgroup 1 passes it to warpgroup 0."""
    if cutlass.const_expr(me.config.pingpong) and me.group == 1:
        pass_turn(me)


@cute.jit
def last_turn(me: Any) -> None:
    """After a block's last turn: warpgroup 0 takes the one that warpgroup 1 has passed."""
    if cutlass.const_expr(me.config.pingpong) and me.group == 0:
        take_turn(me)


@dataclass(frozen=True)
class BlockLoads:
    """The producer warp's loads; each waits until its stage is empty, and announces its bytes."""

    q: BoxCopy
    k: BoxCopy
    v: BoxCopy
    k_ring: KeyRing
    v_ring: KeyRing
    q_ring: QueryRing
    tile: Tile
    config: AttentionConfig

    @property
    def stages(self) -> int:
        return self.config.stages

    def load_q(self) -> None:
        stage = self.tile.q_stage
        full = self.q_ring.full + stage
        if self.config.persistent:
            self.q_ring.wait_empty(self.tile.drawn.q_state)
        with cute.arch.elect_one():
            if self.config.persistent:
                self.q_ring.write_place(self.tile.place, stage)
            cute.arch.mbarrier_arrive_and_expect_tx(full, 2 * self.config.tile_m * self.config.head_dim)
        self.q.load(self.tile.m_block, stage, full)

    def load_k(self, n_block: Int32, state: PipelineState) -> None:
        self.load_tile(self.k, self.k_ring, n_block, state)

    def load_v(self, n_block: Int32, state: PipelineState) -> None:
        self.load_tile(self.v, self.v_ring, n_block, state)

    @cute.jit
    def load_tile(self, tiles: BoxCopy, ring: KeyRing, n_block: Int32, state: PipelineState) -> None:
        state = self.tile.carried(state)
        cute.arch.mbarrier_wait(ring.empty + state.index, state.phase)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(ring.full + state.index, self.config.kv_bytes)
        tiles.load(self.tile.first + n_block, state.index, ring.full + state.index)


# Parts that the reader writes -----------------------------------------------------------------------------------------


def by_row(acc: cute.Tensor) -> cute.Tensor:
    """Accumulators ((2, 2, N/8), 1, 1) of a thread as (2 rows, (2, N/8) columns)."""
    return cute.make_tensor(acc.iterator, cute.make_layout((2, (2, cute.size(acc) // 4)), stride=(2, (1, 4))))


def p_operand(p: cute.Tensor) -> cute.Tensor:
    """Accumulators of N columns, rounded, as the A operand of a wgmma with K = N: ((2, 2, 2), 1, N/16)."""
    blocks = cute.size(p) // 8
    return cute.make_tensor(p.iterator, cute.make_layout(((2, 2, 2), 1, blocks), stride=((1, 2, 4), 0, 8)))


@cute.jit
def add_pv(pv: cute.TiledMma, acc: cute.Tensor, p: cute.Tensor, v: cute.Tensor, stage: Int32) -> None:
    """O += P V, a group of wgmmas. p: ((2, 2, 2), 1, K blocks) in registers. v: (V, 1, K blocks, stages)."""
    warpgroup.fence()
    pv.set(warpgroup.Field.ACCUMULATE, True)
    for k_block in cutlass.range_constexpr(cute.size(p, mode=[2])):
        cute.gemm(pv, acc, p[None, None, k_block], v[None, None, k_block, stage], acc)
    warpgroup.commit_group()


@cute.jit
def quad_reduce(value: Float32, op: cutlass.Constexpr) -> Float32:
    """Over the 4 lanes that share a row."""
    for offset in cutlass.range_constexpr(1, 3):
        value = op(value, cute.arch.shuffle_sync_bfly(value, offset=offset))
    return value


@cute.jit
def softmax_first(softmax: OnlineSoftmax, rows: cute.Tensor, p_rows: cute.Tensor) -> None:
    """P = exp2((S - max) · scale), rounded to the type of p_rows."""
    for row in cutlass.range_constexpr(2):
        s = rows[row, None].load()
        top = quad_reduce(s.reduce(cute.ReductionOp.MAX, -Float32.inf, 0), cute.arch.fmax)
        softmax.rmax[row] = top
        base = Float32(0) if top == -Float32.inf else top * softmax.scale
        p = cute.math.exp2(s * softmax.scale - base, fastmath=True)
        softmax.rsum[row] = p.reduce(cute.ReductionOp.ADD, Float32(0), 0)
        p_rows[row, None].store(p.to(p_rows.element_type))


@cute.jit
def softmax_step(softmax: OnlineSoftmax, rows: cute.Tensor, p_rows: cute.Tensor, factors: cute.Tensor) -> None:
    """The same for a later block; factors (2,) rescale what was accumulated."""
    for row in cutlass.range_constexpr(2):
        s = rows[row, None].load()
        before = softmax.rmax[row]
        top = quad_reduce(s.reduce(cute.ReductionOp.MAX, before, 0), cute.arch.fmax)
        softmax.rmax[row] = top
        base = Float32(0) if top == -Float32.inf else top * softmax.scale
        factor = cute.math.exp2(before * softmax.scale - base, fastmath=True)
        p = cute.math.exp2(s * softmax.scale - base, fastmath=True)
        softmax.rsum[row] = p.reduce(cute.ReductionOp.ADD, softmax.rsum[row] * factor, 0)
        factors[row] = factor
        p_rows[row, None].store(p.to(p_rows.element_type))


def take_turn(me: Consumer) -> None:
    cute.arch.barrier(barrier_id=TURN_BARRIER + me.group, number_of_threads=2 * WARPGROUP)


def pass_turn(me: Consumer) -> None:
    cute.arch.barrier_arrive(barrier_id=TURN_BARRIER + 1 - me.group, number_of_threads=2 * WARPGROUP)


@cute.jit
def step(
    me: Consumer, k_state: PipelineState, v_state: PipelineState, n_block: Int32, masked: cutlass.Constexpr
) -> None:
    """S of this block while P V of the block before is in flight; then its softmax."""
    factors = cute.make_rmem_tensor(2, Float32)
    me.take_turn()
    me.issue_s(k_state)
    if cutlass.const_expr(me.config.overlap):
        me.issue_o(v_state)
        me.pass_turn()
        warpgroup.wait_group(1)
    else:
        me.pass_turn()
        warpgroup.wait_group(0)
    me.free_k(k_state)
    if cutlass.const_expr(masked):
        me.mask(n_block)
    if cutlass.const_expr(not me.config.overlap):
        me.issue_o(v_state)
    p = cute.make_rmem_tensor(me.tSrS.shape, Float32)
    me.softmax_step(p, factors)
    warpgroup.wait_group(0)
    me.free_v(v_state)
    me.rescale(factors)
    me.tOrP.store(p.load().to(BFloat16))


@cute.jit
def step_together(
    me: Consumer, k_state: PipelineState, v_state: PipelineState, n_block: Int32, masked: cutlass.Constexpr
) -> None:
    """P V of the block before, and S of this block; then its softmax, with no wgmma of this warpgroup in flight."""
    me.issue_o(v_state)
    me.issue_s(k_state)
    warpgroup.wait_group(0)
    me.free_v(v_state)
    me.free_k(k_state)
    if cutlass.const_expr(masked):
        me.mask(n_block)
    p, factors = cute.make_rmem_tensor(me.tSrS.shape, Float32), cute.make_rmem_tensor(2, Float32)
    me.softmax_step(p, factors)
    me.rescale(factors)
    me.tOrP.store(p.load().to(BFloat16))


@cute.jit
def produce_blocks(loads: BlockLoads, n_blocks: Int32) -> None:
    """K one block ahead of V: the order in which the consumers need them."""
    k_state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    v_state = make_pipeline_state(PipelineUserType.Producer, loads.stages)
    loads.load_q()
    loads.load_k(n_blocks - 1, k_state)
    k_state.advance()
    for number in cutlass.range(n_blocks - 1, unroll=1):
        loads.load_k(n_blocks - 2 - number, k_state)
        loads.load_v(n_blocks - 1 - number, v_state)
        k_state.advance()
        v_state.advance()
    loads.load_v(Int32(0), v_state)


@cute.jit
def consume_blocks(me: Consumer, tile: Tile, q_full: cute.Pointer) -> None:
    """Blocks n_blocks - 1 … 0; those from `unmasked` on need the mask, which the last one always gets."""
    n_blocks, unmasked, config = tile.n_blocks, tile.unmasked, me.config
    k_state = tile.carried(make_pipeline_state(PipelineUserType.Consumer, config.stages))
    v_state = tile.carried(make_pipeline_state(PipelineUserType.Consumer, config.stages))
    me.tOrO.fill(0)
    if cutlass.const_expr(not config.persistent):
        cute.arch.mbarrier_wait(q_full, Int32(0))
        first_turn(me)
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
    for number in cutlass.range(unmasked, unroll=1):
        me.parts.step(me, k_state, v_state, unmasked - 1 - number, False)
        k_state.advance()
        v_state.advance()
    if cutlass.const_expr(not config.persistent):
        last_turn(me)
    me.issue_o(v_state)
    warpgroup.wait_group(0)
    me.free_v(v_state)


@dataclass(frozen=True)
class AttentionParts:
    """The slots. Each takes a function with the parameters of the one that fills it by default."""

    by_row: Callable[..., Any] = by_row
    p_operand: Callable[..., Any] = p_operand
    softmax_step: Callable[..., None] = softmax_step
    step: Callable[..., None] = step
    consume: Callable[..., None] = consume_blocks


COURSE = AttentionParts()
