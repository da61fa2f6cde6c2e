"""The ladders of GEMMs, copies and cuTile, and the roofline: they show what was measured."""

from dataclasses import replace

import pytest

from tests.stand_ins import MACHINE, UNKNOWN, copied, swept
from tutorlib.exercises import of_notebook
from tutorlib.figures.ladders import copy_ladder, gemm_ladder
from tutorlib.figures.registry import FIGURES
from tutorlib.kernels.ladder import LADDER
from tutorlib.measuring.results import NoData, Result, Results


def lines(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}


def test_rungs_of_wgmma_have_a_row_and_a_scale_of_their_own():
    found = swept("09 slow", "13 plain")
    old, old_ratio, new, new_ratio = gemm_ladder([found]).axes
    assert [axes.get_title("left") for axes in (old, new)] == [
        "NVIDIA H200, bf16, mma.sync, cool", "NVIDIA H200, bf16, WGMMA, cool",
    ]  # fmt: skip
    assert (set(lines(old)), set(lines(new))) == ({"cuBLAS", "09 slow"}, {"cuBLAS", "13 plain"})
    assert old.get_ylim() == new.get_ylim()
    assert (old_ratio.get_ylim()[0], new_ratio.get_ylim()[0]) == (0, 0)


def test_what_mma_sync_reaches_alone_is_a_line_among_its_rungs():
    found = replace(swept("09 slow", "13 plain"), facts={"mma_sync_tflops": 620.4})
    old, _, new, _ = gemm_ladder([found]).axes
    assert [620.4, 620.4] in [list(line.get_ydata()) for line in old.get_lines()]
    assert [text.get_text() for text in old.texts] == ["mma.sync alone, 620 TFLOP/s"]
    assert not new.texts


def test_a_page_shows_the_rungs_up_to_its_own():
    found = swept("09 slow", "10 fast", "13 plain")
    assert len(gemm_ladder([found], "10").axes) == 2
    assert set(lines(gemm_ladder([found], "09").axes[0])) == {"cuBLAS", "09 slow"}
    with pytest.raises(NoData, match="no rung up to notebook 08"):
        gemm_ladder([found], "08")


def test_nvidias_example_stands_among_the_rungs_of_its_instructions():
    found = swept("09 slow", "12 fast", "13 plain")
    beside = replace(
        found, points=tuple(replace(p, measurement=replace(p.measurement, baseline="NVIDIA's")) for p in found.points)
    )
    _, old_ratio, _, new_ratio = gemm_ladder([found], beside_nvidia=[beside]).axes
    assert lines(old_ratio)["NVIDIA's"] == pytest.approx([1] * 3)  # as fast as cuBLAS: the rungs say the same of both
    assert "NVIDIA's" not in lines(new_ratio)


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


RUNGS = [exercise for exercise in of_notebook("05_copy_kernels") if exercise.needs]
REACHED = Results(
    MACHINE,
    "2026-11-20",
    exercises={rung.id: Result("passed", rung.points, rung.points, (copied(0.98, median_us=511.3),)) for rung in RUNGS},
)
TB_PER_S = 2**31 / 511.3 / 1e6


def test_a_bar_for_each_rung_a_stroke_for_torch_and_a_line_for_the_datasheet():
    (axes,) = copy_ladder([REACHED]).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [rung.title for rung in RUNGS]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([TB_PER_S] * len(RUNGS))
    assert axes.collections[0].get_offsets()[0][0] == pytest.approx(TB_PER_S / 0.98)
    assert axes.get_lines()[0].get_xdata()[0] == pytest.approx(4.8)


def test_without_copies_it_names_the_command():
    with pytest.raises(NoData, match="tutor evidence 05"):
        copy_ladder([])
