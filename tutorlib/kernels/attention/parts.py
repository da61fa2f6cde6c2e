"""The parts of the Hopper attention kernel that notebook 20's reader writes, and the slots for them.

rows are accumulators of a thread, (2 rows, columns), as `by_row` has them; me is a `roles.Consumer`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cutlass
from cutlass import BFloat16, Float32, Int32, cute
from cutlass.cute.nvgpu import warpgroup
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tutorlib.kernels.attention.roles import TURN_BARRIER, BlockLoads, Consumer, OnlineSoftmax
from tutorlib.kernels.attention.schedule import WARPGROUP


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
        top = softmax.quad_reduce(s.reduce(cute.ReductionOp.MAX, -Float32.inf, 0), cute.arch.fmax)
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
        top = softmax.quad_reduce(s.reduce(cute.ReductionOp.MAX, before, 0), cute.arch.fmax)
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


@dataclass(frozen=True)
class AttentionParts:
    """Each is a function with the parameters of the course's."""

    by_row: Callable[..., Any]
    p_operand: Callable[..., Any]
    add_pv: Callable[..., None]
    quad_reduce: Callable[..., Any]
    softmax_step: Callable[..., None]
    produce: Callable[..., None]
    step: Callable[..., None]
    take_turn: Callable[..., None]
    pass_turn: Callable[..., None]


COURSE = AttentionParts(
    by_row=by_row,
    p_operand=p_operand,
    add_pv=add_pv,
    quad_reduce=quad_reduce,
    softmax_step=softmax_step,
    produce=produce_blocks,
    step=step,
    take_turn=take_turn,
    pass_turn=pass_turn,
)
