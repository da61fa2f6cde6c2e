"""The figure of notebook 07's ladder."""

from matplotlib.collections import PathCollection

from tests.stand_ins import swept
from tutorlib.figures.registry import FIGURES


def test_a_mark_for_each_rung_and_size():
    (axes,) = FIGURES["tile_ladder"].draw([swept("slow", "fast", "faster")]).axes
    marks = [one for one in axes.collections if isinstance(one, PathCollection)]
    assert len(marks) == 3
    assert [tuple(at) for at in marks[0].get_offsets()] == [(0.125, 0), (0.5, 1), (0.5, 2)]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["slow", "fast", "faster"]
