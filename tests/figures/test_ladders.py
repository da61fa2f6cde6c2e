"""The ladders of GEMMs, copies and cuTile, and the roofline: they show what was measured."""

from dataclasses import replace

import pytest

from tests.stand_ins import UNKNOWN, swept
from tutorlib.figures.ladders import gemm_ladder
from tutorlib.figures.registry import FIGURES
from tutorlib.kernels.ladder import LADDER
from tutorlib.measuring.results import NoData


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}


def test_a_page_shows_the_rungs_up_to_its_own():
    found = swept("09 slow", "10 fast", "13 plain")
    assert len(gemm_ladder([found], "10").axes) == 2
    assert set(lines(gemm_ladder([found], "09").axes[0])) == {"cuBLAS", "09 slow"}
    with pytest.raises(NoData, match="no rung up to notebook 08"):
        gemm_ladder([found], "08")


def test_a_plot_has_six_lines_at_most():
    found = swept(*(rung.title for rung in LADDER))
    found = replace(found, facts={"mma_sync_tflops": 620.4})
    beside = replace(
        found, points=tuple(replace(p, measurement=replace(p.measurement, baseline="NVIDIA's")) for p in found.points)
    )
    for axes in (*gemm_ladder([found], beside_nvidia=[beside]).axes, *FIGURES["roofline"].draw([found]).axes):
        assert len(axes.get_lines()) <= 6


def test_a_rung_has_one_color_in_all_figures():
    found = swept(*(rung.title for rung in LADDER))
    shown = {}
    for axes in (*gemm_ladder([found]).axes, *FIGURES["roofline"].draw([found]).axes, *gemm_ladder([found], "11").axes):
        for line in axes.get_lines():
            if line.get_label() in {rung.title for rung in LADDER}:
                assert shown.setdefault(line.get_label(), line.get_color()) == line.get_color()
    assert len(set(shown.values())) == len(shown)


def test_it_shows_speeds_and_ratios():
    speed, ratio = gemm_ladder([swept("09 slow", "12 fast")]).axes
    assert lines(speed) == {"cuBLAS": pytest.approx([800] * 3), "09 slow": [100] * 3, "12 fast": [400] * 3}
    assert lines(ratio) == {"cuBLAS": [1, 1], "09 slow": [0.125] * 3, "12 fast": [0.5] * 3}


def test_points_stand_at_their_intensity():
    (axes,) = FIGURES["roofline"].draw([swept("slow", "fast")]).axes
    roof, _, slow, _ = axes.get_lines()
    assert list(slow.get_xdata()) == pytest.approx([512 / 3, 1024 / 3, 2048 / 3])  # 2n³ FLOP over 6n² bytes
    assert roof.get_xdata()[1] == pytest.approx(989 / 4.8)
    assert max(roof.get_ydata()) == pytest.approx(989)


def test_no_roof_for_an_unknown_gpu():
    with pytest.raises(NoData, match="hardware table"):
        FIGURES["roofline"].draw([replace(swept("slow", "fast"), machine=UNKNOWN)])
