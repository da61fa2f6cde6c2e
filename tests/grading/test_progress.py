"""Progress: lines of a run whose output is kept, by a clock that the test turns; a bar on a terminal."""

import io

import pytest
from rich.console import Console

from tutorlib.grading.scores import BETWEEN_S, progress


@pytest.mark.parametrize(("total", "seconds_each"), [(1000, 0.1), (7, 30), (1, 0), (3, BETWEEN_S)])
def test_never_more_than_one_in_ten_seconds_and_one_at_the_end(total, seconds_each):
    file, now = io.StringIO(), 0.0
    with progress(Console(file=file), "submissions", total, clock=lambda: now) as done:
        for _ in range(total):
            now += seconds_each
            done()
    said = file.getvalue().splitlines()
    assert len(said) <= total * seconds_each / BETWEEN_S + 1
    assert said[-1].startswith(f"graded {total} of {total} submissions in ")


def test_a_terminal_gets_a_bar_with_the_time_left_and_keeps_nothing():
    file = io.StringIO()
    with progress(Console(file=file, force_terminal=True, width=100), "notebooks", 2) as done:
        done("00_start")
    text = file.getvalue()
    assert "grading notebooks" in text
    assert "left:" in text
    assert "graded" not in text
