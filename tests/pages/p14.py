"""Page 14: answers that are whole functions, and what rows of p14.txt are made of."""

import cutlass
import numpy as np
from cutlass import BFloat16, Float32, Int32, cute
from cutlass.cute.arch import elect_one, mbarrier_arrive, mbarrier_wait
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.nvgpu.warpgroup import SmemLayoutAtomKind, wait_group

from tests.pages.change import copy_of
from tests.pages.table import right, wrong
from tutorlib.exercises import p14
from tutorlib.kernels.hopper import first
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.first import (
    Accumulators,
    boxes,
    init_barriers,
    main_loop,
    multiply,
    one_stage,
    ring_layout,
    store_by_tma,
    wgmma_fragments,
)
from tutorlib.kernels.hopper.pipeline import smem_layout
from tutorlib.kernels.hopper.specialized import load_steps, make_specialized, multiply_steps
from tutorlib.kernels.ladder import LADDER

OWN = copy_of(first)  # as if it were the reader's


@wrong("14.6", "library")
@cute.jit
def the_courses_loop(steps):
    """Leans on the course's own."""
    main_loop(steps)


@wrong("14.6", "not jit")
def not_compiled(steps):
    """No @cute.jit."""
    OWN.main_loop(steps)


@right("14.1")
def clipped_by_numpy(shape, tile, place):
    """NumPy's integers, and its clip; bits over 8."""
    size, step, at = map(np.array, (shape, tile, place))
    return np.clip(size - step * at, 0, step).prod() * 16 // 8, np.prod(step) << 1


@right("14.5")
def by_numpy(step, stages, producer):
    """NumPy's divmod, and &."""
    turn, index = np.divmod(np.int32(step), np.int32(stages))
    return index, turn & 1 ^ np.int32(producer)


@right("14.7")
@cute.jit
def one_lane_sends(acc: Accumulators):
    """elect_one around the copy; meets first and rounds then; a fence of all that is asynchronous."""
    cute.arch.barrier()
    rounded = acc.tCrC.load().to(BFloat16)
    acc.tRrC.store(rounded)
    cute.copy(acc.stmatrix, acc.tRrC, acc.tRsC)
    cute.arch.fence_proxy("async")
    cute.arch.sync_warp()
    with cute.arch.elect_one():
        cute.copy(acc.tma, acc.tSsC, acc.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@right("14.2")
@cute.jit
def all_at_once(tiled_mma, tCrA, tCrB, tCrC, adds):
    """One cute.gemm, which loops over the K blocks and lets all but the first add."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    cute.gemm(tiled_mma, tCrC, tCrA, tCrB, tCrC)
    warpgroup.commit_group()


@right("14.3")
@cute.jit
def a_thread_for_each_stage(full, empty, stages: cutlass.Constexpr, warps: cutlass.Constexpr, thread):
    """Each stage's thread initializes its two mbarriers, and fences its own."""
    if thread < stages:
        cute.arch.mbarrier_init(full + thread, 1)
        cute.arch.mbarrier_init(empty + thread, warps)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()


def fill(steps, k_tile, stage):
    """As on the page."""
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
    steps.load(k_tile, stage)


@right("14.6")
@cute.jit
def counts_by_itself(steps):
    """No PipelineState: a step's stage is its remainder, its round the quotient."""
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill(steps, k_tile, k_tile)
    cute.arch.mbarrier_wait(steps.full, 0)
    steps.multiply(0, True)
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        stage, phase = k_tile % steps.stages, k_tile // steps.stages % 2
        cute.arch.mbarrier_wait(steps.full + stage, phase)
        steps.multiply(stage, False)
        warpgroup.wait_group(1)
        last, over = (k_tile - 1) % steps.stages, (k_tile - 1) // steps.stages % 2
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + last)
        if steps.loads_too and k_tile - 1 + steps.stages < steps.k_tiles:
            cute.arch.mbarrier_wait(steps.empty + last, over)
            fill(steps, k_tile - 1 + steps.stages, last)
    warpgroup.wait_group(0)


def in_parts(steps, k_tile, stage):
    steps.load(k_tile=k_tile, stage=stage)
    with elect_one():
        for part in (steps.stage_bytes // 3, steps.stage_bytes - steps.stage_bytes // 3):
            cute.arch.mbarrier_expect_tx(steps.full + stage, part)
        mbarrier_arrive(steps.full + stage)


@right("14.4")
@cute.jit
def frees_by_empty(steps):
    """An `empty` mbarrier in place of the block's barrier."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        if steps.loads_too:
            mbarrier_wait(steps.empty, (k_tile + 1) % 2)
            fill(steps, k_tile, 0)
        mbarrier_wait(steps.full, k_tile & 1)
        steps.multiply(0, k_tile == 0)
        wait_group(0)
        with elect_one():
            mbarrier_arrive(steps.empty)


@cute.jit
def alone(steps, k_tile, first):
    if steps.loads_too:
        in_parts(steps, k_tile, 0)
    mbarrier_wait(steps.full, k_tile % 2)
    steps.multiply(0, first)
    wait_group(0)
    cute.arch.sync_threads()


@wrong("14.2", "library")
def the_courses_multiply(tiled_mma, tCrA, tCrB, tCrC, adds):
    """Leans on the course's own."""
    multiply(tiled_mma, tCrA, tCrB, tCrC, adds)


@wrong("14.2", "lacks")
def issues_nothing(tiled_mma, tCrA, tCrB, tCrC, adds):
    """A fence and a commit, with no wgmma between them."""
    warpgroup.fence()
    warpgroup.commit_group()


@wrong("14.3", "library")
@cute.jit
def the_courses_init(full, empty, stages, warps, thread):
    """Leans on the course's own."""
    init_barriers(full, empty, stages, warps, thread)


@wrong("14.4", "library")
@cute.jit
def the_courses_one_stage(steps):
    """Leans on the course's own."""
    one_stage(steps)


@wrong("14.7", "lacks", lesson=True)
@cute.jit
def vectors(acc: Accumulators):
    """Ordinary stores to shared memory."""
    acc.tRrC.store(acc.tCrC.load().to(BFloat16))
    cute.arch.sync_threads()
    cute.autovec_copy(acc.tRrC, acc.tRsC)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(acc.tma, acc.tSsC, acc.tSgC)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@wrong("14.7", "library")
@cute.jit
def the_courses_epilogue(acc: Accumulators):
    """Leans on the course's own."""
    store_by_tma(acc)


FIRST = copy_of(first)  # as if it were the reader's


@wrong("14.8", "does not compile, launches nothing")
@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""


RIGHT_ONES = copy_of(p14)
right_bytes, right_ring = RIGHT_ONES.tma_bytes, RIGHT_ONES.ring
