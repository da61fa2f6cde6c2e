"""Shared memory's banks: what an access costs."""

import pytest
from tensor_layouts import Layout, Swizzle
from tensor_layouts.analysis import bank_conflicts

from tutorlib.models.banks import wavefronts


@pytest.mark.parametrize("step", [0, 1, 2, 3, 4, 8, 31, 32, 33])
@pytest.mark.parametrize("element_bytes", [1, 2, 4])
def test_wavefronts_agree_with_tensor_layouts(step, element_bytes):
    ways = bank_conflicts(Layout(32, step), element_bytes=element_bytes)["max_ways"]
    assert wavefronts([step * lane for lane in range(32)], element_bytes) == ways


def test_wide_accesses_go_by_quarter_warps():
    rows = [64 * row for row in range(32)]
    assert wavefronts([8 * lane for lane in range(32)], 2, 8) == 4  # 512 bytes, 128 at a time
    assert wavefronts(rows, 2, 8) == 32
    assert wavefronts([Swizzle(3, 3, 3)(offset) for offset in rows], 2, 8) == 4
    with pytest.raises(ValueError, match="32 bytes a thread"):
        wavefronts(rows, 4, 8)
