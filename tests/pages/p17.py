"""Page 17: answers that are whole functions, and what rows of p17.txt are made of."""

import cutlass
from cutlass import Float32, Int32, cute
from cutlass.cute.nvgpu import tcgen05
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tests.pages.change import copy_of
from tests.pages.table import base_of, right, wrong
from tutorlib.kernels.blackwell import parts
from tutorlib.kernels.blackwell.parts import TileSteps

OWN = copy_of(parts)  # as if they were the reader's
produce_tiles, multiply_tiles = OWN.produce_tiles, OWN.multiply_tiles


@cute.jit
def by_warp_0(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    """Relinquishes after the barrier, which comes twice."""
    if warp == 0:
        cute.arch.alloc_tmem(columns, address)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)


@cute.jit
def by_warp_5(warp: Int32, columns: cutlass.Constexpr, acc: cute.Pointer):
    cute.arch.barrier()
    if warp == 5:
        cute.arch.dealloc_tmem(acc, columns)


@cute.jit
def named_barrier(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    """Another warp gives up the right to allocate."""
    if warp == 4:
        cute.arch.alloc_tmem(columns, address)
    cute.arch.barrier(barrier_id=1, number_of_threads=192)
    if warp == 5:
        cute.arch.relinquish_tmem_alloc_permit()
    return cute.arch.retrieve_tmem_ptr(Float32, 16, address)


@cute.jit
def take_columns(warp: Int32, of: cutlass.Constexpr, columns: cutlass.Constexpr, address: cute.Pointer):
    if warp == of:
        cute.arch.alloc_tmem(columns, address)
        cute.arch.relinquish_tmem_alloc_permit()


@cute.jit
def in_helpers(warp: Int32, columns: cutlass.Constexpr, address: cute.Pointer):
    take_columns(warp, 4, columns, address)
    cute.arch.sync_threads()
    acc = cute.arch.retrieve_tmem_ptr(Float32, 16, address)
    return acc


@cute.jit
def last_reads(steps: TileSteps, state: PipelineState):
    for _ in cutlass.range(steps.stages, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        state.advance()


@right("17.2")
@cute.jit
def loads_first(steps: TileSteps):
    """Announces after it has sent: a phase can lack an arrival when its bytes are there."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            steps.load(number, k_tile, state.index)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            state.advance()
    last_reads(steps, state)


@right("17.2")
@cute.jit
def by_lane_0(steps: TileSteps):
    """A branch for one lane, and a first look at the mbarrier before it waits."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            if not cute.arch.mbarrier_try_wait(steps.empty + state.index, state.phase):
                cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            if cute.arch.lane_idx() == 0 and steps.leads:
                cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()
    last_reads(steps, state)


@right("17.3")
@cute.jit
def commits_in_the_loop(steps: TileSteps):
    """Tells `ready` inside the K loop, behind the last multiplication; one flat count of stages."""
    stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        into = number % steps.accumulators
        cute.arch.mbarrier_wait(steps.free + into, (number // steps.accumulators + 1) % 2)
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
            steps.multiply(stage.index, into, k_tile < 1)
            with cute.arch.elect_one():
                tcgen05.commit(steps.empty + stage.index)
                if k_tile == steps.k_tiles - 1:
                    tcgen05.commit(steps.ready + into)
            stage.advance()


allocate_release = base_of(parts.allocate, parts.release)
multiply = base_of(multiply_tiles)
