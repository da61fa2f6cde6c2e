"""Tiles of the cuTile attention kernels, and the hints with which each is compiled."""

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from tutorlib.kernels.attention import tiles
from tutorlib.machine import device


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


ANYWHERE = {"tile_forward": Tile(128, 128), "backward_keys": Tile(64, 128), "backward_queries": Tile(128, 128)}
TWO_BLOCKS = {"num_worker_warps": 4, "occupancy": 2}  # on an SM: one's softmax beside the other's mma

# (head_dim, causal) → the fastest on an H100, by `python -m tutorlib.instruments.attention_tiles`.
HOPPER: dict[str, dict[tuple[int, bool], Tile]] = {
    "tile_forward": {
        (128, False): Tile(256, 128, num_ctas=2),
        (128, True): Tile(64, 64, **TWO_BLOCKS),
        (64, False): Tile(128, 128, num_ctas=2, **TWO_BLOCKS),
        (64, True): Tile(64, 128, **TWO_BLOCKS),
    },
    "backward_keys": {
        (128, False): Tile(128, 64),
        (128, True): Tile(64, 128),
        (64, False): Tile(64, 128),
        (64, True): Tile(64, 64, **TWO_BLOCKS),
    },
    "backward_queries": {
        (128, False): Tile(128, 64),
        (128, True): Tile(128, 64),
        (64, False): Tile(64, 64, **TWO_BLOCKS),
        (64, True): Tile(64, 64, **TWO_BLOCKS),
    },
}


def tile_of(kernel: str, head_dim: int, causal: bool) -> Tile:
    """For this kernel on the GPU at hand."""
    found = device.gpu()
    measured = HOPPER[kernel] if found and found.arch == "90" else {}
    return measured.get((head_dim, causal), ANYWHERE[kernel])


@cache
def hinted(kernel: str, tile: Tile) -> Any:
    """The kernel with the tile's hints, compiled once for each signature."""
    return getattr(tiles, kernel).replace_hints(**tile.hints)
