"""The TiledCopy explorer, against the real CuTe DSL."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_layouts import Layout, size

from tutorlib.cute import ask
from tutorlib.kernel_widgets import explore_tv
from tutorlib.notation import NotationError
from tutorlib.threads import tiled_view

EXTENT = st.sampled_from([1, 2, 3, 4, 8])


@st.composite
def matrices(draw):
    """A layout that numbers the cells of a small matrix, by rows or by columns."""
    rows, columns = draw(EXTENT), draw(EXTENT)
    return Layout((rows, columns), draw(st.sampled_from([(columns, 1), (1, rows)])))


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.tuples(matrices(), matrices(), st.integers(1, 3), st.integers(1, 3)), min_size=50, max_size=50))
def test_holders_are_those_of_cutes_thread_value_layouts(batch):
    """make_layout_tv(threads, values) is right_inverse(raked_product(threads, values)) ∘ (threads, values)."""
    raked = ask([("raked_product", threads, values) for threads, values, *_ in batch])
    inverses = ask([("right_inverse", product) for product in raked])
    shapes = [Layout((size(threads), size(values))) for threads, values, *_ in batch]
    layouts = ask([("composition", *pair) for pair in zip(inverses, shapes, strict=True)])
    for (threads, values, down, across), theirs in zip(batch, layouts, strict=True):
        rows, columns = step_of(threads, values)
        view = tiled_view(threads, values, (rows * down, columns * across))
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
        tiled_view(threads, values, tile)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_click_shows_all_that_a_thread_holds():
    explorer = explore_tv()
    explorer.clicked(None, {"grid": 0, "row": 3, "column": 5}, None)
    assert explorer.grids.answer == "(3,5) is value 5 of thread 5, in warp 0; it holds 16 values"
    assert len(explorer.drawn[0].outlined) == 16


def test_a_bad_input_leaves_the_picture():
    explorer = explore_tv()
    before = explorer.grids.grids
    for box, bad in ((0, "(2,4):(8,1)"), (1, "(1,4"), (2, "8"), (2, "(8,15)"), (2, "(4096,4096)")):
        good = explorer.inputs[box].value
        explorer.inputs[box].value = bad
        assert explorer.grids.problem
        assert explorer.grids.grids == before
        explorer.inputs[box].value = good
        assert not explorer.grids.problem


def test_it_redraws_fast():
    explorer = explore_tv("(4,8):(8,1)", "(1,4):(4,1)", "(32,32)")
    start = time.perf_counter()
    explorer.clicked(None, {"grid": 0, "row": 31, "column": 31}, None)
    assert time.perf_counter() - start < 0.2
