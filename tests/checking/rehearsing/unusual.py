"""Loops that are right and written in another way than the course's."""

import cutlass
from cutlass import Int32, cute
from cutlass.cute.arch import elect_one, mbarrier_arrive, mbarrier_arrive_and_expect_tx, mbarrier_wait
from cutlass.cute.nvgpu import warpgroup
from cutlass.cute.nvgpu.warpgroup import commit_group, fence, wait_group
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state

# Loads ----------------------------------------------------------------------------------------------------------


@cute.jit
def load(steps, k_tile, stage):
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
    steps.load(k_tile, stage)


@cute.jit
def counts_itself(steps):
    """Stage and phase from the K tile's number; the first round does not wait."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        if k_tile >= steps.stages:
            cute.arch.mbarrier_wait(steps.empty + stage, (k_tile // steps.stages - 1) & 1)
        load(steps, k_tile, stage)


@cute.jit
def a_while_loop(steps):
    """A while loop, a phase that is flipped by hand, names imported one by one."""
    k_tile, stage, phase = 0, 0, 1
    while k_tile < steps.k_tiles:
        mbarrier_wait(steps.empty + stage, phase)
        with elect_one():
            mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
        steps.load(k_tile, stage)
        k_tile += 1
        stage += 1
        if stage == steps.stages:
            stage = 0
            phase ^= 1


@cute.jit
def an_unrolled_prologue(steps):
    """The first round unrolled by the compiler, the others in a loop."""
    for stage in cutlass.range_constexpr(steps.stages):
        if stage < steps.k_tiles:
            load(steps, stage, stage)
    fill_again(steps)


@cute.jit
def fills_first(steps):
    """All stages without a wait, since they are empty at the start; then each as it becomes free."""
    for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
        load(steps, k_tile, k_tile)
    fill_again(steps)


@cute.jit
def fill_again(steps):
    """All rounds but the first: each stage as it becomes free."""
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    for k_tile in cutlass.range(steps.stages, steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        load(steps, k_tile, state.index)
        state.advance()


@cute.jit
def expects_in_two_parts(steps):
    """A's bytes, B's bytes, and then the arrival."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        with cute.arch.elect_one():
            cute.arch.mbarrier_expect_tx(steps.full + state.index, steps.stage_bytes // 4)
            cute.arch.mbarrier_expect_tx(steps.full + state.index, steps.stage_bytes - steps.stage_bytes // 4)
            cute.arch.mbarrier_arrive(steps.full + state.index)
        steps.load(k_tile, state.index)
        state.advance()


@cute.jit
def loads_before_it_expects(steps):
    """Bytes that land before they are expected leave the phase open, as the arrival has not come."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        steps.load(k_tile, state.index)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        state.advance()


@cute.jit
def counts_in_int32(steps):
    """The DSL's own numbers, arguments by name, a state that is made by hand."""
    state = PipelineState(steps.stages, Int32(0), Int32(0), Int32(1))
    k_tile = Int32(0)
    while k_tile < steps.k_tiles:
        stage, rounds = k_tile % steps.stages, k_tile // steps.stages
        cute.arch.mbarrier_wait(mbar_ptr=steps.empty + stage, phase=(rounds & 1) ^ 1)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(mbar_ptr=steps.full + state.index, bytes=Int32(steps.stage_bytes))
        steps.load(k_tile, state.index)
        k_tile += 1
        state.advance(1)


@cute.jit
def loops_in_helpers(steps):
    """The first round and the others in a helper each, which return the state that they have advanced."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    first = cutlass.min(steps.stages, steps.k_tiles)
    state = load_range(steps, 0, first, state)
    load_range(steps, first, steps.k_tiles, state)


@cute.jit
def load_range(steps, begin, end, state):
    for k_tile in cutlass.range(begin, end, unroll=1):
        fill(steps, k_tile, state)
        state.advance()
    return state


@cute.jit
def waits_for_the_last_stages(steps):
    """As in a cluster, where a block must not end before its peers have told it what they read."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        load(steps, k_tile, state.index)
        state.advance()
    for _ in cutlass.range(steps.stages, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        state.advance()


@cute.jit
def from_the_last_tile(steps):
    """K backwards: a sum does not mind. A helper fills the stage."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        fill(steps, steps.k_tiles - 1 - k_tile, state)
        state.advance()


@cute.jit
def fill(steps, k_tile, state):
    poll(steps.empty + state.index, state.phase)
    with elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
    steps.load(k_tile, state.index)


def poll(barrier, phase):
    complete = cute.arch.mbarrier_try_wait(barrier, phase)
    while not complete:
        complete = cute.arch.mbarrier_try_wait(barrier, phase)


@cute.jit
def by_lane(steps):
    """Lane 0 arrives."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        if cute.arch.lane_idx() == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(k_tile, state.index)
        state.advance()


@cute.jit
def by_lowest_lane(steps):
    """The lane below 1 arrives."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        if cute.arch.lane_idx() < 1:
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(k_tile, state.index)
        state.advance()


@cute.jit
def by_thread(steps):
    """The warp's first thread arrives, by the number that it has in the block."""
    thread, _, _ = cute.arch.thread_idx()
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        if thread % 32 == 0 and cute.arch.warp_idx() == thread // 32:
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(k_tile, state.index)
        state.advance()


@cute.jit
def by_converted_lane(steps):
    """Converts the lane's number, as only a compiler can: it is simulated, not rehearsed."""
    state = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        cute.arch.mbarrier_wait(steps.empty + state.index, state.phase)
        if Int32(cute.arch.lane_idx()) < 1:
            cute.arch.mbarrier_arrive_and_expect_tx(steps.full + state.index, steps.stage_bytes)
        steps.load(k_tile, state.index)
        state.advance()


# Multiplications ------------------------------------------------------------------------------------------------


@cute.jit
def one_at_a_time(steps):
    """wait_group(0) after each tile: safe, and the tensor cores wait."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage, phase = k_tile % steps.stages, k_tile // steps.stages & 1
        cute.arch.mbarrier_wait(steps.full + stage, phase)
        warpgroup.fence()
        steps.multiply(stage, k_tile == 0)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + stage)


@cute.jit
def a_peeled_last_step(steps):
    """Frees the stage before the one that it multiplies; the first and the last step stand outside of the loop."""
    read = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    free = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    mbarrier_wait(steps.full + read.index, read.phase)
    fence()
    steps.multiply(read.index, True)
    commit_group()
    read.advance()
    for _ in range(1, steps.k_tiles):
        mbarrier_wait(steps.full + read.index, read.phase)
        steps.multiply(read.index, False)
        commit_group()
        wait_group(1)
        with elect_one():
            mbarrier_arrive(steps.empty + free.index)
        read.advance()
        free.advance()
    wait_group(0)
    with elect_one():
        mbarrier_arrive(steps.empty + free.index)


@cute.jit
def peeks_ahead(steps):
    """Asks for the next stage while this one is multiplied, and waits for it only where it was not full then."""
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    ready = cute.arch.mbarrier_try_wait(steps.full + state.index, state.phase)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        if not ready:
            cute.arch.mbarrier_wait(steps.full + state.index, state.phase)
        warpgroup.fence()
        steps.multiply(state.index, k_tile == 0)
        warpgroup.commit_group()
        done = state.clone()
        state.advance()
        ready = True
        if k_tile + 1 < steps.k_tiles:
            ready = cute.arch.mbarrier_try_wait(steps.full + state.index, state.phase)
        warpgroup.wait_group(0)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + done.index)


@cute.jit
def frees_at_the_end_too_early(steps):
    """The last stages are freed while they are read: nothing is loaded into them any more."""
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage, phase = k_tile % steps.stages, k_tile // steps.stages & 1
        cute.arch.mbarrier_wait(steps.full + stage, phase)
        warpgroup.fence()
        steps.multiply(stage, k_tile == 0)
        warpgroup.commit_group()
        if k_tile + steps.stages < steps.k_tiles:
            warpgroup.wait_group(0)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(steps.empty + stage)
    warpgroup.wait_group(0)


@cute.jit
def frees_as_late_as_it_may(steps):
    """As many groups stay in flight as there are stages, but one."""
    in_flight = steps.stages - 1
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        cute.arch.mbarrier_wait(steps.full + stage, (k_tile // steps.stages) % 2)
        warpgroup.fence()
        steps.multiply(stage, k_tile == 0)
        warpgroup.commit_group()
        if k_tile >= in_flight:
            warpgroup.wait_group(in_flight)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive(steps.empty + (k_tile - in_flight) % steps.stages)
    warpgroup.wait_group(0)


# Both in one ----------------------------------------------------------------------------------------------------


@cute.jit
def barriers_of_the_block(steps):
    """Stages are freed by the block's barrier, without an `empty`."""
    if steps.loads_too:
        for k_tile in cutlass.range_constexpr(steps.stages):
            if k_tile < steps.k_tiles:
                load(steps, k_tile, k_tile)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        stage = k_tile % steps.stages
        cute.arch.mbarrier_wait(steps.full + stage, (k_tile // steps.stages) & 1)
        warpgroup.fence()
        steps.multiply(stage, k_tile == 0)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.sync_threads()
        if steps.loads_too and k_tile + steps.stages < steps.k_tiles:
            load(steps, k_tile + steps.stages, stage)


@cute.jit
def loads_one_stage_late(steps):
    """The stage that was freed in the step before is filled while this one is multiplied."""
    if steps.loads_too:
        for k_tile in range(min(steps.stages - 1, steps.k_tiles)):
            load(steps, k_tile, k_tile)
    for k_tile in range(steps.k_tiles):
        stage, ahead = k_tile % steps.stages, k_tile + steps.stages - 1
        mbarrier_wait(steps.full + stage, k_tile // steps.stages & 1)
        fence()
        steps.multiply(stage, k_tile == 0)
        commit_group()
        if steps.loads_too and ahead < steps.k_tiles:
            if ahead >= steps.stages:
                mbarrier_wait(steps.empty + ahead % steps.stages, (ahead // steps.stages - 1) & 1)
            load(steps, ahead, ahead % steps.stages)
        wait_group(0)
        with elect_one():
            mbarrier_arrive(steps.empty + stage)
