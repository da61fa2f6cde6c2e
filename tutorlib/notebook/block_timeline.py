"""Notebook 15's loops on a time axis: the rehearsal, with a clock."""

from typing import TYPE_CHECKING

from tutorlib.checking.rehearsing.blackwell_block import Extent, Loop
from tutorlib.checking.rehearsing.blackwell_clock import EPILOGUE_ROWS, time_tiles
from tutorlib.draw import show_block
from tutorlib.models.block_timeline import TENSOR_CORES

if TYPE_CHECKING:
    from tutorlib.draw.grid import Picture

STAGES, PARTS = 4, 4


def show_roles(produce: Loop, multiply: Loop, store: Loop, tiles: int = 2, k_tiles: int = 5) -> "Picture":
    """Two accumulators' tiles in all six warps of a block. Raises Unsafe, and what the loops themselves raise."""
    loops = {"produce": produce, "multiply": multiply, "store": store}
    return show_block(time_tiles(loops, Extent(tiles, k_tiles, STAGES, 2, PARTS)))


def show_handover(produce: Loop, multiply: Loop, store: Loop, *accumulators: int) -> "Picture":
    """The tensor cores and an epilogue warp over three tiles, for each number of accumulators."""
    loops = {"produce": produce, "multiply": multiply, "store": store}
    timelines = [time_tiles(loops, Extent(3, 4, STAGES, number, PARTS)) for number in accumulators]
    return show_block(*timelines, rows=(TENSOR_CORES, EPILOGUE_ROWS[0]))
