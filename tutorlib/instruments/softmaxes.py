"""When the warpgroups of attention blocks are in their softmax: `tutor sweep softmaxes`, some seconds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from statistics import mean
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

BATCH, HEADS, TOKENS = 4, 16, 4096  # the first shape of `attention_levers`
TILES = TOKENS // 128  # of a head, the longest first: the n-th has TILES - 1 - n steps after its last block of keys
LEAST = 8  # steps of a tile that is counted
KERNELS = {"together": {"pingpong": False}, "hidden P V": {"pingpong": False, "overlap": False}, "turns for both": {}}

Block = Sequence[Sequence[tuple[int, int]]]  # each warpgroup's softmaxes, the SM's clock before and after


def stamped(step: Callable[..., None], clocks: torch.Tensor) -> AttentionParts:
    """The step, with the clocks of each softmax in `clocks` (runs, heads, tiles, warpgroups, steps, 2)."""
    address = clocks.data_ptr()

    @cute.jit
    def save(group: Any, n_block: Any, begin: Int64, end: Int64) -> None:
        head, number, run = cute.arch.block_idx()
        if cute.arch.thread_idx()[0] % WARPGROUP == 0:
            pair = (((run * HEADS + head) * TILES + number) * 2 + group) * TILES + n_block
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
    """Of each kernel, `account` of its blocks, and of the quarters that share least and most; and one block's clocks:
    of the longest tiles', with the median share."""
    q, k, v = torch.randn(3, BATCH, HEADS, TOKENS, 128, dtype=torch.bfloat16, device="cuda")
    wanted, found = scaled_dot_product_attention(q, k, v, is_causal=True), dict[str, dict[str, Any]]()
    for name, levers in KERNELS.items():
        clocks = torch.zeros(BATCH, HEADS, TILES, 2, TILES, 2, dtype=torch.int64, device="cuda")
        parts = stamped(step_together if name == "together" else COURSE.step, clocks)
        for _ in range(3):
            o, lse = torch.empty_like(q), q.new_empty(q.shape[:3], dtype=torch.float32)
            configured_into(AttentionConfig(causal=True, **levers), o, lse, q, k, v, 128**-0.5, parts)
        torch.testing.assert_close(o, wanted, atol=0.02, rtol=0.02)
        found[name] = by_share(
            block
            for steps in range(LEAST, TILES)
            for block in clocks[:, :, TILES - 1 - steps, :, :steps].flip(3).flatten(0, 1).tolist()
        )
    return found


def by_share(blocks: Any) -> dict[str, Any]:
    ranked = sorted(blocks, key=lambda block: account([block])["shared"])
    most_steps, quarter = max(len(block[0]) for block in ranked), len(ranked) // 4
    longest = [block for block in ranked if len(block[0]) == most_steps]
    parts = {"all": ranked, "least": ranked[:quarter], "most": ranked[-quarter:]}
    return {part: account(these) for part, these in parts.items()} | {"block": longest[len(longest) // 2]}


def account(blocks: Sequence[Block]) -> dict[str, float]:
    """In cycles, a step and its softmax, means; the share of the softmaxes' time in which both warpgroups are in it."""
    groups = [group for block in blocks for group in block]
    softmaxes = [end - begin for group in groups for begin, end in group]
    steps = [b - a for group in groups for (a, _), (b, _) in pairwise(group)]
    both = sum(max(min(a[1], b[1]) - max(a[0], b[0]), 0) for one, other in blocks for a in one for b in other)
    shared = round(2 * both / sum(softmaxes), 3)
    return {"blocks": len(blocks), "step": round(mean(steps)), "softmax": round(mean(softmaxes)), "shared": shared}


def record() -> Path:
    """Measure, and write this GPU's file. Raises Failed."""
    data = {"machine": this_machine(), "date": date.today().isoformat(), SOFTMAXES: in_a_process(time_softmaxes)}
    return write_json(sweep_file(device.need_gpu().name, SOFTMAXES), data)
