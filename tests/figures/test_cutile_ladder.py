"""The figure of notebook 07's ladder."""

from tests.stand_ins import swept
from tutorlib.figures.cutile_ladder import tile_ladder


def test_a_mark_for_each_rung_and_size():
    (axes,) = tile_ladder([swept("slow", "fast", "faster")]).axes
    assert len(axes.collections) == 3
    assert [tuple(at) for at in axes.collections[0].get_offsets()] == [(0.125, 0), (0.5, 1), (0.5, 2)]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["slow", "fast", "faster"]
