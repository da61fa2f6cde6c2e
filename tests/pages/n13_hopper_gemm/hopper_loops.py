"""Main loops that are wrong and written in another way than notebook 13's; and answers that are none."""

import cutlass
from cutlass import cute
from cutlass.cute.arch import elect_one, mbarrier_arrive, mbarrier_arrive_and_expect_tx, mbarrier_wait
from cutlass.cute.nvgpu import warpgroup
from cutlass.cute.nvgpu.warpgroup import wait_group

from tests.pages.change import copy_of
from tests.pages.table import says
from tutorlib.kernels.hopper import first_parts
from tutorlib.kernels.hopper.first_parts import main_loop

OWN = copy_of(first_parts)  # as if it were the reader's


@says("the course's main_loop")
@cute.jit
def the_courses_loop(steps):
    """Leans on the course's own."""
    main_loop(steps)


@says("the course's fill_stage")
@cute.jit
def the_courses_fill(steps):
    """Leans on the course's own for its first part."""
    if steps.loads_too:
        first_parts.fill_stage(steps, 0, 0)


def not_compiled(steps):
    """No @cute.jit."""
    OWN.main_loop(steps)


@cute.jit
def release(steps, k_tile):
    """One lane of each warp says that a K tile's stage has been read."""
    with elect_one():
        mbarrier_arrive(steps.empty + k_tile % steps.stages)


@cute.jit
def send(steps, k_tile):
    with elect_one():
        mbarrier_arrive_and_expect_tx(steps.full + k_tile % steps.stages, steps.stage_bytes)
    steps.load(k_tile, k_tile % steps.stages)


@cute.jit
def fill_ring(steps):
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            send(steps, k_tile)


@cute.jit
def multiply_alone(steps, k_tile):
    """A K tile's wgmma, and a wait until it is over."""
    stage = k_tile % steps.stages
    mbarrier_wait(steps.full + stage, k_tile // steps.stages % 2)
    steps.multiply(stage, k_tile == 0)
    wait_group(0)


@cute.jit
def helpers_that_free_too_early(steps):
    """Frees this K tile's stage and not that of the one before: its wgmma has only just begun."""
    fill_ring(steps)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        mbarrier_wait(steps.full + k_tile % steps.stages, k_tile // steps.stages % 2)
        steps.multiply(k_tile % steps.stages, k_tile == 0)
        wait_group(1)
        release(steps, k_tile)
        if steps.loads_too and k_tile + steps.stages < steps.k_tiles:
            mbarrier_wait(steps.empty + k_tile % steps.stages, k_tile // steps.stages % 2)
            send(steps, k_tile + steps.stages)
    wait_group(0)


helpers_that_free_too_early.says = ("while the wgmma of K tile 0 may still read it", "`mbarrier_arrive(steps.empty")


@cute.jit
def polls_for_the_wrong_phase(steps):
    """A loop over try_wait that asks for the parity of the round before."""
    fill_ring(steps)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        while not cute.arch.mbarrier_try_wait(steps.full + stage, 1 - k_tile // steps.stages % 2):
            pass
        steps.multiply(stage, k_tile == 0)
        warpgroup.wait_group(0)


polls_for_the_wrong_phase.says = ("reads stage 0, where K tile 0 may not have landed yet", "was for phase 1")


@cute.jit
def deadlocks_at_a_barrier(steps):
    """The warp that loads waits for empty where the others wait at the block's barrier."""
    fill_ring(steps)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        multiply_alone(steps, k_tile)
        if steps.loads_too and k_tile + steps.stages < steps.k_tiles:
            mbarrier_wait(steps.empty + k_tile % steps.stages, k_tile // steps.stages % 2)
            send(steps, k_tile + steps.stages)
        cute.arch.sync_threads()
        release(steps, k_tile)


deadlocks_at_a_barrier.says = ("deadlock", "empty[0], which lacks all 8 arrivals", "at a barrier")


@cute.jit
def loads_when_it_likes(steps):
    """Sends for a tile while K tile 0 is multiplied: into its stage, after a wait for this warp's own wgmma alone."""
    fill_ring(steps)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        multiply_alone(steps, k_tile)
        if steps.loads_too and k_tile + steps.stages < steps.k_tiles:
            send(steps, k_tile + steps.stages)


loads_when_it_likes.says = ("K tile 2 overwrites K tile 0 in stage 0", "no wait for empty[0]")

OTHERWISE = [the_courses_loop, the_courses_fill, not_compiled, helpers_that_free_too_early, polls_for_the_wrong_phase]
OTHERWISE += [deadlocks_at_a_barrier, loads_when_it_likes]
