"""The figure of notebook 11: what memory sends, counted and by the model."""

from dataclasses import replace

import pytest

from tests.stand_ins import UNKNOWN, swept
from tutorlib.figures.registry import FIGURES
from tutorlib.measuring.counters import MEMORY_READ, WAVES

COUNTED = {name: {MEMORY_READ: 2e9, WAVES: 4096 / 264} for name in ("raster", "groups of 8")}
FOUND = replace(swept(*COUNTED, sizes=(4096, 8192), tile=[128, 128, 64]), counters=COUNTED)


def memory(found):
    return FIGURES["gemm_orders"].draw([found]).axes[1]


def test_counted_beside_the_model():
    axes = memory(FOUND)
    assert [bar.get_width() for bar in axes.patches] == [2, 2]
    raster, grouped = (x for x, _ in axes.collections[0].get_offsets())
    least = axes.get_lines()[0].get_xdata()[0]
    assert raster > 2 * grouped > least
    assert least == pytest.approx(2 * 2 * 8192 * 8192 / 1e9)


def test_without_counters_or_hardware():
    assert not memory(replace(FOUND, machine=UNKNOWN)).collections
    assert memory(replace(FOUND, counters={})).get_xlabel().startswith("no counters")
