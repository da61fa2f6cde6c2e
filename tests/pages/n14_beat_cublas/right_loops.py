"""Unusual right loops for notebook 14's two roles."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warpgroup
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tests.checking.rehearsing import unusual

# 14.1 -----------------------------------------------------------------------------------------------------------


@cute.jit
def counts_by_itself(steps):
    """No pipeline state: index and phase from the K tile's number; expect_tx and arrive apart."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage, turn = k_tile % steps.stages, k_tile // steps.stages
        cute.arch.mbarrier_wait(steps.empty + stage, (turn & 1) ^ 1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_expect_tx(steps.full + stage, steps.stage_bytes)
            cute.arch.mbarrier_arrive(steps.full + stage)
        steps.load(k_tile, stage)


@cute.jit
def backwards_and_polling(steps):
    """From the last K tile to the first, which a sum does not mind; a loop asks the barrier again and again."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.k_tiles, unroll=1):
        complete = cute.arch.mbarrier_try_wait(steps.empty + state.index, state.phase)
        while not complete:
            complete = cute.arch.mbarrier_try_wait(steps.empty + state.index, state.phase)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, bytes=steps.stage_bytes)
        steps.load(steps.k_tiles - 1 - number, state.index)
        state.advance()


@cute.jit
def one_lane_waits(steps):
    """The elected lane waits alone; the others wait for it where the load elects its lane."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        with cute.arch.elect_one():
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(k_tile, state.index)
        state.advance()


# 14.2 -----------------------------------------------------------------------------------------------------------


@cute.jit
def keeps_the_last_stage(steps):
    """What nobody waits for need not be told: the last stages are never freed."""
    cute.arch.mbarrier_wait(steps.full, 0)
    warpgroup.fence()
    steps.multiply(0, True)
    warpgroup.commit_group()
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        cute.arch.mbarrier_wait(steps.full + stage, k_tile // steps.stages & 1)
        warpgroup.fence()
        steps.multiply(stage, False)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + (k_tile - 1) % steps.stages)
    warpgroup.wait_group(0)


@cute.jit
def step(steps, state, first: cutlass.Constexpr):
    """Helper: one K tile's wgmmas as a group."""
    cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
    warpgroup.fence()
    steps.multiply(state.index, first)
    warpgroup.commit_group()


@cute.jit
def free(steps, stage):
    """Helper: an arrival of each warp."""
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive(mbar_ptr=steps.empty + stage)


@cute.jit
def in_helpers(steps):
    """Two helpers of its own; the stage that is freed has a state of its own."""
    read = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    done = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    step(steps, read, True)
    read.advance()
    for _ in cutlass.range(1, steps.k_tiles, unroll=1):
        step(steps, read, False)
        warpgroup.wait_group(1)
        free(steps, done.index)
        read.advance()
        done.advance()
    warpgroup.wait_group(0)


RIGHT = {
    "14.1": [
        counts_by_itself,
        unusual.fills_first,
        unusual.by_lane,
        unusual.by_lowest_lane,
        unusual.by_thread,
        unusual.by_converted_lane,
        unusual.a_while_loop,
        unusual.loads_before_it_expects,
        backwards_and_polling,
        one_lane_waits,
    ],
    "14.2": [keeps_the_last_stage, in_helpers, unusual.a_peeled_last_step],
}
