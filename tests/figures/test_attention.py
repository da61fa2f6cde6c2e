"""The figures of attention show what was measured."""

from dataclasses import replace

from tests.stand_ins import MACHINE, multiplied
from tutorlib.figures.ladders import attention_ladder
from tutorlib.measuring.results import Point, SweepResults


def swept(points):
    return SweepResults(MACHINE, "2026-11-25", True, tuple(points))


def timed(tokens, ratio, kv_heads=16):
    return replace(multiplied((512,) * 3, 800 * ratio), shape=(1, 16, kv_heads, tokens, tokens, 128))


def test_a_row_for_each_kind_and_a_panel_for_each_kind_of_heads_with_a_line_for_each_kernel():
    found = swept(
        Point(name, timed(n, ratio, kv_heads))
        for n in (4096, 1024)
        for kv_heads in (16, 2)
        for name, ratio in (("CuTe", 1.0), ("cuTile", 0.5))
    )
    figure = attention_ladder([("attention_full", found), ("attention_causal", found)])
    assert len(figure.axes) == 4
    first = figure.axes[0]
    assert first.get_title("left").endswith("all keys, cool\n16 heads of 128, 2 of K and V")
    assert [line.get_label() for line in first.get_lines()] == ["cuBLAS", "CuTe", "cuTile"]
    assert [list(line.get_xdata()) for line in first.get_lines()] == [[1024, 4096]] * 3
