"""Unusual right answers to notebook 15's loops."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import tcgen05
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

from tests.pages.n15_blackwell_gemm import tensor_memory
from tests.pages.n15_blackwell_gemm.blackwell_loops import loops
from tutorlib.dsl.cute.instructions import fence_before
from tutorlib.kernels.blackwell.steps import TileSteps

# Producing --------------------------------------------------------------------------------------------------------


@cute.jit
def counts_by_itself(steps: TileSteps):
    """Index and phase by division; arrives and announces in two orders."""
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            step = number * steps.k_tiles + k_tile
            stage = step % steps.stages
            cute.arch.mbarrier_wait(steps.empty + stage, (step // steps.stages + 1) % 2)
            if steps.leads:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_expect_tx(steps.full + stage, steps.stage_bytes)
                    cute.arch.mbarrier_arrive(steps.full + stage)
            steps.load(number, k_tile, stage)


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


@cute.jit
def one_flat_loop(steps: TileSteps):
    """One loop over all K tiles of all tiles, with Python's range."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for step in range(steps.tiles * steps.k_tiles):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(step // steps.k_tiles, step % steps.k_tiles, state.index)
        state.advance()


@cute.jit
def index_and_phase(steps: TileSteps):
    """Two numbers in the place of a state, turned by hand."""
    stage = cutlass.Int32(0)
    phase = cutlass.Int32(1)
    for number in cutlass.range(steps.tiles, unroll=1):
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.empty + stage, phase)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
            steps.load(number, k_tile, stage)
            stage += 1
            if stage == steps.stages:
                stage = cutlass.Int32(0)
                phase = phase ^ 1


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


@cute.jit
def fill(steps: TileSteps, number: cutlass.Int32, k_tile: cutlass.Int32, state: PipelineState):
    cute.arch.mbarrier_wait(steps.empty + state.index, state.phase ^ 1)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
    steps.load(number, k_tile, state.index)


@cute.jit
def nested(steps: TileSteps):
    """Another jit function for a step; a consumer's state, whose other phase is waited for; while loops."""
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    number = cutlass.Int32(0)
    while number < steps.tiles:
        k_tile = cutlass.Int32(0)
        while k_tile < steps.k_tiles:
            fill(steps, number, k_tile, state)
            state.advance()
            k_tile += 1
        number += 1


# Multiplying ------------------------------------------------------------------------------------------------------


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


@cute.jit
def polls(steps: TileSteps):
    """Asks `full` until it says yes."""
    stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
    for _ in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            while not cute.arch.mbarrier_try_wait(steps.full + stage.index, stage.phase):
                pass
            steps.multiply(stage.index, acc.index, k_tile == 0)
            with cute.arch.elect_one():
                tcgen05.commit(steps.empty + stage.index)
            stage.advance()
        with cute.arch.elect_one():
            tcgen05.commit(steps.ready + acc.index)
        acc.advance()


@cute.jit
def first_one_apart(steps: TileSteps):
    """The first K tile stands before the loop: `first` is True there, and False in it."""
    stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
    for _ in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
        cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
        steps.multiply(stage.index, acc.index, True)
        with cute.arch.elect_one():
            tcgen05.commit(steps.empty + stage.index)
        stage.advance()
        for _ in cutlass.range(1, steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
            steps.multiply(stage.index, acc.index, False)
            with cute.arch.elect_one():
                tcgen05.commit(steps.empty + stage.index)
            stage.advance()
        with cute.arch.elect_one():
            tcgen05.commit(steps.ready + acc.index)
        acc.advance()


@cute.jit
def a_flag(steps: TileSteps):
    """`first` is a variable that the loop turns off; ready is told before empty."""
    stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
    for _ in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
        first = cutlass.Boolean(True)
        for k_tile in cutlass.range(steps.k_tiles, unroll=1):
            cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
            steps.multiply(stage.index, acc.index, first)
            first = cutlass.Boolean(False)
            with cute.arch.elect_one():
                if k_tile + 1 == steps.k_tiles:
                    tcgen05.commit(steps.ready + acc.index)
                tcgen05.commit(steps.empty + stage.index)
            stage.advance()
        acc.advance()


@cute.jit
def sum_up(steps: TileSteps, stage: PipelineState, into: cutlass.Int32):
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
        steps.multiply(stage.index, into, k_tile == 0)
        with cute.arch.elect_one():
            tcgen05.commit(steps.empty + stage.index)
        stage.advance()
    return stage


@cute.jit
def helper_for_a_tile(steps: TileSteps):
    """A jit function accumulates one tile and returns its state."""
    stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
    for _ in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
        stage = sum_up(steps, stage, acc.index)
        with cute.arch.elect_one():
            tcgen05.commit(steps.ready + acc.index)
        acc.advance()


# Storing ----------------------------------------------------------------------------------------------------------


@cute.jit
def backwards(steps: TileSteps):
    """The last part first; counts by itself."""
    for number in cutlass.range(steps.tiles, unroll=1):
        at = number % steps.accumulators
        cute.arch.mbarrier_wait(steps.ready + at, number // steps.accumulators % 2)
        for done in cutlass.range(steps.parts, unroll=1):
            part = steps.parts - 1 - done
            steps.read(at, part)
            cute.arch.fence_view_async_tmem_load()
            if part == 0:
                cute.arch.sync_warp()
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + at)
            steps.write(number, part)


@cute.jit
def unrolled_parts(steps: TileSteps):
    """The parts are known when it is compiled: a loop that is unrolled, and a branch that is decided."""
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
        for part in cutlass.range_constexpr(steps.parts):
            steps.read(acc.index, part)
            cute.arch.fence_view_async_tmem_load()
            if cutlass.const_expr(part == steps.parts - 1):
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + acc.index)
            steps.write(number, part)
        acc.advance()


