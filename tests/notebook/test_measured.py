"""Measurements as a page shows them: one call each, and a line where there are none."""

from dataclasses import replace

import pytest

from tests.stand_ins import MACHINE, multiplied
from tutorlib.measuring import results
from tutorlib.measuring.results import Point, SweepResults
from tutorlib.notebook.measured import (
    show_costs,
    show_counts,
    show_levers,
    show_speeds,
    show_sweep,
)

ONE, TWO = (1024,) * 3, (2048,) * 3
COLUMN = "NVIDIA H200, 2026-11-21, {}"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "SWEEPS", tmp_path)


def write(name, points, **others):
    SweepResults(MACHINE, "2026-11-21", True, tuple(points), **others).write(name)


@pytest.mark.parametrize(
    "show",
    [
        show_levers,
        lambda: show_sweep("gemm_k"),
        lambda: show_speeds("gemm_k"),
    ],
)
def test_where_nothing_was_measured_a_line_says_how(show, capsys):
    assert show() is None
    assert "not measured yet: run `tutor sweep " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("show", "cell"),
    [
        (show_costs, lambda table: table[COLUMN.format("cool"), "speed"].loc["1,024 tokens", "cuBLAS"]),
        (show_sweep, lambda table: table[COLUMN.format("cool"), "of cuBLAS"]),
    ],
)
def test_a_ratio_whose_pairs_spread_too_far_is_marked_and_a_line_says_so(show, cell, capsys):
    steady = multiplied(ONE, 840.0)
    write("gemm_k", [Point("steady", steady, {}), Point("restless", replace(steady, spread=0.06), {})])
    said = cell(show("gemm_k"))
    assert (said["steady"], said["restless"]) == ("1.050 ±0.5%", "≈1.050 ±3.0%")
    assert "≈: the pairs spread by more than 5%" in capsys.readouterr().out
    write("gemm_k", [Point("steady", steady, {})])
    show("gemm_k")
    assert "≈" not in capsys.readouterr().out


PINGPONG = {"schedule": "pingpong", "tile": [128, 192, 64], "stream_k": True}


def test_an_epilogue_has_its_configuration_and_the_time_that_it_adds():
    measured = replace(multiplied(ONE, 840.0), ratio=0.8, baseline="the plain GEMM", baseline_us=7.0)
    facts = {"config": PINGPONG, "plain_config": {"cluster": [2, 1]}}
    by_torch = Point("bias beside torch", replace(measured, baseline="torch"), facts)
    write("fused_epilogues", [Point("bias", measured, facts), by_torch])
    table = show_costs("fused_epilogues")[COLUMN.format("cool")]
    assert list(table.index) == [
        ("1024", "", "the plain GEMM", "cooperative 128×256 2×1"),
        ("1024", "the plain GEMM", "bias", "ping-pong 128×192 1×1 stream-K"),
        ("1024", "torch", "bias", "ping-pong 128×192 1×1 stream-K"),
    ]
    assert list(table["time added"]) == ["", "+25.0%", "+25.0%"]
    assert table["µs"].iloc[0] == "7.0"


def test_counters_are_multiples_of_one_kernel_s_and_those_of_a_tuple_are_added(capsys):
    points = [Point(name, multiplied(shape, speed)) for shape in (ONE, TWO) for name, speed in (("a", 100), ("b", 400))]
    assert show_counts("copy_naive", over="b", read="dram.read") is None
    assert "nothing was counted yet: `tutor sweep copy_naive`" in capsys.readouterr().out
    counted = {"a": {"read": 30.0, "written": 10.0}, "b": {"read": 15.0, "written": 1.0}}
    write("copy_naive", points, counters=counted)
    table = show_counts("copy_naive", over="b", read="read", both=("read", "written"))[COLUMN.format("cool")]
    assert table.loc["a"].to_dict() == {"time": "×4.0", "read": "×2.0", "both": "×2.5"}
    assert set(table.loc["b"]) == {"×1.0"}


class TestLevers:
    @pytest.fixture(autouse=True)
    def measured(self):
        rows = (([], 720, 720), (["multicast"], 792, 756), (["multicast", "polling"], 800, 756))
        write(
            "hopper_levers",
            (
                Point(" + ".join(levers) or "plain", multiplied(shape, row[column]), {"levers": levers})
                for column, shape in enumerate((ONE, TWO))
                for levers, *row in rows
            ),
        )

    def test_a_tree_with_each_levers_gain_on_the_row_that_it_stands_on(self):
        table = show_levers()[COLUMN.format("cool")]
        assert list(table.index) == ["plain", "+ multicast", "· + polling"]
        assert list(table["1024"]) == ["0.900 ±0.5%", "0.990 ±0.5% (+10.0%)", "1.000 ±0.5% (+1.0%)"]
        assert list(table["2048"]) == ["0.900 ±0.5%", "0.945 ±0.5% (+5.0%)", "0.945 ±0.5% (+0.0%, within noise)"]
