"""The space of tiles and hints of cuTile's attention."""

import pytest

from tutorlib.instruments.attention_tiles import KERNELS, Tile, tiles_to_try
from tutorlib.kernels.attention import launch

IN_USE = {
    "tile_forward": launch.FORWARD_TILE,
    "backward_keys": launch.KEYS_TILE,
    "backward_queries": launch.QUERIES_TILE,
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [64, 128])
def test_it_has_the_tiles_in_use_and_few_others(kernel, d):
    found = list(tiles_to_try(kernel, d))
    assert len(found) == len(set(found)) <= 30
    if d == 128:
        assert Tile(*IN_USE[kernel], num_worker_warps=8, num_ctas=1, occupancy=1) in found
