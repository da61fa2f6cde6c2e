"""When the two consumer warpgroups of an attention block issue, wait and compute, by the SM's clock: notebook 23."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import mean, median
from typing import Any

import cutlass
import torch
from cutlass import BFloat16, Float32, Int32, Int64, cute
from cutlass._mlir.dialects import llvm
from cutlass.cute.nvgpu import warpgroup
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tutorlib.kernels.attention.launch import configured_into
from tutorlib.kernels.attention.roles import COURSE, step_together
from tutorlib.kernels.attention.schedule import WARPGROUP, AttentionConfig

SHAPE = 4, 16, 4096, 128  # batch, heads, tokens, head_dim
STEPS = SHAPE[2] // 128 - 1  # of a block; its first softmax is no step
# Clocks of a step: before its first wgmma, S complete, softmax done, P V complete, P stored.
BEGUN, READY, SOFTMAX, ADDED, DONE = range(5)
SWITCHES = {
    "together": {"pingpong": False, "overlap": False},
    "plain": {"pingpong": False, "overlap": False},
    "ping-pong": {"pingpong": True, "overlap": False},
    "overlap": {"pingpong": False, "overlap": True},
    "ping-pong + overlap": {"pingpong": True, "overlap": True},
}


@cutlass.dsl_user_op
def clock_after(value: Float32, *, loc: Any = None, ip: Any = None) -> Int32:
    """The SM's clock when `value` is there."""
    asked = [Float32(value).ir_value(loc=loc, ip=ip)]
    asm = "mov.u32 $0, %clock;", "=r,f,~{memory}"
    return Int32(llvm.inline_asm(Int32.mlir_type, asked, *asm, has_side_effects=True, loc=loc, ip=ip))


def stamped_step(address: int, together: bool) -> Callable[..., None]:
    """A step of the kernel, which writes its clocks to (m_block, warpgroup, n_block, 5) at this address."""

    @cute.jit
    def stamp(me: Any, n_block: Int32, number: cutlass.Constexpr) -> None:
        now = clock_after(me.softmax.rsum[0] + me.softmax.rsum[1])
        head, m_block, batch = cute.arch.block_idx()
        if cute.arch.thread_idx()[0] % WARPGROUP == 0 and head == 0 and batch == 0:
            place = ((m_block * 2 + me.group) * STEPS + n_block) * 5 + number
            clocks = cute.make_ptr(Int32, Int64(address), cute.AddressSpace.gmem, assumed_align=4)
            cute.make_tensor(clocks + place, cute.make_layout(1))[0] = now

    @cute.jit
    def step(me: Any, k_state: Any, v_state: Any, n_block: Int32, masked: cutlass.Constexpr) -> None:
        p, factors = cute.make_rmem_tensor(me.tSrS.shape, Float32), cute.make_rmem_tensor(2, Float32)
        me.take_turn()
        stamp(me, n_block, BEGUN)
        if cutlass.const_expr(together):
            me.issue_o(v_state)
        me.issue_s(k_state)
        if cutlass.const_expr(me.config.overlap):
            me.issue_o(v_state)
        me.pass_turn()
        warpgroup.wait_group(1 if me.config.overlap else 0)
        stamp(me, n_block, READY)
        me.free_k(k_state)
        if cutlass.const_expr(masked):
            me.mask(n_block)
        if cutlass.const_expr(not together and not me.config.overlap):
            me.issue_o(v_state)
        me.softmax_step(p, factors)
        stamp(me, n_block, SOFTMAX)
        warpgroup.wait_group(0)
        stamp(me, n_block, ADDED)
        me.free_v(v_state)
        me.rescale(factors)
        me.tOrP.store(p.load().to(BFloat16))
        stamp(me, n_block, DONE)

    return step


def step_times() -> dict[str, Any]:
    """Of each schedule, without a mask: when the warpgroups of a block work, and what the clocks cost."""
    _, _, tokens, d = SHAPE
    q, k, v, o = (torch.randn(SHAPE, device="cuda", dtype=torch.bfloat16) for _ in "qkvo")
    lse = torch.empty(SHAPE[:3], device="cuda")
    found = {}
    for schedule, switches in SWITCHES.items():
        clocks = torch.zeros(tokens // 128, 2, STEPS, 5, dtype=torch.int32, device="cuda")
        stamped = replace(COURSE, step=stamped_step(clocks.data_ptr(), schedule == "together"))
        silent = replace(COURSE, step=step_together) if schedule == "together" else COURSE
        launch = partial(configured_into, AttentionConfig(d, **switches), o, lse, q, k, v, d**-0.5)
        times = [median_us(partial(launch, parts)) for parts in (silent, stamped)]
        torch.testing.assert_close(o, scaled_dot_product_attention(q, k, v), atol=2e-2, rtol=2e-2)
        # The last block of keys is visited first.
        found[schedule] = summary(clocks.cpu().flip(2)) | {"us": times[0], "stamped_us": times[1]}
    return {"steps": found}


def median_us(call: Callable[[], None], calls: int = 40) -> float:
    """Of a warm kernel."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(calls + 1)]
    for _ in range(calls):
        call()
    for event in events:
        event.record()
        call()
    torch.cuda.synchronize()
    return round(median(1e3 * one.elapsed_time(later) for one, later in pairwise(events)), 1)


def summary(clocks: Tensor) -> dict[str, float]:
    """clocks: (blocks, 2 warpgroups, steps in the order of time, 5), 32 bits that may wrap around.

    both: the share of time in which both warpgroups compute their softmax.
    """
    since = (clocks.long() - clocks[:, :1, :1, :1].long()) % 2**32
    since = torch.where(since < 2**31, since, since - 2**32)
    both = []
    for block in since.tolist():
        begin, end = max(group[4][BEGUN] for group in block), min(group[-4][BEGUN] for group in block)
        first, second = ({at for step in group for at in range(step[READY], step[SOFTMAX])} for group in block)
        both.append(len(first & second & set(range(begin, end))) / (end - begin))
    return {"both": round(mean(both), 4)}
