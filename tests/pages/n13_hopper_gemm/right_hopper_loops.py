"""Main loops that are right and written in another way than notebook 13's."""

import cutlass
from cutlass import Int32, cute
from cutlass.cute.arch import elect_one, mbarrier_arrive, mbarrier_wait
from cutlass.cute.nvgpu import warpgroup
from cutlass.cute.nvgpu.warpgroup import wait_group
from cutlass.pipeline import PipelineState, PipelineUserType, make_pipeline_state


def fill(steps, k_tile, stage):
    """As on the page."""
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(steps.full + stage, steps.stage_bytes)
    steps.load(k_tile, stage)


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


@cute.jit
def flips_its_phase(steps):
    """A while loop, an index and a phase that are turned by hand, names imported one by one."""
    if steps.loads_too:
        for stage in cutlass.range_constexpr(steps.stages):
            if stage < steps.k_tiles:
                fill(steps, stage, stage)
    mbarrier_wait(steps.full, 0)
    steps.multiply(0, True)
    k_tile, index, phase = Int32(1), Int32(0), Int32(0)
    while k_tile < steps.k_tiles:
        last, over = index, phase
        index += 1
        if index == steps.stages:
            index = 0
            phase ^= 1
        mbarrier_wait(steps.full + index, phase)
        steps.multiply(index, False)
        wait_group(1)
        with elect_one():
            mbarrier_arrive(steps.empty + last)
        if steps.loads_too and k_tile + steps.stages <= steps.k_tiles:
            mbarrier_wait(steps.empty + last, over)
            fill(steps, k_tile + steps.stages - 1, last)
        k_tile += 1
    wait_group(0)


@cute.jit
def expects_in_parts(steps):
    """A's bytes and B's one after the other, the load first; a state of its own for who loads; keyword arguments."""
    refill = make_pipeline_state(PipelineUserType.Producer, steps.stages)
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            in_parts(steps, k_tile, k_tile)
            refill.advance()
    state = PipelineState(steps.stages, Int32(0), Int32(0), Int32(0))
    mbarrier_wait(mbar_ptr=steps.full + state.index, phase=state.phase)
    steps.multiply(state.index, first=True)
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        freed = state.index
        state.advance()
        mbarrier_wait(mbar_ptr=steps.full + state.index, phase=state.phase)
        steps.multiply(stage=state.index, first=False)
        wait_group(1)
        with elect_one():
            mbarrier_arrive(mbar_ptr=steps.empty + freed)
        if steps.loads_too and k_tile - 1 + steps.stages < steps.k_tiles:
            mbarrier_wait(mbar_ptr=steps.empty + refill.index, phase=refill.phase)
            in_parts(steps, k_tile - 1 + steps.stages, refill.index)
            refill.advance()
    wait_group(0)


