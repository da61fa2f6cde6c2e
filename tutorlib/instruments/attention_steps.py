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
BLOCKS = SHAPE[0] * SHAPE[1] * SHAPE[2] // 128
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
def register_after(value: Float32, name: cutlass.Constexpr, *, loc: Any = None, ip: Any = None) -> Int64:
    """A special register of 64 bits, read when `value` is there."""
    asked = [Float32(value).ir_value(loc=loc, ip=ip)]
    asm = f"mov.u64 $0, %{name};", "=l,f,~{memory}"
    return Int64(llvm.inline_asm(Int64.mlir_type, asked, *asm, has_side_effects=True, loc=loc, ip=ip))


def stamped_step(address: int, together: bool, every: bool) -> Callable[..., None]:
    """A step of the kernel, which writes clocks at this address.

    every: all of them, to (block, warpgroup, n_block, 5). Otherwise those of the first step's begin and of the last
    step's end, each with the SM's number and the nanoseconds, to (block, warpgroup, 2, 3).
    """

    @cute.jit
    def stamp(me: Any, n_block: Int32, number: cutlass.Constexpr) -> None:
        head, m_block, batch = cute.arch.block_idx()
        heads, m_blocks, _ = cute.arch.grid_dim()
        place = ((batch * m_blocks + m_block) * heads + head) * 2 + me.group
        stamps = cute.make_ptr(Int64, Int64(address), cute.AddressSpace.gmem, assumed_align=8)
        after = me.softmax.rsum[0] + me.softmax.rsum[1]
        if cutlass.const_expr(every):
            now = register_after(after, "clock64")
            if cute.arch.thread_idx()[0] % WARPGROUP == 0:
                cute.make_tensor(stamps + (place * STEPS + n_block) * 5 + number, cute.make_layout(1))[0] = now
        elif cutlass.const_expr(number in (BEGUN, DONE)):
            last = number // DONE
            if cute.arch.thread_idx()[0] % WARPGROUP == 0 and n_block == (STEPS - 1) * (1 - last):
                seen = cute.make_tensor(stamps + (place * 2 + last) * 3, cute.make_layout(3))
                seen[0] = register_after(after, "clock64")
                seen[1] = register_after(after, "globaltimer")
                seen[2] = Int64(cute.arch.smid())

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
    """Of each schedule, without a mask: its clock, its steps' cycles, and what the warpgroups do in them."""
    d = SHAPE[3]
    q, k, v, o = (torch.randn(SHAPE, device="cuda", dtype=torch.bfloat16) for _ in "qkvo")
    lse = torch.empty(SHAPE[:3], device="cuda")
    found = {}
    for schedule, switches in SWITCHES.items():
        together = schedule == "together"
        ends = torch.zeros(BLOCKS, 2, 2, 3, dtype=torch.int64, device="cuda")
        clocks = torch.zeros(BLOCKS, 2, STEPS, 5, dtype=torch.int64, device="cuda")
        silent = step_together if together else COURSE.step
        steps = (
            silent,
            stamped_step(ends.data_ptr(), together, every=False),
            stamped_step(clocks.data_ptr(), together, every=True),
        )
        launch = partial(configured_into, AttentionConfig(d, **switches), o, lse, q, k, v, d**-0.5)
        us, ends_us, stamped_us = (median_us(partial(launch, replace(COURSE, step=step))) for step in steps)
        torch.testing.assert_close(o, scaled_dot_product_attention(q, k, v), atol=2e-2, rtol=2e-2)
        times = {"us": us, "ends_us": ends_us, "stamped_us": stamped_us}
        # The last block of keys is visited first.
        found[schedule] = times | of_blocks(ends.cpu()) | of_steps(clocks.cpu().flip(2))
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


def of_blocks(ends: Tensor) -> dict[str, float]:
    """ends: (blocks, 2 warpgroups, begin and end, (clock, nanoseconds, SM)).

    cycles: of a step, over all blocks, with the least and the most of a block. between: cycles from a block's last step
    to the next block's first, on one SM. mhz: the SMs' clock. most: blocks of an SM.
    """
    clock = ends[..., 0]
    each = (clock[..., 1] - clock[..., 0]).double() / STEPS
    gaps, mhz, blocks = [], [], []
    for sm in ends[:, 0, 0, 2].unique():
        here = ends[ends[:, 0, 0, 2] == sm]
        first, last = here[:, :, 0, 0].amin(1).sort().values, here[:, :, 1, 0].amax(1).sort().values
        gaps += (first[1:] - last[:-1]).tolist()
        mhz.append(1e3 * (last[-1] - first[0]).item() / (here[:, :, 1, 1].max() - here[:, :, 0, 1].min()).item())
        blocks.append(len(here))
    return {
        "cycles": round(each.mean().item()),
        "least": round(each.min().item()),
        "most": round(each.max().item()),
        "between": round(mean(gaps)),
        "mhz": round(median(mhz)),
        "blocks": max(blocks),
    }


def of_steps(clocks: Tensor) -> dict[str, float]:
    """clocks: (blocks, 2 warpgroups, steps in the order of time, 5).

    waits, softmax: shares of a step. both: the share of time in which both warpgroups compute their softmax.
    stamped_cycles: of a step.
    """
    begun, ready, softmax, added = (clocks[..., n] for n in range(4))
    step = (begun[..., 1:] - begun[..., :-1]).double().mean()
    starts, stops = (
        torch.maximum(ready[:, 0, :, None], ready[:, 1, None]),
        torch.minimum(softmax[:, 0, :, None], softmax[:, 1, None]),
    )
    together = (stops - starts).clamp(min=0).sum((1, 2)).double()
    whole = (clocks[..., -1, DONE].amin(1) - begun[..., 0].amax(1)).double()
    return {
        "both": round((together / whole).mean().item(), 4),
        "waits": round(((ready - begun + added - softmax).double().mean() / step).item(), 4),
        "softmax": round(((softmax - ready).double().mean() / step).item(), 4),
        "stamped_cycles": round(step.item()),
    }
