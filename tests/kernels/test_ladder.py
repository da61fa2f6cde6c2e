"""The ladder's rungs and their orders of blocks."""

from functools import partial

import pytest

from tutorlib.kernels.ladder import LADDER, in_eights
from tutorlib.models.l2 import grouped, raster


def test_titles_tell_the_rungs_apart():
    assert len({rung.title for rung in LADDER}) == len(LADDER)
    assert [rung.notebook for rung in LADDER] == sorted(rung.notebook for rung in LADDER)


@pytest.mark.parametrize("group", [1, 3, 8, 100])
@pytest.mark.parametrize("grid", [(1, 1), (8, 8), (13, 5), (5, 13), (32, 17)])
def test_an_order_of_blocks_visits_every_tile_once(grid, group):
    everything = sorted((m, n) for m in range(grid[0]) for n in range(grid[1]))
    for order in (raster, in_eights, partial(grouped, group=group)):
        assert sorted(order(block, *grid) for block in range(len(everything))) == everything
