"""Layouts, their composition and their offsets, compared with the real CuTe."""

from hypothesis import given
from hypothesis import strategies as st
from tensor_layouts import Layout, LayoutError, cosize, size

from tests.layouts.random_layouts import cells_of, layouts, many, thorough
from tutorlib.layouts.composition import NoLayout, compose_view
from tutorlib.layouts.matrix import layout_view
from tutorlib.layouts.oracle import Refused, ask


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
        for cell in cells_of(b):
            row, column = view.source(cell)
            assert layout_view(a).offsets[row][column] == view.offsets[cell[0]][cell[1]]
            assert cell in view.takers((row, column))


def repeated(a, b):
    """a with a last mode long enough that every value of b is an index of it."""
    times = -(-cosize(b) // size(a))
    return Layout((a.shape, times), (a.stride, cosize(a))) if times > 1 else a


def test_a_composition_that_leaves_a_has_no_value_there():
    view = compose_view("(2,2):(2,1)", "6:1")
    assert view.offsets == ((0, 2, 1, 3, None, None),)
    assert view.source((0, 4)) is None


@thorough
@given(many(layouts()))
def test_layout_numbers_are_cutes(batch):
    """Offsets by flat index and by natural coordinate."""
    views = [layout_view(layout) for layout in batch]
    places = [[view.at(cell) for cell in cells_of(view.layout)] for view in views]
    by_index = ask([("crd2idx", place.index, v.layout) for v, row in zip(views, places, strict=True) for place in row])
    natural = ask(
        [("crd2idx", place.coordinate, v.layout) for v, row in zip(views, places, strict=True) for place in row]
    )
    assert by_index == natural == [place.offset for row in places for place in row]
    for place in (place for row in places for place in row):
        terms, _, total = place.sum.partition(" = ")
        assert int(total) == place.offset == eval(terms.replace("·", "*"))
