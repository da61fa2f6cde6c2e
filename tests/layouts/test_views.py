"""Views of compositions, divisions and tiled copies, against CuTe."""

from itertools import product

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tensor_layouts import Layout, LayoutError, cosize, mode, rank, size

from tutorlib.layouts.matrix import coordinate, matrix, modes
from tutorlib.layouts.notation import NotationError, text
from tutorlib.layouts.oracle import Refused, ask
from tutorlib.layouts.views import NoLayout, compose_view, divide_view, tiled_copy_view

SHAPES = st.recursive(
    st.integers(1, 6), lambda part: st.lists(part, min_size=2, max_size=3).map(tuple), max_leaves=4
).filter(lambda shape: size(shape) <= 48)
STRIDES = st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 16, 24])


@st.composite
def layouts(draw, strides=STRIDES):
    """A stride beside an extent of 1 is never used and libraries differ in what becomes of it; here it is 0."""

    def stride(shape):
        if isinstance(shape, tuple):
            return tuple(map(stride, shape))
        return draw(strides) if shape > 1 else 0

    shape = draw(SHAPES)
    return Layout(shape, stride(shape))


def many(strategy):
    """Batches, so that one CuTe trace answers for fifty."""
    return st.lists(strategy, min_size=50, max_size=50)


thorough = settings(max_examples=12, derandomize=True, phases=[Phase.generate])


def cells_of(layout):
    """The cells of a layout's matrix in the order of the flat index."""
    rows, columns = map(size, modes(layout.shape))
    return [(row, column) for column in range(columns) for row in range(rows)]


@thorough
@given(many(st.tuples(layouts(), layouts())))
def test_compositions_are_cutes(pairs):
    """Where the explorer shows a∘b, so does CuTe; where it shows a message, CuTe refuses or breaks R(i) = a(b(i))."""
    pairs = [(repeated(a, b), b) for a, b in pairs]
    composed = ask([("composition", a, b) for a, b in pairs])
    for (a, b), theirs in zip(pairs, composed, strict=True):
        law = [a(b(index)) for index in range(size(b))]
        try:
            view = compose_view(a, b)
        except (LayoutError, NoLayout):
            assert isinstance(theirs, Refused) or [theirs(index) for index in range(size(b))] != law, (a, b, theirs)
            continue
        shown = [view.offsets[row][column] for row, column in cells_of(b)]
        assert shown == [theirs(index) for index in range(size(b))] == law, (a, b)


def repeated(a, b):
    """a with a last mode long enough that every value of b is an index of it."""
    times = -(-cosize(b) // size(a))
    return Layout((a.shape, times), (a.stride, cosize(a))) if times > 1 else a


def test_a_composition_that_leaves_a_has_no_value_there():
    view = compose_view("(2,2):(2,1)", "6:1")
    assert view.offsets == ((0, 2, 1, 3, None, None),)


@thorough
@given(many(layouts()))
def test_offsets_are_cutes(batch):
    """By flat index and by natural coordinate."""
    by_index = ask([("crd2idx", index, layout) for layout in batch for index in range(size(layout))])
    natural = ask([("crd2idx", coordinate(one.shape, cell), one) for one in batch for cell in cells_of(one)])
    tables = [(matrix(layout), cells_of(layout)) for layout in batch]
    assert by_index == natural == [table[row][column] for table, cells in tables for row, column in cells]


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
    offsets = matrix(view.layout)
    for inside, row in enumerate(view.sources):
        for which, cell in enumerate(row):
            if cell:
                assert offsets[cell[0]][cell[1]] == view.offsets[inside][which], (view.layout, view.tiler)
    reached = {cell for row in view.sources for cell in row}
    assert reached.issuperset(cells_of(view.layout)), (view.layout, view.tiler)


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
        for row, column in product(*map(range, view.tile)):
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
