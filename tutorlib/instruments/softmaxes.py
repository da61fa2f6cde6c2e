"""When the warpgroups of attention blocks are in their softmax: `tutor sweep softmaxes`, some seconds."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch
from cutlass import Int64, cute
from torch.nn.functional import scaled_dot_product_attention

from tutorlib.instruments.sweep import in_a_process
from tutorlib.kernels.attention.launch import configured_into
from tutorlib.kernels.attention.roles import COURSE, AttentionParts, step_together
from tutorlib.kernels.attention.schedule import WARPGROUP, AttentionConfig
from tutorlib.machine import device
from tutorlib.machine.device import this_machine
from tutorlib.measuring.results import SOFTMAXES, sweep_file, write_json

HEADS, TOKENS = 16, 4096
STEPS = TOKENS // 128 - 1  # of a head's longest tile, after its last block of keys
KERNELS = {"together": {"pingpong": False}, "hidden P V": {"pingpong": False, "overlap": False}, "turns for both": {}}


def stamped(step: Callable[..., None], clocks: torch.Tensor) -> AttentionParts:
    """The step with two of the SM's clocks in `clocks` (heads, warpgroups, steps, 2) for each softmax of the heads'
    longest tiles: before and after."""
    address = clocks.data_ptr()

    @cute.jit
    def save(group: Any, n_block: Any, begin: Int64, end: Int64) -> None:
        head, number, run = cute.arch.block_idx()
        if cute.arch.thread_idx()[0] % WARPGROUP == 0 and number == 0 and run == 0:
            pair = (head * 2 + group) * STEPS + n_block
            mine = cute.make_tensor(cute.make_ptr(Int64, address, cute.AddressSpace.gmem) + 2 * pair, 2)
            mine[0], mine[1] = begin, end

    def stamped_step(me: Any, k_state: Any, v_state: Any, n_block: Any, masked: bool) -> None:
        def softmax_step(*arguments: Any) -> None:
            begin = cute.arch.clock64()
            COURSE.softmax_step(*arguments)
            save(me.group, n_block, begin, cute.arch.clock64())

        step(replace(me, parts=replace(me.parts, softmax_step=softmax_step)), k_state, v_state, n_block, masked)

    return AttentionParts(step=stamped_step)


def time_softmaxes() -> dict[str, dict[str, Any]]:
    """Of each kernel, in cycles: a step and a softmax, medians; the first block's softmaxes; and, for each block, the
    share of the softmaxes' time in which the other warpgroup is in its own."""
    q, k, v = torch.randn(3, 4, HEADS, TOKENS, 128, dtype=torch.bfloat16, device="cuda")
    wanted, found = scaled_dot_product_attention(q, k, v, is_causal=True), dict[str, dict[str, Any]]()
    for name, levers in KERNELS.items():
        clocks = torch.zeros(HEADS, 2, STEPS, 2, dtype=torch.int64, device="cuda")
        parts = stamped(step_together if name == "together" else COURSE.step, clocks)
        for _ in range(3):
            o, lse = torch.empty_like(q), q.new_empty(q.shape[:3], dtype=torch.float32)
            configured_into(AttentionConfig(causal=True, **levers), o, lse, q, k, v, 128**-0.5, parts)
        torch.testing.assert_close(o, wanted, atol=0.02, rtol=0.02)
        blocks = (clocks - clocks.amin((1, 2, 3), keepdim=True)).flip(2).tolist()
        groups = [group for block in blocks for group in block]
        found[name] = {
            "step": median(b - a for group in groups for (a, _), (b, _) in pairwise(group)),
            "softmax": median(end - begin for group in groups for begin, end in group),
            "shared": [shared(*block) for block in blocks],
            "block": blocks[0],
        }
    return found


def shared(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> float:
    both = sum(max(min(a[1], b[1]) - max(a[0], b[0]), 0) for a in one for b in other)
    return round(2 * both / sum(end - begin for begin, end in (*one, *other)), 3)


def record() -> Path:
    """Measure, and write this GPU's file. Raises Failed."""
    data = {"machine": this_machine(), "date": date.today().isoformat(), SOFTMAXES: in_a_process(time_softmaxes)}
    return write_json(sweep_file(device.need_gpu().name, SOFTMAXES), data)
