"""How many tile blocks a kernel is launched with, from the shape of its problem."""

from collections.abc import Callable

from tutorlib.compiling.compiled import LaunchGrid
from tutorlib.machine import device
from tutorlib.problems.problem import Shape

TILE = (128, 128)  # of C, in the first two GEMMs


def tiles(length: int, tile: int) -> int:
    """So many tiles cover a length."""
    return -(-length // tile)


def blocks_of(tile: int) -> Callable[[Shape], LaunchGrid]:
    """The grid for a vector: a block for every `tile` elements."""
    return lambda shape: (tiles(shape[0], tile),)


def tile_grid(shape: Shape) -> LaunchGrid:
    """A block for each tile of C: x counts them down, y across."""
    m, n, _ = shape
    return tiles(m, TILE[0]), tiles(n, TILE[1])


def persistent_grid(shape: Shape, ctas: int = 1) -> LaunchGrid:
    """As many blocks as run at once, each on `ctas` SMs; without a GPU a few, so that each has more to do.

    The grid of a kernel with num_cta_in_cga counts clusters, not their CTAs.
    """
    gpu = device.gpu()
    return (gpu.sms // ctas if gpu else 3,)
