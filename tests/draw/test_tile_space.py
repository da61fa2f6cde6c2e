"""The picture of tile space."""

from itertools import pairwise, product

from tutorlib.draw.tile_space import array_grid, space_grid


def test_a_picture_of_tile_space():
    array, space = array_grid((10, 20), (4, 8)), space_grid((10, 20), (4, 8))
    assert (array.rows, array.columns) == (12, 24)
    assert (space.rows, space.columns) == (3, 3)
    assert array.colors[9][19] == space.colors[2][2]
    assert array.colors[10][19] is None
    colors = [color for row in space.colors for color in row]
    assert all(a != b for a, b in pairwise(colors))


def test_nine_tiles_have_nine_colors():
    colors = {cell for row in space_grid((9, 9), (3, 3)).colors for cell in row}
    assert len(colors) == 9


def test_neighbors_differ_along_rows_columns_and_diagonals():
    for across in range(1, 41):
        colors = space_grid((40, across), (1, 1)).colors
        for i, j in product(range(39), range(across)):
            beside = [(0, 1), (1, -1), (1, 0), (1, 1)]
            others = [colors[i + down][j + right] for down, right in beside if 0 <= j + right < across]
            assert colors[i][j] not in others
