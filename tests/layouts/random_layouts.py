"""Layouts that hypothesis draws, in batches: one trace of CuTe answers for fifty."""

from hypothesis import Phase, settings
from hypothesis import strategies as st
from tensor_layouts import Layout, size

from tutorlib.layouts.matrix import modes

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
