"""Pictures of tensor memory, of a pair, and of numbers with shared scales."""

import pytest
import torch

from tutorlib import draw
from tutorlib.draw.blackwell import code_of
from tutorlib.models.block_formats import E4M3


def words(picture):
    return [text.get_text() for axes in picture.axes for text in axes.texts]


def test_tensor_memory_has_each_accumulator_in_all_lanes():
    said = words(draw.show_tensor_memory(columns=128, accumulators=3))
    assert [said.count(str(at)) for at in ("1", "2")] == [16, 16]  # 4 cells of 32 columns, for each of 4 warps
    with pytest.raises(ValueError, match="tensor memory has 512"):
        draw.show_tensor_memory(columns=256, accumulators=3)


def test_what_a_pair_loads_and_what_numbers_become():
    assert "B: rows 128 to 255\n16 KiB" in words(draw.show_pair())
    assert "448\n0x7e" in words(draw.show_scaled([511.0] * 32, 1.0))
    codes = torch.tensor([-0.5, 448.0]).to(torch.float8_e4m3fn).view(torch.uint8).tolist()
    assert [code_of(element, E4M3, 0x80) for element in (-0.5, 448.0)] == codes
