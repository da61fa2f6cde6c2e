"""Fused epilogues beside what they were timed beside, and the cost of a launch."""

from dataclasses import replace

import pytest
from matplotlib.collections import PathCollection

from tests.stand_ins import swept
from tutorlib.figures.levers import PLAIN, fusion, launches
from tutorlib.instruments.launches import LATER, TORCH
from tutorlib.measuring.results import NoData

SIZES = (512, 1024)


@pytest.fixture
def epilogues():
    """Two of each kind: "slow GELU" takes 8 times as long as what it is timed beside, others twice."""
    found = swept("slow GELU", "residual", "GELU beside torch", sizes=SIZES)
    plain = [
        replace(point, measurement=replace(point.measurement, baseline=PLAIN))
        for point in found.points
        if "beside" not in point.name
    ]
    return replace(found, points=(*plain, *found.of_kernel("GELU beside torch")))


def dots(axes):
    return [one.get_offsets().tolist() for one in axes.collections if isinstance(one, PathCollection)]


def rows(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def test_a_mark_for_each_kernel_and_shape_beside_what_it_was_timed_beside(epilogues):
    plain, by_torch = fusion([epilogues]).axes
    assert (rows(plain), rows(by_torch)) == (["slow GELU", "residual"], ["GELU\nbeside torch"])
    assert dots(plain) == [[[0.125, 0], [0.5, 1]]] * 2
    assert dots(by_torch) == [[[0.5, 0]]] * 2
    assert plain.get_xlabel().startswith(f"speed as a fraction of {PLAIN}'s")


def test_gpus_have_a_column_each_with_the_same_rows_and_axes(epilogues):
    elsewhere = replace(epilogues, machine={**epilogues.machine, "gpu": "another"}, points=epilogues.points[::-1])
    left, right, *below = fusion([epilogues, elsewhere]).axes
    assert right.get_title(loc="left").startswith("another")
    assert (left.get_xlim(), left.get_ylim()) == (right.get_xlim(), right.get_ylim())
    assert dots(left) == [sorted(marks, key=lambda mark: mark[1]) for marks in dots(right)]
    assert len(below) == 2


FOUND = {"machine": {"gpu": "NVIDIA X"}, LATER: {"slow": 2000.0, "kept": 4.2, "graph": 0.12, TORCH: 5.3}}


def test_a_dot_for_each_way():
    figure = launches([FOUND, {"machine": {"gpu": None}}])
    (axes,) = figure.axes
    assert [x for x, _ in axes.collections[0].get_offsets()] == [2000.0, 4.2, 0.12, 5.3]
    assert [text.get_text() for text in axes.texts] == ["2,000", "4.2", "0.12", "5.3"]
    assert axes.get_title(loc="left") == "NVIDIA X"


def test_without_launches_it_says_what_to_run():
    with pytest.raises(NoData, match="tutor sweep launches"):
        launches([])
