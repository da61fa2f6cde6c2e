"""Pictures of tensor memory and of who works when."""

import pytest

from tutorlib import draw
from tutorlib.models.accumulators import Handover


def words(picture):
    return [text.get_text() for axes in picture.axes for text in axes.texts]


def test_tensor_memory_has_each_accumulator_in_all_lanes():
    said = words(draw.show_tensor_memory(columns=128, accumulators=3))
    assert [said.count(str(at)) for at in ("1", "2")] == [16, 16]  # 4 cells of 32 columns, for each of 4 warps
    with pytest.raises(ValueError, match="tensor memory has 512"):
        draw.show_tensor_memory(columns=256, accumulators=3)


def test_two_accumulators_keep_the_tensor_cores_busy():
    assert Handover(1).busy < 1 == Handover(2).busy
    assert Handover(1, tiles=1).total == Handover(2, tiles=1).total


@pytest.mark.parametrize("accumulators", [1, 2, 3])
def test_no_sums_are_overwritten_before_they_are_read(accumulators):
    spans = Handover(accumulators, tiles=6).spans
    reads = {span.tile: span for span in spans if span.row == "read"}
    for span in spans:
        if span.row == "multiply":
            assert reads[span.tile].begin >= span.end
            if (before := reads.get(span.tile - accumulators)) is not None:
                assert span.begin >= before.end


def test_what_a_pair_loads_and_what_numbers_become():
    assert "B: rows 128 to 255\n16 KiB" in words(draw.show_pair())
    assert "448" in words(draw.show_scaled([511.0] * 32, 1.0))
