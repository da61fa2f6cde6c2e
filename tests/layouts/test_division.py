"""Divisions, cell by cell, against the real CuTe DSL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensor_layouts import LayoutError, mode, rank, size

from tests.layouts.random_layouts import cells_of, layouts, many, thorough
from tutorlib.layouts.division import divide_view
from tutorlib.layouts.matrix import layout_view
from tutorlib.layouts.notation import text
from tutorlib.layouts.oracle import Refused, ask


@thorough
@given(many(st.tuples(layouts(), st.lists(st.integers(1, 6), min_size=1, max_size=3))))
def test_divisions_are_cutes(pairs):
    """All offsets inside the matrix, and the very layout where tiles fill the modes exactly.

    Where the explorer shows a message, CuTe refuses, or returns other elements than the matrix has.
    """
    pairs = [(whole, tuple(cut[: rank(whole)])) for whole, cut in pairs]
    divided = ask([("zipped_divide", whole, cut) for whole, cut in pairs])
    for (whole, cut), theirs in zip(pairs, divided, strict=True):
        exact = all(size(mode(whole, n)) % tile == 0 for n, tile in enumerate(cut))
        try:
            view = divide_view(whole, cut)
        except LayoutError:
            assert isinstance(theirs, Refused) or not exact or all_offsets(theirs) != all_offsets(whole), (whole, cut)
            continue
        check_sources(view)
        if isinstance(theirs, Refused):
            assert not exact, (whole, cut, view.divided)
            continue
        assert text(view.divided) == text(theirs) or not exact
        shown = [offset for column in zip(*view.offsets, strict=True) for offset in column]
        expected = [theirs(index) if offset is not None else None for index, offset in enumerate(shown)]
        assert shown == expected, (whole, cut, theirs)


def all_offsets(layout):
    return sorted(layout(index) for index in range(size(layout)))


def check_sources(view):
    """The offset is the same on both sides of the division, and every cell is in some tile."""
    offsets = layout_view(view.layout).offsets
    for inside, row in enumerate(view.sources):
        for which, cell in enumerate(row):
            if cell:
                assert offsets[cell[0]][cell[1]] == view.offsets[inside][which], (view.layout, view.tiler)
                assert (inside, which) in view.places(cell)
    assert all(view.places(cell) for cell in cells_of(view.layout)), (view.layout, view.tiler)


@pytest.mark.parametrize("cut", ["4:2", "(2,2):(1,8)", "8:1", "4:16"])
def test_divisions_by_a_layout(cut):
    view = divide_view("(8,8):(8,1)", cut)
    [theirs] = ask([("zipped_divide", view.layout, view.tiler)])
    assert [offset for column in zip(*view.offsets, strict=True) for offset in column] == [
        theirs(index) for index in range(64)
    ]
    check_sources(view)
