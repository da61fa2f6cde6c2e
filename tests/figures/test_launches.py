"""The figure of the cost of a launch."""

import pytest

from tutorlib.figures.levers import launches
from tutorlib.instruments.launches import LATER, TORCH
from tutorlib.measuring.results import NoData

FOUND = {"machine": {"gpu": "NVIDIA X"}, LATER: {"slow": 2000.0, "kept": 4.2, "graph": 0.12, TORCH: 5.3}}


def test_a_dot_for_each_way():
    figure = launches([FOUND, {"machine": {"gpu": None}}])
    (axes,) = figure.axes
    assert [x for x, _ in axes.collections[0].get_offsets()] == [2000.0, 4.2, 0.12, 5.3]
    assert [text.get_text() for text in axes.texts] == ["2,000", "4.2", "0.12", "5.3"]
    assert axes.get_title(loc="left") == "NVIDIA X"


def test_without_data_it_says_what_to_run():
    with pytest.raises(NoData, match="tutor sweep launches"):
        launches([])
