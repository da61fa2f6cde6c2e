"""Exercises of notebook 14: TMA, mbarriers and WGMMA, part by part, and the reader's own Hopper kernel."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, groups, issued, looped, no_padding
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Small, inside
from tutorlib.checking.randomness import beside
from tutorlib.checking.values import same
from tutorlib.exercises.judges.hopper import first_gemm
from tutorlib.exercises.values import value_exercise
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm

BYTES = 2  # of a bf16
BENCH = (4096, 4096, 4096)
SHAPES = ((256, 256, 256), (384, 264, 200), (129, 1000, 72), (1, 64, 1000))  # whole tiles, and all kinds of edges
SIMULATED = ((384, 264, 200), (1, 64, 1000))  # three tiles of C by two, and a ring that goes round four times
FEW_K_TILES = (1, 64, 136)
# Stages, columns of a K tile: seven K tiles in two blocks, where work is counted; fewer K tiles than stages.
RINGS: Small = {(129, 64, 200): {"ring": (3, 32)}, FEW_K_TILES: {"ring": (4, 64)}}
LONG = (1, 64, 8200)  # more K tiles than any other number on the page

# 14.1 tma_bytes -------------------------------------------------------------------------------------------------


def tma_bytes(shape: tuple[int, int], tile: tuple[int, int], place: tuple[int, int]) -> tuple[int, int]:
    inside = [max(0, min(size - at * step, step)) for size, step, at in zip(shape, tile, place, strict=True)]
    return inside[0] * inside[1] * BYTES, tile[0] * tile[1] * BYTES


TILES = ((128, 64), (256, 64), (64, 32))


def tiles_at(shape: tuple[int, int], beyond: int = 0) -> list[tuple]:
    """Every tile that covers the shape, of each size, and `beyond` more past its last row and column."""
    return [
        (shape, tile, (m, k))
        for tile in TILES
        for m in range(-(-shape[0] // tile[0]) + beyond)
        for k in range(-(-shape[1] // tile[1]) + beyond)
    ]


def some_tile(inside: bool = False, beyond: int = 0) -> Callable[[Random], tuple]:
    """Calls with a tile of any matrix. inside: all of it is inside. beyond: how many tiles outside it may begin."""

    def draw(rng: Random) -> tuple:
        tile = rng.choice((*TILES, (64, 64), (128, 32)))
        tiles = [rng.randint(1, 9) for _ in range(2)]
        shape = [
            n * step - (0 if inside else rng.randrange(step // 8) * 8) for n, step in zip(tiles, tile, strict=True)
        ]
        return tuple(shape), tile, tuple(rng.randrange(n + beyond) for n in tiles)

    return draw


# 14.5 ring ------------------------------------------------------------------------------------------------------


def ring(step: int, stages: int, producer: bool) -> tuple[int, int]:
    turn, index = divmod(step, stages)
    return index, (turn + producer) % 2


def wrong_step(got: Any, *args: Any) -> str | None:
    """What is wrong with a result of `ring`, or None. True is a parity, too."""
    index, parity = wanted = ring(*args)
    return None if same(got, wanted) or same(got, (index, bool(parity))) else f"it should give {wanted}"


def steps(producer: bool, rounds: int) -> list[tuple[int, int, bool]]:
    return [(step, stages, producer) for stages in (1, 2, 3, 4, 7) for step in range(rounds * stages)]


def some_step(rounds: int, *producer: bool) -> Callable[[Random], tuple]:
    def draw(rng: Random) -> tuple:
        stages = rng.randint(5, 40)
        return rng.randrange(rounds * stages), stages, rng.choice(producer)

    return draw


# 14.6 main_loop -------------------------------------------------------------------------------------------------

HOPPER = ("cp.async.bulk.tensor", "mbarrier", "wgmma", "stmatrix")


course = partial(of_course, "hopper.first")

# At SIMULATED[0] 48 warps in 6 blocks: a barrier of each block once the mbarriers are initialized, and one before the
# epilogue overwrites the stages.
# A barrier of the cluster, too, is one of the block here.
BARRIERS, FENCES = issued("bar.sync|barrier") <= 96, issued("fence") <= 108
TWO_BARRIERS = (BARRIERS, FENCES)
# 4 boxes of each warp, each written by 4 stmatrix, perhaps with a fence of its own, and stored once.
A_FENCE_FOR_EACH_BOX = (BARRIERS, issued("fence") <= 216)
A_TILE_ONCE = (
    *A_FENCE_FOR_EACH_BOX,
    *at_most({"stmatrix": 768, "cp.async.bulk.tensor.2d.global": 192, "cp.async.bulk.wait_group": 96}),
)
# At the first of RINGS 16 warps, and 7 K tiles.
LOOP_RULES = issued("bar.sync|barrier") <= 32, issued("fence") <= 36
A_BARRIER_IN_EACH_STEP = (issued("bar.sync|barrier") <= 32 + 7 * 16, *LOOP_RULES[1:], looped("wgmma.mma_async") >= 2)
# With 7 K tiles of 32 columns. 128 registers set to zero would be 6,144 instructions more.
A_GROUP_IN_EACH_STEP = (
    *(issued(f"wgmma.{name}") <= 7 * 48 for name in ("fence", "commit_group", "wait_group")),
    BARRIERS,
    FENCES,
    issued("") <= 29_000,
)

COURSE_KERNELS = (
    of_course("hopper.first", "make_first_gemm", "first_kernel")
    | of_course("hopper.specialized", "make_specialized", "specialized_kernel")
    | of_course("hopper.gemm", "make_gemm", "gemm_kernel")
)

# ----------------------------------------------------------------------------------------------------------------

NARROW: Small = {shape: {"ring": (3, 32)} for shape in SIMULATED}  # half of the K blocks, and another number of stages
wgmma_exercise = partial(
    CuteExercise.of, needs=WGMMA, problem=gemm("bf16"), shapes=SHAPES, simulated_shapes=SIMULATED, requires=HOPPER
)

EXERCISES = (
    value_exercise(
        ("14.1", "tma_bytes", 3),
        tma_bytes,
        {
            "tiles inside": beside(tiles_at((512, 256)), some_tile(inside=True)),
            "tiles across an edge": beside(tiles_at((300, 136)) + tiles_at((1, 8)), some_tile()),
            "tiles outside": beside(tiles_at((200, 72), beyond=2), some_tile(beyond=2)),
        },
    ),
    wgmma_exercise(
        ("14.2", "multiply", 4),
        part=inside(first_gemm, "multiply", small=NARROW, jit=False),
        rules=A_GROUP_IN_EACH_STEP,
        library=course("multiply"),
    ),
    wgmma_exercise(
        ("14.3", "init_barriers", 3),
        part=inside(first_gemm, "barriers", small={shape: {"ring": (3, 64)} for shape in SIMULATED}),
        rules=TWO_BARRIERS,
        library=course("init_barriers"),
    ),
    wgmma_exercise(
        ("14.4", "one_stage", 4),
        part=inside(first_gemm, "main_loop", small=RINGS),
        rules=A_BARRIER_IN_EACH_STEP,
        library=course("one_stage", "fill_stage", "main_loop"),
    ),
    value_exercise(
        ("14.5", "ring", 2),
        ring,
        {
            "the consumer, one round": beside(steps(producer=False, rounds=1), some_step(1, False)),
            "the producer, one round": beside(steps(producer=True, rounds=1), some_step(1, True)),
            "many rounds": beside(
                steps(producer=False, rounds=5) + steps(producer=True, rounds=5), some_step(40, False, True)
            ),
        },
        holds=wrong_step,
    ),
    wgmma_exercise(
        ("14.6", "main_loop", 6),
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
        library=course("main_loop", "fill_stage", "one_stage"),
    ),
    wgmma_exercise(
        ("14.7", "store by TMA", 4),
        part=inside(first_gemm, "epilogue", small=NARROW),  # so narrow that a tile of C lies over stages of B, too
        rules=A_TILE_ONCE,
        library=course("store_by_tma"),
    ),
    wgmma_exercise(
        ("14.8", "Hopper GEMM", 5),
        spills=False,
        rules=(no_padding, groups >= 1, *A_FENCE_FOR_EACH_BOX),
        shapes=(*SHAPES, LONG),
        bench_shape=BENCH,
        tiers=(0.8, 0.95),
        library=COURSE_KERNELS
        | course("multiply", "init_barriers", "fill_stage", "one_stage", "main_loop", "store_by_tma"),
    ),
)
