"""The timeline of a Blackwell block: nothing happens before what it needs, and a second accumulator fills the gaps."""

from itertools import pairwise

import pytest

from tutorlib.models.block_timeline import EPILOGUE_ROWS, TENSOR_CORES, TMA_ROW, time_block


def spans(timeline, row, does="works"):
    return [span for span in timeline.spans if span.row == row and span.does == does]


@pytest.mark.parametrize("accumulators", [1, 2, 3])
def test_nothing_happens_before_what_it_needs(accumulators):
    timeline = time_block(6, 4, 3, accumulators, 2)
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
    timeline = time_block(4, 5, 4, 2, 4)
    for row in timeline.rows:
        times = sorted((span.begin, span.end) for span in timeline.spans if span.row == row)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(times)), row


def test_a_second_accumulator_keeps_the_tensor_cores_busy():
    one, two = (time_block(4, 5, 4, accumulators, 4).busy for accumulators in (1, 2))
    assert one < 0.7 < two == 1
