"""The figure of the GEMM ladder: it shows what was measured."""

import pytest

from tests.stand_ins import swept
from tutorlib.figures.gemm_ladder import gemm_ladder


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}


def test_it_shows_speeds_and_ratios():
    speed, ratio = gemm_ladder([swept("slow", "fast")]).axes
    assert lines(speed) == {"cuBLAS": pytest.approx([800] * 3), "slow": [100] * 3, "fast": [400] * 3}
    assert lines(ratio) == {"cuBLAS": [1, 1], "slow": [0.125] * 3, "fast": [0.5] * 3}
