"""The space of tiles and hints of cuTile's attention, and the tiles in use."""

import pytest

from tutorlib.instruments.attention_tiles import KERNELS, tiles_to_try
from tutorlib.kernels.attention.tile_sizes import ANYWHERE, measured_tiles


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [64, 128])
def test_it_has_the_default_tile_and_few_others(kernel, d):
    found = list(tiles_to_try(kernel, d))
    assert len(found) == len(set(found)) <= 30
    if d == 128:
        assert ANYWHERE[kernel] in found


def test_every_kernel_has_a_tile_in_use_which_the_instrument_tries():
    wanted = {(kernel, d, causal) for kernel in KERNELS for d in (64, 128) for causal in (False, True)}
    assert measured_tiles().keys() == {
        (*rest, causal) for *rest, causal in wanted if not (rest[0] == "decode_parts" and causal)
    }
    for (kernel, d, _), tile in measured_tiles().items():
        assert tile in set(tiles_to_try(kernel, d))
