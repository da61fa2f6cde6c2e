"""Notebooks 00 and 02: what the pages show of checks and say of CuTe is so."""

from tutorlib.exercises import find
from tutorlib.paths import SOLUTIONS


def test_the_failure_that_the_page_shows_is_what_check_says():
    def ceil_div(n, tile):
        return n // tile

    text = (SOLUTIONS / "00_start.py").read_text(encoding="utf-8")
    for line in find("00.1").grade(ceil_div).message.splitlines():
        assert f"#     {line}\n" in text
