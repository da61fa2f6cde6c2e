"""Levers: which row stands on which, and what each lever gained."""

import pytest

from tests.stand_ins import MACHINE, multiplied
from tutorlib.measuring.levers import gains_of, stacks_of
from tutorlib.measuring.results import Point, SweepResults

SMALL, LARGE = (512,) * 3, (2048,) * 3


def swept(*rows):
    """rows: (levers or None, TFLOP/s at SMALL, at LARGE); cuBLAS has 100."""
    points = [
        Point(
            "+".join(levers) if levers is not None else "another",
            multiplied(shape, tflops, 100.0),
            {} if levers is None else {"levers": list(levers)},
        )
        for shape, column in ((LARGE, 2), (SMALL, 1))
        for levers, tflops in ((row[0], row[column]) for row in rows)
    ]
    return SweepResults(MACHINE, "2026-11-21", True, tuple(points))


FOUND = swept(("", 50, 60), ("a", 55, 63), ("ab", 66, 70), ("b", 52, 66), (None, 80, 90), ("abc", 67, 77))


class TestStacks:
    def test_a_row_stands_on_the_nearest_one_above_that_has_a_lever_less(self):
        assert [(stack.added, stack.on, stack.depth) for stack in stacks_of(FOUND)] == [
            ("", "", 0), ("a", "", 1), ("b", "a", 2), ("b", "", 1), ("", "", 0), ("c", "a+b", 3),
        ]  # fmt: skip
        assert [stack.label for stack in stacks_of(FOUND)] == ["", "+ a", "· + b", "+ b", "another", "· · + c"]


class TestGains:
    def test_a_lever_is_weighed_wherever_it_is_the_only_difference(self):
        found = {(gain.lever, gain.on): gain.gains for gain in gains_of(FOUND)}
        assert set(found) == {("a", ""), ("b", ""), ("b", "a"), ("a", "b"), ("c", "a+b")}
        assert found["a", "b"] == {SMALL: pytest.approx(66 / 52 - 1), LARGE: pytest.approx(70 / 66 - 1)}

    def test_a_gain_smaller_than_the_spread_is_noise(self):
        close = swept(("", 50, 50), ("a", 50.4, 50.6))  # each spreads by 1 %
        (gain,) = gains_of(close)
        assert gain.noise == {SMALL}
