"""Exercises of notebook 09: CUDA Tile C++, a GEMM from its first draft to cuBLAS's speed."""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

from tutorlib.checking.cpp import CppExercise
from tutorlib.checking.facts import at_most, count_issued, counted, issued, stored_once
from tutorlib.failure import Fail, FailureKind, Flaw
from tutorlib.kernels.cpp import Variant, persistent_grid, tile_grid
from tutorlib.models.l2 import grouped
from tutorlib.problems.catalogue import gemm
from tutorlib.problems.problem import Shape

# Where the compiler does not pipeline a loop, because its loads and stores may alias, an mbarrier counts each load.
LOAD_AND_WAIT = "cp.async.mbarrier.arrive"
PIPELINED = (
    counted(
        "as far as the compiler knows, a store to C may change A or B: {have} times a warp waits for the tile that it "
        "has just begun to load, so there is never more than one load in flight",
        LOAD_AND_WAIT,
        count_issued,
        above=Fail.NO_OVERLAP,
    )
    <= 0
)

BY_TENSOR_CORES = issued("add.rn.f32") <= 0

# 09.3: the order in which persistent blocks take the tiles of C, from the block that stored each element.


Order = Callable[[int, int, int], tuple[int, int]]  # a block's number, rows and columns of tiles → the tile
SIDES = (32, 64, 128, 256)  # of a tile
HEIGHTS = range(2, 17)  # of a strip, in tiles: 8 is asked for, and others share tiles of A and B as well


class OrderFlaw(FailureKind):
    NO_STRIPS = "no strips"


def rotated(block: int, rows: int, columns: int, group: int) -> tuple[int, int]:
    """Strips as cuTile's samples have them: in a last strip that is lower they may begin below its first row."""
    first = block // (group * columns) * group
    height = min(rows - first, group)
    return first + block % height, block % (group * columns) // height


def not_in_strips(shape: Shape, storers: np.ndarray) -> str | None:
    """Why the blocks do not take the tiles in strips, as a sentence; None where they do. storers: (M, N)."""
    for tile in product(SIDES, SIDES):
        rows = -(-shape[0] // tile[0])
        heights = (height for height in HEIGHTS if height < rows)
        if any(takes(storers, tile, partial(of, group=height)) for height in heights for of in (grouped, rotated)):
            return None
    why = "In strips of 8 rows of tiles, blocks that run together share tiles of A and of B."
    return Flaw(f"it takes the tiles of C in another order than asked for. {why}", OrderFlaw.NO_STRIPS)


def takes(storers: np.ndarray, tile: tuple[int, int], order: Order) -> bool:
    """Whether these are the storers of persistent blocks that take tiles of this size in this order."""
    shape = storers.shape
    rows, columns = (-(-length // side) for length, side in zip(shape, tile, strict=True))
    (blocks,) = persistent_grid((*shape, 0))
    by_tile = np.empty((rows, columns), storers.dtype)
    for number in range(rows * columns):
        by_tile[order(number, rows, columns)] = number % blocks
    wanted = by_tile.repeat(tile[0], 0).repeat(tile[1], 1)[: shape[0], : shape[1]]
    return bool(np.array_equal(storers, wanted))


CUBE = (256, 256, 256)
RAGGED = (CUBE, (300, 200, 129), (70, 513, 96))
RAGGED_VECTORS = (CUBE, (304, 200, 136), (72, 520, 96))  # sizes are multiples of 8
# Two steps along K, and more rows of tiles than a strip has, two columns of them, for tiles of up to 256×256.
TALL = (2064, 264, 72)
# As many stores as 256×128 elements take, if each thread stores one; mma of 16×8×16; and loads of 4 tiles of 128×128.
FIRST = at_most({"st.global": 1024, "mma.sync": 2048, "ld.global": 2048})
BENCH = (4096, 4096, 4096)
# Beyond the edge of the first step's tile, registers are unset; in later steps, the step before has set them.
SHORT = ((256, 128, 128), (200, 136, 129), (70, 257, 40))

gemm_exercise = partial(
    CppExercise.of,
    problem=gemm("bf16"),
    patterned=False,
    shared_rules=(stored_once, BY_TENSOR_CORES),
    requires=("wgmma",),
    library={"Variant.source": Variant.source},
)
EXERCISES = (
    gemm_exercise(("09.1", "first gemm", 3), shapes=RAGGED, simulated_shapes=SHORT, rules=FIRST, grid=tile_grid),
    gemm_exercise(
        ("09.2", "gemm with promises", 4),
        shapes=RAGGED_VECTORS,
        simulated_shapes=(*RAGGED_VECTORS[:2], (72, 136, 456)),  # enough steps that one too wide for its tile shows
        bench_shape=BENCH,
        tiers=(0.9,),
        divisible=8,
        tma=True,
        rules=(PIPELINED, *at_most({"st.global": 512, "mma.sync": 8192, "cp.async.ca|cp.async.cg|ld.global": 1024})),
        grid=tile_grid,
    ),
    gemm_exercise(
        ("09.3", "persistent gemm", 5),
        shapes=(*RAGGED_VECTORS, TALL),
        simulated_shapes=(RAGGED_VECTORS[0], TALL, RAGGED_VECTORS[2]),
        counted=TALL,
        order=not_in_strips,
        rules=(PIPELINED, issued("st.global") <= 6192, issued("mma.sync") <= 73728),  # in tiles of up to 256×256
        bench_shape=BENCH,
        tiers=(0.7, 0.9),
        divisible=8,
        tma=True,
        spills=False,
        grid=persistent_grid,
    ),
)
