"""Grids of cells."""

from tutorlib.draw.grid import outline


def test_an_outline_goes_around_a_block():
    assert len(outline(frozenset({(0, 0)}))) == 4
    assert len(outline(frozenset({(0, 0), (0, 1), (1, 0), (1, 1)}))) == 8
