"""Progress: lines of a run whose output is kept, by a clock that the test turns; a bar on a terminal."""

import io

import pytest
from rich.console import Console

from tutorlib.grading.progress_display import BETWEEN_S, Lines, progress


def said_of(total: int, seconds_each: float) -> list[str]:
    said: list[str] = []
    now = 0.0
    lines = Lines(said.append, "submissions", clock=lambda: now)
    lines.started(total)
    for n in range(total):
        now += seconds_each
        lines.done(str(n))
    return said


@pytest.mark.parametrize(("total", "seconds_each"), [(1000, 0.1), (7, 30), (1, 0), (3, BETWEEN_S)])
def test_never_more_than_one_in_ten_seconds_and_one_at_the_end(total, seconds_each):
    said = said_of(total, seconds_each)
    assert len(said) <= total * seconds_each / BETWEEN_S + 1
    assert [line for line in said if " left" not in line] == [said[-1]]
    assert said[-1].startswith(f"graded {total} of {total} submissions in ")


def test_a_console_that_is_no_terminal_gets_lines():
    file = io.StringIO()
    with progress(Console(file=file), "notebooks") as shown:
        shown.started(1)
        shown.done("00_start")
    assert file.getvalue() == "graded 1 of 1 notebooks in 0 s\n"


def test_a_terminal_gets_a_bar_with_the_time_left_and_keeps_nothing():
    file = io.StringIO()
    with progress(Console(file=file, force_terminal=True, width=100), "notebooks") as shown:
        shown.started(2)
        shown.done("00_start")
        shown.bar.refresh()
    text = file.getvalue()
    assert "grading notebooks" in text
    assert "1/2" in text
    assert "left:" in text
    assert "graded" not in text
