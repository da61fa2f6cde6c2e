"""Exercises of notebook 09: CUDA Tile C++, GEMMs and what they promise the compiler."""

from functools import partial

from tutorlib.checking.cpp import CppExercise
from tutorlib.checking.facts import at_most, count_issued, counted, issued, stored_once
from tutorlib.failure import Fail
from tutorlib.kernels.cpp import Variant, tile_grid
from tutorlib.problems.catalogue import gemm, gemm_of_columns

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

CUBE = (256, 256, 256)
RAGGED = (CUBE, (300, 200, 129), (70, 513, 96))
RAGGED_VECTORS = (CUBE, (304, 200, 136), (72, 520, 96))  # sizes are multiples of 8
RAGGED_COLUMNS = (CUBE, (304, 200, 129), (72, 136, 453))  # only M and N are
# As many stores as 256×128 elements take, if each thread stores one; mma of 16×8×16; and loads of 4 tiles of 128×128.
FIRST = at_most({"st.global": 1024, "mma.sync": 2048, "ld.global": 2048})
IN_TILES = (PIPELINED, *at_most({"st.global": 512, "mma.sync": 8192, "cp.async.ca|cp.async.cg|ld.global": 1024}))
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
        rules=IN_TILES,
        grid=tile_grid,
    ),
    gemm_exercise(
        ("09.3", "columns of A by columns of B", 5),
        problem=gemm_of_columns(),
        shapes=RAGGED_COLUMNS,
        simulated_shapes=RAGGED_COLUMNS,
        bench_shape=BENCH,
        divisible=8,
        free="K",
        tma=True,
        rules=IN_TILES,
        grid=tile_grid,
    ),
)
