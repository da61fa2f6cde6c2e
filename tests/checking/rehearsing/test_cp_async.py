"""The rehearsal of a main loop: right loops of every depth pass, and each hazard is found."""

from contextlib import contextmanager

import cutlass
import pytest
from cutlass import cute

from tutorlib.checking.rehearsing.cp_async import Stage, rehearse
from tutorlib.checking.rehearsing.recorded_steps import DifferentThreads
from tutorlib.checking.rehearsing.unsafe import LoopFlaw, Unsafe
from tutorlib.kernels.ampere.main_loops import multistage, single_buffer


def most_in_flight(stage):
    return {
        tile: max(sum(tiles.values()) for of_both in loaded for tiles in of_both)
        for tile, loaded in stage.in_flight.items()
    }


@pytest.mark.parametrize("k_tiles", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("stages", [2, 3, 4, 5])
def test_a_right_pipeline_is_safe_and_as_deep_as_its_buffers(k_tiles, stages):
    stage = rehearse(multistage, k_tiles, 4, stages)
    assert stage.prefetched
    assert most_in_flight(stage) == {tile: min(stages - 1, k_tiles - 1 - tile) for tile in range(k_tiles)}
    assert (stage.live, stage.again["load"]) == (2, [])


def test_one_buffer_has_nothing_under_way_while_it_computes():
    stage = rehearse(single_buffer, 5, 4, 1)
    assert set(most_in_flight(stage).values()) == {0}
    assert not stage.prefetched


def test_a_loop_that_was_compiled_is_still_rehearsed_as_written():
    from tutorlib.compiling.cute import compile_cute
    from tutorlib.compiling.spec import TensorSpec
    from tutorlib.kernels.ampere.config import GemmConfig
    from tutorlib.kernels.ampere.gemm import make_gemm

    compile_cute(make_gemm(GemmConfig(stages=2), multistage), [TensorSpec((128, 128), "bf16")] * 3)
    rehearse(multistage, 3, 4, 2)


@contextmanager
def refused(*kinds):
    """What it contains raises Unsafe, with failures of these kinds."""
    with pytest.raises(Unsafe) as caught:
        yield
    assert [failure.kind for failure in caught.value.args[0].failures] == list(kinds)


def ready(tile=0, buffer=0):
    """A stage of two buffers and three tiles with one tile there for everybody."""
    stage = Stage(k_tiles=3, k_blocks=1, stages=2)
    stage.load(tile, buffer)
    stage.commit()
    stage.wait(0)
    stage.barrier()
    return stage


class TestHazards:
    def test_a_buffer_that_was_read_needs_a_barrier_before_it_is_filled_again(self):
        stage = ready()
        stage.fetch(0, 0)
        with refused(LoopFlaw.OVERWRITTEN):
            stage.load(1, 0)
        stage.barrier()
        stage.load(1, 0)

    def test_a_wait_covers_all_groups_but_the_newest(self):
        stage = ready()
        stage.load(1, 1)
        stage.commit()
        stage.wait(1)
        stage.barrier()
        stage.fetch(0, 1)
        with refused(LoopFlaw.UNWAITED):
            stage.multiply(0)

    def test_a_wait_covers_what_was_committed(self):
        stage = Stage(k_tiles=3, k_blocks=1, stages=2)
        stage.load(0, 0)
        stage.wait(0)
        stage.commit()
        stage.barrier()
        stage.fetch(0, 0)
        with refused(LoopFlaw.UNWAITED):
            stage.multiply(0)

    def test_a_barrier_before_the_wait_is_none(self):
        stage = Stage(k_tiles=3, k_blocks=1, stages=2)
        stage.load(0, 0)
        stage.commit()
        stage.barrier()
        stage.wait(0)
        stage.fetch(0, 0)
        with refused(LoopFlaw.UNSEEN):
            stage.multiply(0)

    def test_registers_keep_what_was_fetched_when_the_buffer_is_filled_again(self):
        stage = ready()
        stage.fetch(0, 0)
        stage.barrier()
        stage.load(1, 0)
        stage.multiply(0)

    def test_a_fetch_nobody_uses_does_no_harm(self):
        stage = ready()
        stage.fetch(0, 1)
        stage.fetch(0, 0)
        stage.multiply(0)

    @pytest.mark.parametrize(
        ("order", "kind"),
        [
            (lambda s: s.load(3, 1), LoopFlaw.OUT_OF_RANGE),
            (lambda s: s.load(1, 2), LoopFlaw.OUT_OF_RANGE),
            (lambda s: s.fetch(1, 0), LoopFlaw.OUT_OF_RANGE),
            (lambda s: s.multiply(0), LoopFlaw.NOT_FETCHED),
            (lambda s: [(s.fetch(0, 0), s.multiply(0)) for _ in range(2)], LoopFlaw.TWICE),
            (lambda s: s.finish(), LoopFlaw.MISSING),
            (lambda s: [s.barrier() for _ in range(200_000)], LoopFlaw.ENDLESS),
        ],
    )
    def test_orders_that_make_no_sense(self, order, kind):
        with refused(kind):
            order(ready())


class TestBuffers:
    def test_a_tile_that_nobody_fetched_is_not_overwritten(self):
        stage = ready()
        with refused(LoopFlaw.OVERWRITTEN):
            stage.load(1, 0)

    def test_another_copy_of_it_may_be(self):
        stage = ready()
        stage.load(0, 1)
        stage.load(1, 1)

    def test_a_tile_is_not_sent_for_twice_into_one_buffer(self):
        stage = ready()
        stage.load(1, 1)
        with pytest.raises(Unsafe, match="K tile 1 is in flight into buffer 1 already, by line"):
            stage.load(1, 1)

    def test_both_matrices_are_needed_of_the_same_tile(self):
        stage = Stage(k_tiles=3, k_blocks=1, stages=2)
        stage.a.load(1, 0)
        stage.b.load(0, 0)
        stage.fetch(0, 0)
        with refused(LoopFlaw.MIXED):
            stage.multiply(0)


# Loops of the reader's ----------------------------------------------------------------------------------------------


@cute.jit
def step(steps, k_tile):
    steps.load(k_tile, 0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for k_block in cutlass.range_constexpr(steps.k_blocks):
        steps.fetch(k_block, 0)
        steps.multiply(k_block)


@cute.jit
def by_a_helper(steps):
    for k_tile in range(steps.k_tiles):
        step(steps, k_tile)
        cute.arch.sync_threads()


@cute.jit
def half_of_them_meet(steps):
    thread, _, _ = cute.arch.thread_idx()
    for k_tile in range(steps.k_tiles):
        step(steps, k_tile)
        if thread < 64:
            cute.arch.sync_threads()


@cute.jit
def warps_take_turns(steps):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    for k_tile in range(steps.k_tiles):
        step(steps, k_tile)
        if warp == 0:
            cute.arch.cp_async_commit_group()
        cute.arch.sync_threads()


@cute.jit
def everything_unrolled(steps):
    for k_tile in cutlass.range_constexpr(steps.k_tiles):
        step(steps, k_tile)
        cute.arch.sync_threads()


@cute.jit
def half_a_barrier(steps):
    for k_tile in range(steps.k_tiles):
        step(steps, k_tile)
        cute.arch.barrier(barrier_id=1, number_of_threads=64)


def test_helpers_are_followed():
    assert len(rehearse(by_a_helper, 5, 4, 1).barriers) == 10


def test_threads_that_miss_a_barrier_are_a_deadlock_in_its_line():
    with pytest.raises(
        Unsafe, match=r"line \d+, `cute.arch.sync_threads\(\)`: thread 0 comes to this barrier and thread 64"
    ):
        rehearse(half_of_them_meet, 3, 4, 1)


@pytest.mark.parametrize("loop", [warps_take_turns, half_a_barrier])
def test_what_a_rehearsal_cannot_judge_it_does_not(loop):
    with pytest.raises(DifferentThreads):
        rehearse(loop, 3, 4, 1)


def test_a_loop_of_the_compilers_is_counted():
    assert rehearse(everything_unrolled, 8, 4, 1).unrolled == 8
    assert rehearse(by_a_helper, 8, 4, 1).unrolled == 1
