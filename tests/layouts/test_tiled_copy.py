"""Which thread of a TiledCopy holds which element, against the real CuTe DSL."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_layouts import Layout, size

from tutorlib.layouts.notation import NotationError
from tutorlib.layouts.oracle import ask
from tutorlib.layouts.tiled_copy import tiled_copy_view

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
