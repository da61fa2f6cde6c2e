"""Unusual right answers to notebook 10."""

from fractions import Fraction

import cutlass
import numpy as np
from cutlass import cute

from tests.pages.change import derive, swap
from tests.pages.table import answer
from tutorlib.course.answers import load_answers
from tutorlib.kernels.ampere.main_loops import multistage
from tutorlib.kernels.ampere.thread_share import Steps

SOLVED = load_answers("10_double_buffer")
DOUBLE, PIPELINE = SOLVED["10.2"], SOLVED["10.3"]


@cute.jit
def wait_for_it():
    """All copies have arrived, those of all threads."""
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()


@cute.jit
def in_pairs(steps: Steps, buffer: cutlass.Int32):
    """The arithmetic of a tile."""
    for k_block in cutlass.range_constexpr(steps.k_blocks):
        steps.fetch(k_block, buffer)
        steps.multiply(k_block)


@cute.jit
def with_typed_helpers(steps: Steps):
    """Waits and multiplies in helpers of its own, one of them typed; commits inside the `if`."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        wait_for_it()
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
            cute.arch.cp_async_commit_group()
        in_pairs(steps, k_tile % 2)


@cute.jit
def last_tile_apart(steps: Steps):
    """The loop stops one short, and the last tile is multiplied after it; A and B are loaded by separate calls."""
    steps.a.load(0, 0)
    steps.b.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in cutlass.range(steps.k_tiles - 1, unroll=1):
        wait_for_it()
        steps.a.load(k_tile + 1, 1 - k_tile % 2)
        steps.b.load(k_tile + 1, 1 - k_tile % 2)
        cute.arch.cp_async_commit_group()
        in_pairs(steps, k_tile % 2)
    wait_for_it()
    in_pairs(steps, (steps.k_tiles - 1) % 2)


@cute.jit
def sends_again(steps: Steps):
    """No condition: in the last step the last tile is loaded again, into a buffer that is never read."""
    last = steps.k_tiles - 1
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        wait_for_it()
        steps.load(cutlass.min(k_tile + 1, last), (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        in_pairs(steps, k_tile % 2)


@cute.jit
def two_blocks_ahead(steps: Steps):
    """Registers of three K blocks: they fit."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    wait_for_it()
    steps.fetch(0, 0)
    steps.fetch(1, 0)
    for k_tile in range(steps.k_tiles):
        if k_tile + 1 < steps.k_tiles:
            steps.load(k_tile + 1, (k_tile + 1) % 2)
        cute.arch.cp_async_commit_group()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            if cutlass.const_expr(k_block + 2 == steps.k_blocks):
                wait_for_it()
            if cutlass.const_expr(k_block + 2 < steps.k_blocks):
                steps.fetch(k_block + 2, k_tile % 2)
            else:
                steps.fetch(k_block + 2 - steps.k_blocks, (k_tile + 1) % 2)
            steps.multiply(k_block)


@cute.jit
def loads_after_a_block(steps: Steps):
    """Issues the next load behind the first K block."""
    steps.load(0, 0)
    cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        wait_for_it()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)
            if cutlass.const_expr(k_block == 0):
                if k_tile + 1 < steps.k_tiles:
                    steps.load(k_tile + 1, (k_tile + 1) % 2)
                cute.arch.cp_async_commit_group()


RIGHT = {
    "10.1": [
        answer("an_integer", "max of integers and a float.", lambda s, w, t, c: max(c, t, (w + t + c) / s)),
        answer("by_numpy", "NumPy's numbers.", lambda s, w, t, c: np.max([c, t, (w + t + c) / s])),
        answer("in_fp32", "As exact as fp32.", lambda s, w, t, c: np.max(np.float32([c, t, (w + t + c) / s]))),
        answer("by_fractions", "An exact fraction.", lambda s, w, t, c: max(Fraction(w + t + c, s), c, t)),
        answer("part_by_part", "Accumulators of quotients.", lambda s, w, t, c: max(c, t, w / s + t / s + c / s)),
    ],
    "10.2": [with_typed_helpers, last_tile_apart, sends_again, loads_after_a_block],
    "10.3": [
        two_blocks_ahead,
        derive(multistage, "any_number_of_stages", "Notebook 12's loop."),
        derive(
            PIPELINE,
            "by_the_remainder",
            "k % 2 in place of a variable that turns over.",
            swap("    read = 0\n", ""),
            swap("steps.load(k_tile + 1, 1 - read)", "steps.load(k_tile + 1, (k_tile + 1) % 2)"),
            swap("                read = 1 - read\n", ""),
            swap("steps.fetch(k_block + 1, read)", "steps.fetch(k_block + 1, k_tile % 2)"),
            swap("steps.fetch(0, read)", "steps.fetch(0, (k_tile + 1) % 2)"),
        ),
        derive(
            PIPELINE,
            "empty_group_left_out",
            "Commits inside the `if`: with wait_group(0) that is as good.",
            swap("1 - read)\n        cute.arch", "1 - read)\n            cute.arch"),
        ),
    ],
}
