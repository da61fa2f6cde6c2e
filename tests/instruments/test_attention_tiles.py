"""The space of tiles and hints of cuTile's attention, and the tiles in use."""

import json

import pytest

from tutorlib.instruments.attention_tiles import KERNELS, tiles_to_try
from tutorlib.kernels.attention.tile_sizes import ANYWHERE, HOPPER, Tile
from tutorlib.paths import DATA

TRIED = json.loads((DATA / "explored" / "h100_attention_tiles.json").read_text())["tried"]
CASES = [(kernel, *case) for kernel, by_case in HOPPER.items() for case in by_case]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [64, 128])
def test_it_has_the_default_tile_and_few_others(kernel, d):
    found = list(tiles_to_try(kernel, d))
    assert len(found) == len(set(found)) <= 30
    if d == 128:
        assert ANYWHERE[kernel] in found


@pytest.mark.parametrize(("kernel", "d", "causal"), CASES)
def test_the_tile_in_use_is_the_fastest_that_was_measured(kernel, d, causal):
    rows = [row for row in TRIED if (row["kernel"], row["d"], row["causal"]) == (kernel, d, causal)]
    fastest = min(rows, key=lambda row: row["ms"])
    assert HOPPER[kernel][d, causal] == Tile(*(fastest[name] for name in ("tm", "tn", *Tile(0, 0).hints)))
