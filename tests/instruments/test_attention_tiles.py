"""The space of tiles and hints of cuTile's attention, and the tiles in use."""

import json

import pytest

from tutorlib.instruments.attention_tiles import KERNELS, tiles_to_try
from tutorlib.kernels.attention.tile_sizes import ANYWHERE, FILE, Tile, on_hopper
from tutorlib.measuring.results import file_stem
from tutorlib.paths import DATA

HINTS = ("tm", "tn", *Tile(0, 0).hints)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [64, 128])
def test_it_has_the_default_tile_and_few_others(kernel, d):
    found = list(tiles_to_try(kernel, d))
    assert len(found) == len(set(found)) <= 30
    if d == 128:
        assert ANYWHERE[kernel] in found


def test_the_tiles_in_use_are_the_fastest_that_were_measured():
    gpu = json.loads(FILE.read_text())["gpu"]
    rows = json.loads((DATA / "explored" / f"{file_stem(gpu)}_attention_tiles.json").read_text())["tried"]
    for (kernel, d, causal), tile in on_hopper().items():
        timed = [
            row for row in rows if (row["kernel"], row["d"], row["causal"]) == (kernel, d, causal) and row["slower"]
        ]
        assert tile == Tile(*(min(timed, key=lambda row: row["slower"])[name] for name in HINTS))
