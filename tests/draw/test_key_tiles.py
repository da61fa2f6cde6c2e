"""The picture of causal attention's tiles."""

from tutorlib.draw.key_tiles import key_grid
from tutorlib.exercises.n19_attention_tiles.exercises import key_tiles


def test_the_picture_shows_what_key_tiles_counts():
    for keys in (17, 64, 250, 600):
        grid = key_grid(320, keys, 64, 32)
        for m, row in enumerate(grid.labels):
            whole, end = key_tiles(m, 64, 32, keys)
            assert list(row) == ["whole"] * whole + ["mask"] * (end - whole) + [""] * (len(row) - end)
