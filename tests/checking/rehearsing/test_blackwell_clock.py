"""The rehearsal with a clock: nothing happens before what it needs, and two accumulators keep the tensor cores busy."""

from itertools import pairwise

import pytest

from tests.pages.answers import RIGHT
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_block import Extent
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_clock import EPILOGUE_ROWS, TMA_ROW, time_tiles
from tutorlib.kernels.blackwell.loops import multiply_tiles, produce_tiles, store_tiles
from tutorlib.models.block_timeline import TENSOR_CORES
from tutorlib.notebook.block_timeline import show_handover, show_roles

LOOPS = {"produce": produce_tiles, "multiply": multiply_tiles, "store": store_tiles}


def spans(timeline, row, does="works"):
    return [span for span in timeline.spans if span.row == row and span.does == does]


@pytest.mark.parametrize("accumulators", [1, 2, 3])
def test_nothing_happens_before_what_it_needs(accumulators):
    timeline = time_tiles(LOOPS, Extent(6, 4, 3, accumulators, 2))
    sent = {(span.tile, span.part): span.end for span in spans(timeline, TMA_ROW)}
    multiplied = spans(timeline, TENSOR_CORES)
    assert [(span.tile, span.part) for span in multiplied] == [(tile, k) for tile in range(6) for k in range(4)]
    reads = {span.tile: span.end for span in spans(timeline, EPILOGUE_ROWS[3]) if span.part == 1}
    for span in multiplied:
        assert sent[span.tile, span.part] < span.begin
        assert span.begin >= reads.get(span.tile - accumulators, 0)
    for first in (span for span in spans(timeline, EPILOGUE_ROWS[0]) if span.part == 0):
        assert first.begin >= max(span.end for span in multiplied if span.tile == first.tile)


def test_a_row_does_one_thing_at_a_time():
    timeline = time_tiles(LOOPS, Extent(4, 5, 4, 2, 4))
    for row in timeline.rows:
        times = sorted((span.begin, span.end) for span in timeline.spans if span.row == row)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(times)), row


def test_a_second_accumulator_keeps_the_tensor_cores_busy():
    one, two = (time_tiles(LOOPS, Extent(4, 5, 4, accumulators, 4)).busy for accumulators in (1, 2))
    assert one < 0.7 < two == 1


@pytest.mark.parametrize("store", [answer.function for answer in RIGHT["15.6"]])
def test_other_right_loops_take_no_longer(store):
    size = Extent(3, 5, 4, 2, 4)
    assert time_tiles(LOOPS | {"store": store}, size).total == time_tiles(LOOPS, size).total


def test_the_pictures_have_all_six_warps():
    picture = show_roles(*LOOPS.values())
    assert show_roles()._repr_png_() == picture._repr_png_()
    said = [text.get_text() for axes in picture.axes for text in axes.texts]
    assert {"warp 5: TMA", "warp 4: MMA", *EPILOGUE_ROWS} <= set(said)
    assert len(show_handover(1, 2).axes) == 2
