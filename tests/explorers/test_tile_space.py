"""The explorer of tile space."""

import pytest

from tests.explorers.clicks import click
from tutorlib.explorers.tile_space import Cut, explore_tile_space, scene


@pytest.mark.parametrize(
    ("clicked", "says"),
    [
        ((0, (9, 17)), "element (9, 17) is (1, 1) of tile (2, 2)"),
        ((0, (10, 0)), "(10, 0) is outside: a load pads it, a store drops it"),
        ((1, (2, 2)), "ct.load(x, (2, 2), (4, 8)): 8 of its 32 elements exist"),
    ],
)
def test_what_the_explorer_says(clicked, says):
    grids, said = scene(Cut((10, 20), (4, 8)), clicked)
    assert says in said
    assert len(grids[0].outlined) == 32


def test_the_explorer_takes_any_size():
    explorer = explore_tile_space((10, 20), (4, 8))
    click(explorer, 1, 2, 0)
    explorer.inputs[0].value = 1
    assert [(grid.rows, grid.columns) for grid in explorer.drawn] == [(4, 24), (1, 3)]
    assert not explorer.grids.problem
