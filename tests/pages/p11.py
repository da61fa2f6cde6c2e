"""Page 11: answers that are whole functions, and what rows of p11.txt are made of."""

from fractions import Fraction

import cutlass
from cutlass import cute

from tests.pages.table import base_of, right, solved, wrong
from tutorlib.kernels.ampere import main_loops
from tutorlib.kernels.ampere.thread_share import Steps
from tutorlib.models.timelines import Timeline


def rounds(latency, transfer, compute, barriers):
    """A buffer's round."""
    return latency + transfer + compute * (barriers == 2)


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


@right("11.2")
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


@right("11.2")
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


@right("11.2")
@cute.jit
def refilled_at_once(steps: Steps):
    """Two barriers a tile: the second frees the buffer of the tile just multiplied."""
    for k_tile in cutlass.range_constexpr(2):
        if cutlass.const_expr(k_tile < steps.k_tiles):
            steps.load(k_tile, k_tile)
        cute.arch.cp_async_commit_group()
    for k_tile in range(steps.k_tiles):
        cute.arch.cp_async_wait_group(1)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, k_tile % 2)
            steps.multiply(k_block)
        cute.arch.sync_threads()
        if k_tile + 2 < steps.k_tiles:
            steps.load(k_tile + 2, k_tile % 2)
        cute.arch.cp_async_commit_group()


@wrong("11.2", "no copies in flight", lesson=True)
@wrong("11.3", "no copies in flight", lesson=True)
@cute.jit
def waits_at_once(steps: Steps):
    for k_tile in range(steps.k_tiles):
        buffer = k_tile % steps.stages
        steps.load(k_tile, buffer)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k_block in cutlass.range_constexpr(steps.k_blocks):
            steps.fetch(k_block, buffer)
            steps.multiply(k_block)


multistage, at_once = base_of(main_loops.multistage), base_of(refilled_at_once)
