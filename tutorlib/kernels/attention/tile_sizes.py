"""Tiles of the cuTile attention kernels, and the hints with which each is compiled."""

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tutorlib.kernels.attention import tiles
from tutorlib.machine import device

FILE = Path(__file__).with_name("tiles.json")


@dataclass(frozen=True)
class Tile:
    """tm: queries. tn: keys. The others are hints to the compiler, as `ct.kernel` has them."""

    tm: int
    tn: int
    num_worker_warps: int = 8
    num_ctas: int = 1
    occupancy: int = 1

    @property
    def hints(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if name not in ("tm", "tn")}


ANYWHERE = {
    "tile_forward": Tile(128, 128),
    "backward_keys": Tile(64, 128),
    "backward_queries": Tile(128, 128),
    "decode_parts": Tile(tiles.ROWS, 64, num_worker_warps=4, occupancy=2),
}


@cache
def measured_tiles() -> dict[tuple[str, int, bool], Tile]:
    """(kernel, head_dim, causal) → the tile that was fastest on an H100 or an H200."""
    chosen = json.loads(FILE.read_text(encoding="utf-8"))["chosen"]
    return {(row.pop("kernel"), row.pop("d"), row.pop("causal")): Tile(**row) for row in chosen}


def tile_of(kernel: str, head_dim: int, causal: bool) -> Tile:
    """For this kernel on the GPU at hand."""
    found = device.gpu()
    measured = measured_tiles() if found and found.arch == "90" else {}
    return measured.get((kernel, head_dim, causal), ANYWHERE[kernel])


@cache
def hinted(kernel: str, tile: Tile) -> Any:
    """The kernel with the tile's hints, compiled once for each signature."""
    return getattr(tiles, kernel).replace_hints(**tile.hints)
