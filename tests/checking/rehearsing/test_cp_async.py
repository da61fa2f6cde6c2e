"""The rehearsal of a main loop: right loops of every depth pass, and each hazard is found."""

import pytest

from tutorlib.checking.rehearsing.cp_async import Stage, rehearse
from tutorlib.checking.rehearsing.plain import Hazard
from tutorlib.kernels.ampere.main_loops import multistage, single_buffer


@pytest.mark.parametrize("k_tiles", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("stages", [2, 3, 4, 5])
def test_a_right_pipeline_is_safe_and_as_deep_as_its_buffers(k_tiles, stages):
    stage = rehearse(multistage, k_tiles, 4, stages)
    assert stage.prefetched
    assert stage.in_flight == {tile: min(stages - 1, k_tiles - 1 - tile) for tile in range(k_tiles)}


def test_one_buffer_has_nothing_under_way_while_it_computes():
    stage = rehearse(single_buffer, 5, 4, 1)
    assert set(stage.in_flight.values()) == {0}
    assert not stage.prefetched


def test_a_loop_that_was_compiled_is_still_rehearsed_as_written():
    from tutorlib.compiling.cute import compile_cute
    from tutorlib.compiling.spec import TensorSpec
    from tutorlib.kernels.ampere.config import GemmConfig
    from tutorlib.kernels.ampere.gemm import make_gemm

    compile_cute(make_gemm(GemmConfig(stages=2), multistage), [TensorSpec((128, 128), "bf16")] * 3)
    rehearse(multistage, 3, 4, 2)


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
        with pytest.raises(Hazard, match="overwrites buffer 0"):
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
        with pytest.raises(Hazard, match="no wait covers their group"):
            stage.multiply(0)

    def test_a_wait_covers_what_was_committed(self):
        stage = Stage(k_tiles=3, k_blocks=1, stages=2)
        stage.load(0, 0)
        stage.wait(0)
        stage.commit()
        stage.barrier()
        stage.fetch(0, 0)
        with pytest.raises(Hazard, match="may be under way"):
            stage.multiply(0)

    def test_a_barrier_before_the_wait_is_none(self):
        stage = Stage(k_tiles=3, k_blocks=1, stages=2)
        stage.load(0, 0)
        stage.commit()
        stage.barrier()
        stage.wait(0)
        stage.fetch(0, 0)
        with pytest.raises(Hazard, match="no barrier after the wait"):
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
        ("order", "says"),
        [
            (lambda s: s.load(3, 1), "of 3 K tiles"),
            (lambda s: s.load(1, 2), "of 2 buffers"),
            (lambda s: s.fetch(1, 0), "of 1 K blocks"),
            (lambda s: s.multiply(0), "has not been fetched"),
            (lambda s: [(s.fetch(0, 0), s.multiply(0)) for _ in range(2)], "multiplied twice"),
            (lambda s: s.finish(), "never multiplied"),
            (lambda s: [s.barrier() for _ in range(200_000)], "does not end"),
        ],
    )
    def test_orders_that_make_no_sense(self, order, says):
        with pytest.raises(Hazard, match=says):
            order(ready())