def in_parts(steps, k_tile, stage):
    steps.load(k_tile=k_tile, stage=stage)
    with elect_one():
        for part in (steps.stage_bytes // 3, steps.stage_bytes - steps.stage_bytes // 3):
            cute.arch.mbarrier_expect_tx(steps.full + stage, part)
        mbarrier_arrive(steps.full + stage)


class Ring:
    """Stage and parity of a K tile, and what is done there."""

    @staticmethod
    def place(steps, k_tile):
        return k_tile % steps.stages, k_tile // steps.stages & 1

    @classmethod
    def take(cls, steps, k_tile, first):
        stage, phase = cls.place(steps, k_tile)
        mbarrier_wait(steps.full + stage, phase)
        steps.multiply(stage, first)

    @classmethod
    def give_back(cls, steps, k_tile):
        with elect_one():
            mbarrier_arrive(steps.empty + cls.place(steps, k_tile)[0])

    @classmethod
    def wait_until_read(cls, steps, k_tile):
        stage, phase = cls.place(steps, k_tile)
        mbarrier_wait(steps.empty + stage, phase)


@cute.jit
def a_class_of_its_own(steps):
    """What is done to a stage in methods of a class; from the last K tile to the first."""
    last = steps.k_tiles - 1
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill(steps, last - k_tile, k_tile)
    Ring.take(steps, 0, first=True)
    for k_tile in cutlass.range(1, steps.k_tiles, unroll=1):
        Ring.take(steps, k_tile, first=False)
        wait_group(1)
        Ring.give_back(steps, k_tile - 1)
        ahead = k_tile - 1 + steps.stages
        if steps.loads_too and ahead < steps.k_tiles:
            Ring.wait_until_read(steps, k_tile - 1)
            fill(steps, last - ahead, Ring.place(steps, ahead)[0])
    wait_group(0)


@cute.jit
def one_loop_for_all(steps):
    """K tile 0 in the loop, too: what is different there stands under conditions of the run."""
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    if steps.loads_too:
        for k_tile in range(min(steps.stages, steps.k_tiles)):
            fill(steps, k_tile, k_tile)
    for k_tile in range(steps.k_tiles):
        mbarrier_wait(steps.full + state.index, state.phase)
        if k_tile == 0:
            steps.multiply(state.index, True)
        else:
            steps.multiply(state.index, False)
        wait_group(1)
        if k_tile > 0:
            before = state.clone()
            before.reverse()
            with elect_one():
                mbarrier_arrive(steps.empty + before.index)
            if steps.loads_too and k_tile - 1 + steps.stages < steps.k_tiles:
                mbarrier_wait(steps.empty + before.index, before.phase)
                fill(steps, k_tile - 1 + steps.stages, before.index)
        state.advance()
    wait_group(0)


@cute.jit
def a_condition_of_the_run(steps):
    """`first` is k_tile == 0 of one loop; each state of its own, of which one follows the other."""
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill(steps, k_tile, k_tile)
    ahead = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    behind = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        mbarrier_wait(steps.full + ahead.index, ahead.phase)
        steps.multiply(ahead.index, k_tile == 0)
        ahead.advance()
        if k_tile > 0:
            wait_group(1)
            with elect_one():
                mbarrier_arrive(steps.empty + behind.index)
            if steps.loads_too and k_tile - 1 + steps.stages < steps.k_tiles:
                mbarrier_wait(steps.empty + behind.index, behind.phase)
                fill(steps, k_tile - 1 + steps.stages, behind.index)
            behind.advance()
    wait_group(0)


@cute.jit
def one_lane_waits(steps):
    """The elected lane waits for empty alone; the others wait for it where the load elects its lane."""
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.stages, steps.k_tiles), unroll=1):
            fill(steps, k_tile, k_tile)
    state = make_pipeline_state(PipelineUserType.Consumer, steps.stages)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        mbarrier_wait(steps.full + state.index, state.phase)
        steps.multiply(state.index, k_tile == 0)
        wait_group(1)
        if k_tile > 0:
            last = (k_tile - 1) % steps.stages
            with elect_one():
                mbarrier_arrive(steps.empty + last)
            if steps.loads_too and k_tile - 1 + steps.stages < steps.k_tiles:
                with elect_one():
                    mbarrier_wait(steps.empty + last, (k_tile - 1) // steps.stages % 2)
                fill(steps, k_tile - 1 + steps.stages, last)
        state.advance()
    wait_group(0)


@cute.jit
def waits_by_polling(steps):
    """try_wait in a loop, a nested jit function, a lambda for the stage."""

    @cute.jit
    def until(barrier, phase):
        done = cute.arch.mbarrier_try_wait(barrier, phase)
        while not done:
            done = cute.arch.mbarrier_try_wait(barrier, phase)

    stage = lambda k_tile: k_tile % steps.stages  # noqa: E731
    parity = lambda k_tile: (k_tile // steps.stages) & 1  # noqa: E731
    if steps.loads_too:
        for k_tile in cutlass.range(cutlass.min(steps.k_tiles, steps.stages), unroll=1):
            fill(steps, k_tile, k_tile)
    until(steps.full, 0)
    steps.multiply(0, True)
    for before in cutlass.range(steps.k_tiles - 1, unroll=1):
        until(steps.full + stage(before + 1), parity(before + 1))
        steps.multiply(stage(before + 1), False)
        wait_group(1)
        with elect_one():
            mbarrier_arrive(steps.empty + stage(before))
        if steps.loads_too and before + steps.stages < steps.k_tiles:
            until(steps.empty + stage(before), parity(before))
            fill(steps, before + steps.stages, stage(before))
    wait_group(0)


# One stage ------------------------------------------------------------------------------------------------------


@cute.jit
def flips_a_bit(steps):
    """A phase that is turned by hand; a barrier by its other name."""
    phase = Int32(0)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        if steps.loads_too:
            fill(steps, k_tile, 0)
        mbarrier_wait(steps.full, phase)
        steps.multiply(0, k_tile < 1)
        phase ^= 1
        wait_group(0)
        cute.arch.barrier()


@cute.jit
def loads_at_the_end(steps):
    """The load of the next K tile ends a step; no barrier after the last one."""
    if steps.loads_too:
        fill(steps, 0, 0)
    state = make_pipeline_state(PipelineUserType.Consumer, 1)
    for k_tile in cutlass.range(steps.k_tiles, unroll=1):
        mbarrier_wait(steps.full + state.index, state.phase)
        steps.multiply(state.index, k_tile == 0)
        wait_group(0)
        state.advance()
        if k_tile + 1 < steps.k_tiles:
            cute.arch.sync_threads()
            if steps.loads_too:
                fill(steps, k_tile + 1, 0)


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
def first_tile_apart(steps):
    """K tile 0 before the loop, and a while loop for the others; the bytes are announced after the load."""
    alone(steps, 0, True)
    k_tile = Int32(1)
    while k_tile < steps.k_tiles:
        alone(steps, k_tile, False)
        k_tile += 1


@cute.jit
def alone(steps, k_tile, first):
    if steps.loads_too:
        in_parts(steps, k_tile, 0)
    mbarrier_wait(steps.full, k_tile % 2)
    steps.multiply(0, first)
    wait_group(0)
    cute.arch.sync_threads()
