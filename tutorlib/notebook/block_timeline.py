"""Notebook 15's loops on a time axis: the rehearsal, with a clock."""

from tutorlib.draw import show_block
from tutorlib.draw.grid import Picture
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_block import ROLES, Extent, Loop
from tutorlib.exercises.n15_blackwell_gemm.judge.blackwell_clock import EPILOGUE_ROWS, MMA_ROW, time_tiles
from tutorlib.models.block_timeline import TENSOR_CORES, BlockTimeline

STAGES, PARTS = 4, 4


def show_roles(*loops: Loop) -> Picture:
    """Two tiles of five K tiles in all six warps of a block, with two accumulators.

    loops: produce, multiply and store; by default the course's. Raises Unsafe, and what the loops themselves raise.
    """
    return show_block(timed(loops, tiles=2, k_tiles=5, accumulators=2))


def show_handover(*accumulators: int) -> Picture:
    """The MMA warp, the tensor cores and an epilogue warp over three tiles, for each number of accumulators."""
    timelines = [timed((), tiles=3, k_tiles=4, accumulators=number) for number in accumulators]
    return show_block(*timelines, rows=(MMA_ROW, TENSOR_CORES, EPILOGUE_ROWS[0]))


def timed(loops: tuple[Loop, ...], tiles: int, k_tiles: int, accumulators: int) -> BlockTimeline:
    from tutorlib.kernels.blackwell.loops import multiply_tiles, produce_tiles, store_tiles

    by_role = dict(zip(ROLES, loops or (produce_tiles, multiply_tiles, store_tiles), strict=True))
    return time_tiles(by_role, Extent(tiles, k_tiles, STAGES, accumulators, PARTS))
