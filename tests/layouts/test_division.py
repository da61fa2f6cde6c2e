"""Divisions and tiled copies, compared with the real CuTe."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_layouts import Layout, LayoutError, mode, rank, size

from tests.layouts.random_layouts import cells_of, layouts, many, thorough
from tutorlib.layouts.division import divide_view
from tutorlib.layouts.matrix import layout_view
from tutorlib.layouts.notation import NotationError, text
from tutorlib.layouts.oracle import Refused, ask
from tutorlib.layouts.tiled_copy import tiled_copy_view


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


EXTENT = st.sampled_from([1, 2, 3, 4, 8])


@st.composite
def matrices(draw):
    """A layout that numbers the cells of a small matrix, by rows or by columns."""
    rows, columns = draw(EXTENT), draw(EXTENT)
    return Layout((rows, columns), draw(st.sampled_from([(columns, 1), (1, rows)])))


@settings(max_examples=2, derandomize=True)
@given(st.lists(st.tuples(matrices(), matrices(), st.integers(1, 3), st.integers(1, 3)), min_size=50, max_size=50))
def test_holders_are_those_of_cutes_thread_value_layouts(batch):
    """make_layout_tv(threads, values) is right_inverse(raked_product(threads, values)) ∘ (threads, values)."""
    raked = ask([("raked_product", threads, values) for threads, values, *_ in batch])
    inverses = ask([("right_inverse", product) for product in raked])
    shapes = [Layout((size(threads), size(values))) for threads, values, *_ in batch]
    layouts = ask([("composition", *pair) for pair in zip(inverses, shapes, strict=True)])
    for (threads, values, down, across), theirs in zip(batch, layouts, strict=True):
        rows, columns = step_of(threads, values)
        view = tiled_copy_view(threads, values, (rows * down, columns * across))
        assert [view.layout(n) for n in range(size(theirs))] == [theirs(n) for n in range(size(theirs))]
        for row, column in view.places:
            thread, value = view.holder((row, column))
            n, within = divmod(value, size(values))
            at = theirs(thread + size(threads) * within)
            assert (row % rows, column % columns) == (at % rows, at // rows)
            assert (row // rows, column // columns) == (n % down, n // down)


def step_of(threads, values):
    return tuple(t * v for t, v in zip(threads.shape, values.shape, strict=True))


@pytest.mark.parametrize(
    ("threads", "values", "tile", "says"),
    [
        (Layout((2, 4), (4, 1)), Layout((1, 4)), (8, 15), "One step covers (2,16) elements"),
        (Layout((2, 4), (8, 1)), Layout((1, 4)), (8, 16), "do not number 8 cells"),
        (Layout((2, 4), (0, 1)), Layout((1, 4)), (8, 16), "do not number 8 cells"),
        (Layout(8), Layout((1, 4)), (8, 16), "are no matrix"),
        (Layout((2, 4)), Layout(((2, 2), 1)), (8, 16), "are no matrix"),
        (Layout((2, 4)), Layout((1, 4)), (8,), "is no matrix"),
    ],
)
def test_what_is_no_tiled_copy_is_said_so(threads, values, tile, says):
    with pytest.raises(NotationError) as error:
        tiled_copy_view(threads, values, tile)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
