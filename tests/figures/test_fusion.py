"""Notebook 16's figure: each kernel beside what it was timed beside, and the MLPs of the same GPU alone."""

from dataclasses import replace

import pytest

from tests.stand_ins import swept
from tutorlib.figures.fusion import PLAIN, fusion

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


def rows(axes):
    return [text.get_text() for text in axes.get_yticklabels()]


def test_a_mark_for_each_kernel_and_shape_beside_what_it_was_timed_beside(epilogues):
    plain, by_torch = fusion([epilogues]).axes
    assert (rows(plain), rows(by_torch)) == (["slow GELU", "residual"], ["GELU\nbeside torch"])
    assert [marks.get_offsets().tolist() for marks in plain.collections] == [[[0.125, 0], [0.5, 1]]] * 2
    assert [marks.get_offsets().tolist() for marks in by_torch.collections] == [[[0.5, 0]]] * 2


def test_a_bar_for_each_way_and_number_of_tokens(epilogues):
    mlp = swept("swapped, first", "slow", sizes=SIZES)
    elsewhere = replace(mlp, machine={**mlp.machine, "gpu": "another"})
    *_, axes = fusion([epilogues], [("forward", mlp), ("backward", elsewhere)]).axes
    assert axes.get_title(loc="left") == "Llama 3 8B's MLP, forward"
    assert rows(axes) == ["swapped,\nfirst", "slow"]
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.5, 0.125, 0.125]
    assert [text.get_text() for text in axes.texts] == ["512: 0.500", "1,024: 0.500", "512: 0.125", "1,024: 0.125"]
