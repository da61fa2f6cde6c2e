"""The roofline: points at their intensity, under the datasheet's roofs."""

from dataclasses import replace

import pytest

from tests.stand_ins import UNKNOWN, swept
from tutorlib.figures.registry import FIGURES
from tutorlib.measuring.results import NoData


def test_points_stand_at_their_intensity():
    (axes,) = FIGURES["roofline"].draw([swept("slow", "fast")]).axes
    roof, _, slow, _ = axes.get_lines()
    assert list(slow.get_xdata()) == pytest.approx([512 / 3, 1024 / 3, 2048 / 3])  # 2n³ FLOP over 6n² bytes
    assert roof.get_xdata()[1] == pytest.approx(989 / 4.8)
    assert max(roof.get_ydata()) == pytest.approx(989)


def test_no_roof_for_an_unknown_gpu():
    with pytest.raises(NoData, match="hardware table"):
        FIGURES["roofline"].draw([replace(swept("slow", "fast"), machine=UNKNOWN)])
