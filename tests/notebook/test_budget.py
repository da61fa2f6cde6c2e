"""A kernel's time, added up: the parts and what is left make what was measured."""

from dataclasses import replace

import pytest

from tests.stand_ins import copied
from tutorlib.measuring.results import Point
from tutorlib.notebook.budget import budget

CYCLES = {"clock_mhz": 1000, "first SEE_FULL": 3000, "per K tile": 1100, "epilogue": 2000, "block": 300_000}


def test_the_lines_add_up():
    large = replace(copied(1.0, median_us=290.0), shape=(4096, 4096, 4096))
    small = replace(copied(1.0, median_us=50.0), shape=(2048, 2048, 2048), clock_mhz=2000)
    traced = Point("cooperative", large, {"cycles": CYCLES, "stamped_us": 304.0})
    head, inside, driver, *lines = budget(traced, Point("persistent", small, {}))
    assert head.split()[-2:] == ["4096³", "2048³"]
    assert (inside.split()[-1], driver.split()[-1]) == ("1,000", "2,000")
    columns = [[float(line.split()[at].replace(",", "")) for line in lines] for at in (-2, -1)]
    assert columns[0] == [262.1, 19.5, 8.0, 3.0, 4.0, 7.4, 304.0]
    assert columns[1][:2] == [16.4, 1.2]
    for *parts, measured in columns:
        assert sum(parts) == pytest.approx(measured, abs=0.3)
