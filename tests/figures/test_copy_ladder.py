"""The figure of notebook 05: it shows what was measured."""

from dataclasses import replace

import pytest

from tests.stand_ins import MACHINE, UNKNOWN, copied
from tutorlib.exercises import of_notebook
from tutorlib.figures.ladders import copy_ladder
from tutorlib.measuring.results import NoData, Result, Results

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


def test_an_unknown_gpu_has_no_datasheet_line():
    assert not copy_ladder([replace(REACHED, machine=UNKNOWN)]).axes[0].get_lines()


def test_no_data_names_the_command():
    with pytest.raises(NoData, match="tutor evidence 05"):
        copy_ladder([])
