"""The picture of a layout."""

from tutorlib.draw.algebra import compose_grids
from tutorlib.draw.layouts import breaks, cell_of, layout_grid
from tutorlib.layouts.composition import compose_view


def test_a_layout_picture_shows_its_offsets_and_blocks():
    grid = layout_grid("((2,2),3):((1,6),2)", highlight=[((1, 1), 2), 0, (0, 1)])
    assert grid.labels == [["0", "2", "4"], ["1", "3", "5"], ["6", "8", "10"], ["7", "9", "11"]]
    assert list(grid.down) == ["(0,0)", "(1,0)", "(0,1)", "(1,1)"]
    assert list(grid.row_breaks) == [2]
    assert grid.outlined == {(3, 2), (0, 0), (0, 1)}
    assert breaks((2, 3, 2)).keys() == {2, 4, 6, 8, 10}
    assert breaks((2, 3, 2))[6] > breaks((2, 3, 2))[2]
    assert cell_of((2, 3, 4), (1, 2, 3)) == (1, 11)


def test_a_composition_with_one_mode_is_titled_as_it_is_written():
    *_, composed = compose_grids(compose_view("(4,8):(8,1)", "8:2"))
    assert composed.title.startswith("a∘b = (2,4):(16,1)\n")
