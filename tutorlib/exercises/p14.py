"""Exercises of notebook 14: TMA, mbarriers and WGMMA, part by part, and the reader's own Hopper kernel."""

from functools import partial

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, groups, issued, looped, no_padding
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Small, inside
from tutorlib.exercises.judges.hopper import first_gemm
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm

BENCH = (4096, 4096, 4096)
SHAPES = ((256, 256, 256), (384, 264, 200), (129, 1000, 72), (1, 64, 1000))  # whole tiles, and all kinds of edges
SIMULATED = ((384, 264, 200), (1, 64, 1000))  # three tiles of C by two, and a ring that goes round four times
FEW_K_TILES = (1, 64, 136)
# Stages, columns of a K tile: seven K tiles in two blocks, where work is counted; fewer K tiles than stages.
RINGS: Small = {(129, 64, 200): {"ring": (3, 32)}, FEW_K_TILES: {"ring": (4, 64)}}
LONG = (1, 64, 8200)  # more K tiles than any other number on the page

HOPPER = ("cp.async.bulk.tensor", "mbarrier", "wgmma", "stmatrix")
course = partial(of_course, "hopper.first")

# At SIMULATED[0] 48 warps in 6 blocks: a barrier of each block once the mbarriers are initialized, and one before the
# epilogue overwrites the stages.
# A barrier of the cluster, too, is one of the block here.
BARRIERS, FENCES = issued("bar.sync|barrier") <= 96, issued("fence") <= 108
# 4 boxes of each warp, each written by 4 stmatrix, perhaps with a fence of its own, and stored once.
A_FENCE_FOR_EACH_BOX = (BARRIERS, issued("fence") <= 216)
A_TILE_ONCE = (
    *A_FENCE_FOR_EACH_BOX,
    *at_most({"stmatrix": 768, "cp.async.bulk.tensor.2d.global": 192, "cp.async.bulk.wait_group": 96}),
)
# At the first of RINGS 16 warps, and 7 K tiles.
LOOP_RULES = issued("bar.sync|barrier") <= 32, issued("fence") <= 36
# With 7 K tiles of 32 columns. 128 registers set to zero would be 6,144 instructions more.
A_GROUP_IN_EACH_STEP = (
    *(issued(f"wgmma.{name}") <= 7 * 48 for name in ("fence", "commit_group", "wait_group")),
    BARRIERS,
    FENCES,
    issued("") <= 29_000,
)

COURSE_KERNELS = of_course("hopper.first", "make_first_gemm", "first_kernel") | of_course(
    "hopper.gemm", "make_gemm", "gemm_kernel"
)

# ----------------------------------------------------------------------------------------------------------------

NARROW: Small = {shape: {"ring": (3, 32)} for shape in SIMULATED}  # half of the K blocks, and another number of stages
wgmma_exercise = partial(
    CuteExercise.of, needs=WGMMA, problem=gemm("bf16"), shapes=SHAPES, simulated_shapes=SIMULATED, requires=HOPPER
)

EXERCISES = (
    wgmma_exercise(
        ("14.1", "multiply", 4),
        part=inside(first_gemm, "multiply", small=NARROW, jit=False),
        rules=A_GROUP_IN_EACH_STEP,
        library=course("multiply"),
    ),
    wgmma_exercise(
        ("14.2", "main_loop", 6),
        part=inside(first_gemm, "main_loop", small=RINGS),
        rules=(
            *LOOP_RULES,
            issued("mbarrier.arrive.shared") <= 112,
            issued("wgmma.commit_group") <= 112,
            looped("wgmma.mma_async") >= 2,
            groups >= 1,
        ),
        rules_at={FEW_K_TILES: (issued("cp.async.bulk.tensor.2d.shared") <= 6,)},  # 3 K tiles
        bench_shape=BENCH,
        tiers=(0.9,),
        library=course("main_loop", "one_stage"),
    ),
    wgmma_exercise(
        ("14.3", "store by TMA", 4),
        part=inside(first_gemm, "epilogue", small=NARROW),  # so narrow that a tile of C lies over stages of B, too
        rules=A_TILE_ONCE,
        library=course("store_by_tma"),
    ),
    wgmma_exercise(
        ("14.4", "Hopper GEMM", 5),
        spills=False,
        rules=(no_padding, groups >= 1, *A_FENCE_FOR_EACH_BOX),
        shapes=(*SHAPES, LONG),
        bench_shape=BENCH,
        tiers=(0.8, 0.95),
        library=COURSE_KERNELS | course("multiply", "init_barriers", "one_stage", "main_loop", "store_by_tma"),
    ),
)
