"""The three loops of the Blackwell kernel, one for each role, for a block alone and for a pair."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import tcgen05
from cutlass.pipeline import PipelineUserType, make_pipeline_state

from tutorlib.dsl.cute.instructions import fence_before
from tutorlib.kernels.blackwell.steps import TileSteps


@cute.jit
def produce_tiles(steps: TileSteps) -> None:
    """The TMA warp: fill every stage as soon as it is empty, tile after tile."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
            steps.load(number, k_tile, state.index)
            state.advance()


@cute.jit
def multiply_tiles(steps: TileSteps) -> None:
    """The leading block's MMA warp: one tile after the other, each in the next accumulator."""
    if steps.leads:
        stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
        acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
        for _ in cutlass.range(steps.tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
            for k_tile in cutlass.range(steps.k_tiles, unroll=1):
                cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
                steps.multiply(stage.index, acc.index, k_tile == 0)
                commit_to(steps, steps.empty + stage.index, steps.whole_cluster)
                stage.advance()
            commit_to(steps, steps.ready + acc.index, steps.both)
            acc.advance()


@cute.jit
def commit_to(steps: TileSteps, barrier: cute.Pointer, blocks: cutlass.Int16) -> None:
    """An arrival at this mbarrier in each of these blocks, when everything issued so far is complete."""
    with cute.arch.elect_one():
        if cutlass.const_expr(steps.config.pair):
            tcgen05.commit(barrier, blocks, tcgen05.CtaGroup.TWO)
        else:
            tcgen05.commit(barrier)


@cute.jit
def store_tiles(steps: TileSteps) -> None:
    """An epilogue warp: read and write its 32 lanes of each accumulator, part by part."""
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
        for part in cutlass.range(steps.parts, unroll=1):
            steps.read(acc.index, part)
            cute.arch.fence_view_async_tmem_load()
            if part == steps.parts - 1:
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index, steps.leader)
            steps.write(number, part)
        acc.advance()
