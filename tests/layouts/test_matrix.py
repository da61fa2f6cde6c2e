"""A layout's matrix of offsets, against the real CuTe DSL."""

from hypothesis import given

from tests.layouts.random_layouts import cells_of, layouts, many, thorough
from tutorlib.layouts.matrix import layout_view
from tutorlib.layouts.oracle import ask


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
