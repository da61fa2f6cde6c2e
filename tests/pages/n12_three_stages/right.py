"""Unusual right answers to notebook 12."""

import math

import cutlass
import numpy as np
import torch
from cutlass import cute

from tests.pages.change import derive, swap
from tests.pages.n12_three_stages.whole import ISSUED, MULTIPLIED, RIGHT_RUNGS, RIGHT_WHOLE, WITHOUT_AN_IF
from tests.pages.table import answer
from tutorlib.kernels.ampere.config import GemmConfig
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.ampere.schedules import LoopSchedule, make_loop
from tutorlib.kernels.ampere.thread_share import Steps

# 12.1 -----------------------------------------------------------------------------------------------------------


COMMIT = "cute.arch.cp_async_commit_group()\n"
WAIT = "                cute.arch.cp_async_wait_group(steps.stages - 2)\n"
drains_at_the_end = derive(
    multistage,
    "drains_at_the_end",
    "Commits inside the if, and at the end of K waits for all that is left.",
    swap(f"steps.load(ahead, write)\n        {COMMIT}", f"steps.load(ahead, write)\n            {COMMIT}"),
    swap(
        WAIT,
        f"                if ahead < steps.k_tiles:\n    {WAIT}"
        "                else:\n                    cute.arch.cp_async_wait_group(0)\n",
    ),
)


@cute.jit
def by_remainders(steps: Steps):
    """No buffer indices kept: tile k is in buffer k % stages; A is loaded, then B."""
    for k_tile in cutlass.range_constexpr(min(steps.stages - 1, steps.k_tiles)):
        steps.a.load(k_tile, k_tile)
        steps.b.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    for _ in cutlass.range_constexpr(max(0, steps.stages - 1 - steps.k_tiles)):
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(steps.stages - 2)
    cute.arch.sync_threads()
    steps.fetch(0, 0)
    for k_tile in range(steps.k_tiles):
        if k_tile + steps.stages - 1 < steps.k_tiles:
            steps.load(k_tile + steps.stages - 1, (k_tile + steps.stages - 1) % steps.stages)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks - 1):
            steps.fetch(k_block + 1, k_tile % steps.stages)
            steps.multiply(k_block)
        cute.arch.cp_async_wait_group(steps.stages - 2)
        cute.arch.sync_threads()
        steps.fetch(0, (k_tile + 1) % steps.stages)
        steps.multiply(steps.k_blocks - 1)


LOADED = "            steps.load(k_tile, k_tile)\n"
two_groups = derive(
    multistage,
    "two_groups",
    "A group for A and one for B, so two in each step.",
    swap(
        f"{LOADED}        {COMMIT}",
        f"{LOADED.replace('load', 'a.load')}        {COMMIT}"
        "        if cutlass.const_expr(k_tile < steps.k_tiles):\n"
        f"{LOADED.replace('load', 'b.load')}        {COMMIT}",
    ),
    swap(
        f"steps.load(ahead, write)\n        {COMMIT}",
        f"steps.a.load(ahead, write)\n        {COMMIT}        if ahead < steps.k_tiles:\n"
        f"            steps.b.load(ahead, write)\n        {COMMIT}",
    ),
    swap("wait_group(steps.stages - 2)", "wait_group(2 * steps.stages - 4)", times=2),
)
without_an_if = derive(
    multistage,
    "without_an_if",
    "The appendix's loop: loads are issued behind the first multiplication, at the end of K the last tile's again.",
    swap(ISSUED, ""),
    swap(MULTIPLIED, WITHOUT_AN_IF),
)
own_make_loop = derive(make_loop, "own_make_loop", "The text of the course's.")
spread = own_make_loop(LoopSchedule(spread=True))
spread.__name__, spread.__doc__ = "spread", "Loads in the middle of a step, by helpers."

# 12.2 -----------------------------------------------------------------------------------------------------------


def rounded_by_thread(sm, smem_bytes, registers, threads):
    """Registers of a thread rounded up to 8, which is the same; divmod, a list."""
    limits = [sm.blocks, divmod(sm.threads, threads)[0], sm.shared // (sm.reserved + smem_bytes)]
    of_a_thread = math.ceil(registers / (sm.register_unit // 32)) * (sm.register_unit // 32)
    warps = sm.partitions * (sm.registers // sm.partitions // (of_a_thread * 32))
    limits.append(warps // (threads // 32))
    return sorted(limits)[0]


def by_numpy(sm, smem_bytes, registers, threads):
    """NumPy's integers, and its min."""
    unit = np.int64(sm.register_unit)
    of_a_warp = (32 * registers + unit - 1) // unit * unit
    warps = sm.registers // sm.partitions // of_a_warp * sm.partitions
    have = np.array([sm.shared, warps, sm.threads, sm.blocks])
    return np.min(have // np.array([smem_bytes + sm.reserved, threads // 32, threads, 1]))


def one_block_after_the_other(sm, smem_bytes, registers, threads):
    """Puts blocks on it until one does not fit."""
    blocks = 0
    of_a_warp = -(-32 * registers // sm.register_unit) * sm.register_unit
    while True:
        n = blocks + 1
        warps = -(-n * threads // 32 // sm.partitions)  # of the fullest partition
        fits = n * (smem_bytes + sm.reserved) <= sm.shared and warps * of_a_warp <= sm.registers // sm.partitions
        if not fits or n * threads > sm.threads or n > sm.blocks:
            return blocks
        blocks = n


# 12.5 -----------------------------------------------------------------------------------------------------------


def by_bits(lane):
    """The lane's five bits: two number the matrix, three its row."""
    upper_k, lower_m, row = lane >> 4, lane >> 3 & 1, lane & 7
    return [lower_m << 3, upper_k << 3 | row]


def by_arrays(lane):
    """NumPy's unravel_index."""
    upper_k, lower_m, row = np.unravel_index(lane, (2, 2, 8))
    return np.array([8 * lower_m, 8 * upper_k + row])


def by_torch(lane):
    """A vector of torch."""
    return torch.tensor([lane // 8 % 2 * 8, lane // 16 * 8 + lane % 8])


def from_a_list(lane):
    """All addresses, matrix by matrix."""
    return [(m, k + row) for k in (0, 8) for m in (0, 8) for row in range(8)][lane]


RIGHT = {
    "12.1": [drains_at_the_end, by_remainders, two_groups, without_an_if, spread],
    "12.2": [rounded_by_thread, by_numpy, one_block_after_the_other],
    "12.3": [
        answer(
            "numpy_numbers",
            "NumPy's integers, in lists",
            lambda: GemmConfig(list(np.array([128, 256, 32])), [2, 4], np.int8(4)),
        ),
        answer("transposed", "256 rows", lambda: GemmConfig((256, 128, 32), warps=(4, 2), stages=4)),
        answer("more_than_an_a100_has", "192 KiB of shared memory", lambda: GemmConfig((128, 256, 64), (2, 4), 4)),
    ],
    "12.4": RIGHT_RUNGS,
    "12.5": [by_bits, by_arrays, by_torch, from_a_list],
    "12.6": RIGHT_WHOLE,
}