@cute.jit
def last_one_apart(steps: TileSteps):
    """The last part stands behind the loop, with the arrival, and the state goes on before the write."""
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
        for part in cutlass.range(steps.parts - 1, unroll=1):
            steps.read(acc.index, part)
            cute.arch.fence_view_async_tmem_load()
            steps.write(number, part)
        steps.read(acc.index, steps.parts - 1)
        cute.arch.fence_view_async_tmem_load()
        fence_before()
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.free + acc.index)
        acc.advance()
        steps.write(number, steps.parts - 1)


@cute.jit
def freed_by_lane_0(steps: TileSteps):
    """A helper with a branch for one lane."""
    acc = make_pipeline_state(PipelineUserType.Consumer, steps.accumulators)
    for number in cutlass.range(steps.tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.ready + acc.index, acc.phase)
        for part in cutlass.range_constexpr(steps.parts):
            take(steps, acc.index, part)
            if cutlass.const_expr(part == steps.parts - 1):
                free_by_lane_0(steps.free + acc.index)
            steps.write(number, part)
        acc.advance()


@cute.jit
def free_by_lane_0(free: cute.Pointer):
    lane = cute.arch.lane_idx()
    fence_before()
    if lane == 0:
        cute.arch.mbarrier_arrive(free)


@cute.jit
def take(steps: TileSteps, accumulator: cutlass.Int32, part: cutlass.Int32):
    steps.read(accumulator, part)
    cute.arch.fence_view_async_tmem_load()


@cute.jit
def polls_ready(steps: TileSteps):
    """Asks `ready` until it says yes; a jit function reads and waits; its loop counts by itself."""
    index = cutlass.Int32(0)
    phase = cutlass.Int32(0)
    for number in range(steps.tiles):
        while not cute.arch.mbarrier_try_wait(steps.ready + index, phase):
            pass
        for part in range(steps.parts):
            take(steps, index, part)
            if part + 1 == steps.parts:
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + index)
            steps.write(number, part)
        index += 1
        if index == steps.accumulators:
            index = cutlass.Int32(0)
            phase ^= 1


# Pairs ------------------------------------------------------------------------------------------------------------


@cute.jit
def pair_multiply_flat(steps: TileSteps):
    """Every K tile of every tile in one loop; the masks by hand."""
    if steps.leads:
        stage = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
        acc = make_pipeline_state(PipelineUserType.Producer, steps.accumulators)
        for step in cutlass.range(steps.tiles * steps.k_tiles, unroll=1):
            k_tile = step % steps.k_tiles
            if k_tile == 0:
                cute.arch.mbarrier_wait(steps.free + acc.index, acc.phase)
            cute.arch.mbarrier_wait(steps.full + stage.index, stage.phase)
            steps.multiply(stage.index, acc.index, k_tile == 0)
            with cute.arch.elect_one():
                tcgen05.commit(
                    steps.empty + stage.index, mask=cutlass.Int16(0b11 << steps.leader), cta_group=tcgen05.CtaGroup.TWO
                )
            stage.advance()
            if k_tile == steps.k_tiles - 1:
                with cute.arch.elect_one():
                    tcgen05.commit(
                        steps.ready + acc.index,
                        mask=cutlass.Int16(0b11 << steps.leader),
                        cta_group=tcgen05.CtaGroup.TWO,
                    )
                acc.advance()


@cute.jit
def pair_store_by_hand(steps: TileSteps):
    """Counts by itself; the leader's rank from the mask."""
    for number in cutlass.range(steps.tiles, unroll=1):
        at = number % steps.accumulators
        cute.arch.mbarrier_wait(steps.ready + at, (number // steps.accumulators) & 1)
        for part in cutlass.range_constexpr(steps.parts):
            steps.read(at, part)
            cute.arch.fence_view_async_tmem_load()
            if cutlass.const_expr(part + 1 == steps.parts):
                fence_before()
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive(steps.free + at, steps.both // 3 // 2)
            steps.write(number, part)


@cute.jit
def announces_beforehand(steps: TileSteps):
    """A branch for each block, and each with loops of its own."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    if steps.leads:
        for number in cutlass.range(steps.tiles, unroll=1):
            for k_tile in cutlass.range(steps.k_tiles, unroll=1):
                cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
                steps.load(number, k_tile, state.index)
                state.advance()
    else:
        for number in cutlass.range(steps.tiles, unroll=1):
            for k_tile in cutlass.range(steps.k_tiles, unroll=1):
                cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
                steps.load(number, k_tile, state.index)
                state.advance()


RIGHT = {
    "15.3": tensor_memory.RIGHT,
    "15.4": (by_lane_0, counts_by_itself, loads_first, one_flat_loop, index_and_phase, nested),
    "15.5": (commits_in_the_loop, polls, first_one_apart, a_flag, helper_for_a_tile),
    "15.6": (freed_by_lane_0, backwards, unrolled_parts, last_one_apart, polls_ready),
    "15.8": (
        loops("counting", "its own count of stages", produce=counts_by_itself),
        loops("announcing_late", "the bytes are announced when they are on their way", produce=loads_first),
        loops(
            "by_hand",
            "the mask from the rank, the rank from the mask",
            multiply=pair_multiply_flat,
            store=pair_store_by_hand,
        ),
        loops("lane_0", "a branch for lane 0 in place of elect_one", produce=by_lane_0),
        loops("two_branches", "each block has loops of its own", produce=announces_beforehand),
    ),
}
