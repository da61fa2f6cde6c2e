"""The picture of tile space."""

from itertools import pairwise, product

from tutorlib.draw.tile_space import array_grid, space_grid


def test_a_picture_of_tile_space():
    array, space = array_grid((10, 20), (4, 8)), space_grid((10, 20), (4, 8))
    assert (array.rows, array.columns) == (12, 24)
    assert (space.rows, space.columns) == (3, 3)
    assert array.colours[9][19] == space.colours[2][2]
    assert array.colours[10][19] is None
    colours = [colour for row in space.colours for colour in row]
    assert all(a != b for a, b in pairwise(colours))


def test_nine_tiles_have_nine_colours():
    colours = {cell for row in space_grid((9, 9), (3, 3)).colours for cell in row}
    assert len(colours) == 9


def test_neighbors_differ_along_rows_columns_and_diagonals():
    for across in range(1, 41):
        colours = space_grid((40, across), (1, 1)).colours
        for i, j in product(range(39), range(across)):
            beside = [(0, 1), (1, -1), (1, 0), (1, 1)]
            others = [colours[i + down][j + right] for down, right in beside if 0 <= j + right < across]
            assert colours[i][j] not in others
