"""Exercises of notebook 10: the first GEMM on tensor cores, part by part."""

from functools import partial

from tensor_layouts import Layout, is_layout, size

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, issued, lean, looped, stored_once
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Small, inside
from tutorlib.checking.randomness import beside
from tutorlib.checking.values import shorten
from tutorlib.exercises.judges.ampere import COURSE_LOOPS, ampere
from tutorlib.exercises.judges.cute_host import layout_returned
from tutorlib.exercises.values import Draw, value_exercise
from tutorlib.failure import FailureKind, Flaw
from tutorlib.problems.catalogue import gemm

BENCH = (4096, 4096, 4096)
N_ORDER = of_course("ampere.thread_share", "n_order")
VECTOR, SECTOR = 8, 16  # bf16 elements of 16 bytes, and of the 32 that global memory moves at a time
WHOLE_AND_RAGGED = ((256, 256, 256), (384, 128, 192), (129, 200, 72))
ONE_STAGE: Small = {(65, 72, 136): {"tile": (64, 64, 64)}, (64, 64, 128): {"tile": (64, 64, 32)}}
RAGGED = ((129, 200, 136),)  # several blocks and K tiles, and tiles that extend past every edge


# 10.3 columns ---------------------------------------------------------------------------------------------------------


def mma_column(value: int, lane: int, warp: int, atom: int, warps: int) -> int:
    """The MMA's column of a thread's value: lanes 0 to 3 of a row, atoms of 8 columns."""
    return value + 2 * lane + 8 * warp + 8 * warps * atom


def wide(warps: int) -> Draw:
    """Calls with tiles of any width."""
    return lambda rng: (warps, 32 * warps * rng.randint(1, 9))


class ColumnFlaw(FailureKind):
    """Reasons why a warp does not store whole sectors."""

    NO_LAYOUT = "no layout"
    SIZE = "number of columns"
    NOT_ALL = "columns not all hit"
    NO_VECTOR = "no neighbors"
    HALF_SECTORS = "half sectors"


def not_in_vectors(got: Layout, warps: int, tile_n: int) -> str | None:
    """Why a thread's accumulators of 4 neighboring atoms are not 8 neighbors in memory, or None."""
    if not is_layout(got):
        return Flaw("it should be a layout", ColumnFlaw.NO_LAYOUT)
    if size(got) != tile_n:
        return Flaw(f"it has {size(got)} columns, the tile has {tile_n}", ColumnFlaw.SIZE)
    places = [got(column) for column in range(tile_n)]
    if sorted(places) != list(range(tile_n)):
        return Flaw(f"the columns 0 to {tile_n - 1} should all be hit, each once", ColumnFlaw.NOT_ALL)
    for warp in range(warps):
        for lane in range(4):
            for four in range(0, tile_n // (8 * warps), 4):
                mine = [
                    places[mma_column(value, lane, warp, atom, warps)]
                    for atom in range(four, four + 4)
                    for value in range(2)
                ]
                if mine != list(range(mine[0], mine[0] + 8)) or mine[0] % 8:
                    return Flaw(
                        f"lane {lane} of warp {warp} has columns {shorten(mine)} in its atoms {four} to {four + 3}; "
                        "they should be 8 neighbors that begin at a multiple of 8",
                        ColumnFlaw.NO_VECTOR,
                    )
    return half_sectors(places, warps)


def half_sectors(places: list[int], warps: int) -> str | None:
    """Why a warp's stores, 8 columns in each lane, fill sectors by half only, or None."""
    for warp in range(warps):
        starts = [places[mma_column(0, lane, warp, 0, warps)] for lane in range(4)]
        if (sectors := len({start // SECTOR for start in starts})) > 4 * VECTOR // SECTOR:
            return Flaw(
                f"the lanes 0 to 3 of warp {warp} store 16 bytes each from the columns {shorten(starts)} on, which is "
                f"half of each of {sectors} sectors; neighboring lanes should be neighbors in memory",
                ColumnFlaw.HALF_SECTORS,
            )
    return None


COLUMNS = value_exercise(
    ("10.3", "columns", 3),
    None,
    {
        "one warp across": beside([(1, 32), (1, 64), (1, 128)], wide(1)),
        "two warps across": beside([(2, 64), (2, 128), (2, 256)], wide(2)),
        "four warps across": beside([(4, 128), (4, 256)], wide(4)),
    },
    holds=not_in_vectors,
    mistakes={"identity": lambda warps, tile_n: Layout(tile_n, 1)},
    through=layout_returned,
    library=N_ORDER,
)

# 10.1 ldmatrix_row ---------------------------------------------------------------------------------------------------

LANES = range(32)
ADDRESSES = value_exercise(
    ("10.1", "ldmatrix_row", 2),
    lambda lane: (lane % 8 + lane // 16 * 8, lane // 8 % 2 * 8),
    {
        "matrix 0, lanes 0 to 7": [(lane,) for lane in LANES[:8]],
        "matrix 1, lanes 8 to 15": [(lane,) for lane in LANES[8:16]],
        "matrices 2 and 3, lanes 16 to 31": [(lane,) for lane in LANES[16:]],
    },
    mistakes={
        "as_for_a": lambda lane: (lane % 16, lane // 16 * 8),
        "rows_once_more": lambda lane: (lane % 8, lane // 8 % 2 * 8),
        "turned": lambda lane: (lane // 8 % 2 * 8, lane % 8 + lane // 16 * 8),
    },
)

# Kernels and their parts ----------------------------------------------------------------------------------------------

gemm_exercise = partial(CuteExercise.of, problem=gemm("bf16"), shapes=WHOLE_AND_RAGGED, simulated_shapes=RAGGED)
EXERCISES = (
    ADDRESSES,
    gemm_exercise(
        ("10.2", "single buffer", 4),
        part=inside(ampere, "main_loop", small=ONE_STAGE),
        # 4 blocks of 4 warps: two barriers for each of 3 K tiles, and one; all else once
        rules=(*at_most({"bar.sync": 112, "cp.async.cg": 512, "ldmatrix": 800}), looped("mma.sync") >= 2),
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync"),
        library=COURSE_LOOPS,
    ),
    COLUMNS,
    gemm_exercise(
        ("10.4", "your GEMM", 6),
        requires=("cp.async", "ldmatrix", "mma.sync", "bar.sync", "st.global.v4"),
        shared_rules=(lean("cp.async", "ldmatrix", "st.global"), stored_once),
        # 2 blocks of 4 warps: two barriers for each of 2 K tiles, and one; all else once
        rules=(issued("") <= 20_000, *at_most({"bar.sync": 40, "cp.async.c": 300, "ldmatrix": 600, "st.global": 160})),
        spills=False,
        simulated_shapes=((256, 128, 128), (129, 200, 72)),
        bench_shape=BENCH,
        tiers=(0.8, 0.95),
        library=COURSE_LOOPS | N_ORDER | of_course("ampere.gemm", "make_gemm"),
    ),
)
