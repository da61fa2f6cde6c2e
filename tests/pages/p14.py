"""Page 14: answers that are whole functions, and what rows of p14.txt are made of."""

import cutlass
from cutlass import BFloat16, cute
from cutlass.cute.arch import elect_one, mbarrier_arrive, mbarrier_wait
from cutlass.cute.nvgpu import warpgroup
from cutlass.cute.nvgpu.warpgroup import wait_group

from tests.pages.change import copy_of
from tests.pages.table import right, wrong
from tutorlib.kernels.hopper import first
from tutorlib.kernels.hopper.config import HopperConfig
from tutorlib.kernels.hopper.first import Accumulators, fill_stage, main_loop, multiply, one_stage, store_by_tma
from tutorlib.kernels.ladder import LADDER

OWN = copy_of(first)  # as if it were the reader's


@wrong("14.2", "library")
@cute.jit
def the_courses_loop(steps):
    """Leans on the course's own."""
    main_loop(steps)


@wrong("14.2", "not jit")
def not_compiled(steps):
    """No @cute.jit."""
    OWN.main_loop(steps)


@right("14.3")
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


@right("14.1")
@cute.jit
def all_at_once(tiled_mma, tCrA, tCrB, tCrC, adds):
    """One cute.gemm, which loops over the K blocks and lets all but the first add."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    cute.gemm(tiled_mma, tCrC, tCrA, tCrB, tCrC)
    warpgroup.commit_group()


@right("14.2")
@cute.jit
def counts_by_itself(steps):
    """No PipelineState: a step's stage is its remainder, its round the quotient."""
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill_stage(steps, k_tile, k_tile)
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
            fill_stage(steps, k_tile - 1 + steps.stages, last)
    warpgroup.wait_group(0)


@wrong("14.1", "library")
def the_courses_multiply(tiled_mma, tCrA, tCrB, tCrC, adds):
    """Leans on the course's own."""
    multiply(tiled_mma, tCrA, tCrB, tCrC, adds)


@wrong("14.1", "wrong elements")
@cute.jit
def the_colleagues(tiled_mma, tCrA, tCrB, tCrC, adds):
    """As the page prints it: `adds` for all K blocks, a group for each, and a wait."""
    tiled_mma.set(warpgroup.Field.ACCUMULATE, adds)
    for k_block in cutlass.range_constexpr(cute.size(tCrA, mode=[2])):
        warpgroup.fence()
        cute.gemm(tiled_mma, tCrC, tCrA[None, None, k_block], tCrB[None, None, k_block], tCrC)
        warpgroup.commit_group()
    warpgroup.wait_group(0)


@wrong("14.1", "lacks")
def issues_nothing(tiled_mma, tCrA, tCrB, tCrC, adds):
    """A fence and a commit, with no wgmma between them."""
    warpgroup.fence()
    warpgroup.commit_group()


@wrong("14.3", "lacks", lesson=True)
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


@wrong("14.3", "library")
@cute.jit
def the_courses_epilogue(acc: Accumulators):
    """Leans on the course's own."""
    store_by_tma(acc)


FIRST = copy_of(first)  # as if it were the reader's


@wrong("14.4", "does not compile, launches nothing")
@cute.jit
def launches_nothing(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """No kernel."""
