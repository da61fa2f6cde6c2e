"""Grids of cells."""

from tutorlib.draw.grid import fitting, outline


def test_an_outline_goes_around_a_block():
    assert len(outline(frozenset({(0, 0)}))) == 4
    assert len(outline(frozenset({(0, 0), (0, 1), (1, 0), (1, 1)}))) == 8


def test_numbers_of_three_digits_leave_a_gap_between_them():
    digit = 0.636  # the width of DejaVu's, of its size
    for number in ("100", "1024"):
        assert len(number) * digit * fitting(number, 20) < 0.76 * 20
    assert fitting("A,1", 20) > fitting("100", 20)
