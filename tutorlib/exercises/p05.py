"""Exercises of notebook 05: the ladder of copy kernels.

Every rung is timed on 1 GiB, against torch's copy of as many bytes. Where a kernel guards its edges, its shapes have
tiles partly outside; where it does not, they are made of whole tiles.
"""

from functools import partial
from random import Random

from tensor_layouts import Layout

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import NOTHING_SHARED, Rule, at_most, busy, issued, lean, unrolled
from tutorlib.checking.randomness import beside
from tutorlib.exercises.judges.cute_host import AnyElement
from tutorlib.exercises.values import Draw, drawn, value_exercise
from tutorlib.machine.features import TMA
from tutorlib.problems.catalogue import copy, transpose

BENCH_BF16 = (32768, 16384)
BENCH_FP32 = (16384, 16384)
RAGGED = ((256, 256), (129, 250), (1, 67))
RAGGED_VECTORS = ((256, 256), (300, 1048), (7, 72))
WHOLE_TILES = ((256, 256), (128, 640))
WHOLE_TURNS = ((256, 256), (128, 320), (64, 576))

# What the simulator runs: the same kinds of sizes, with fewer blocks; four at least in one of them.
FEW_RAGGED = ((128, 128), (270, 67))
FEW_RAGGED_VECTORS = ((128, 128), (70, 136))
FEW_TILES = ((256, 256), (128, 192))
FEW_TURNS = ((128, 128), (64, 192))


# 05.1 sectors ---------------------------------------------------------------------------------------------------------

SECTOR = 32


def sectors(offsets: list[int], element_bytes: int, vector: int = 1) -> int:
    spans = ((first * element_bytes, (first + vector) * element_bytes - 1) for first in offsets)
    return len({n for first, last in spans for n in range(first // SECTOR, last // SECTOR + 1)})


def warp(shape: int | tuple[int, ...], stride: int | tuple[int, ...]) -> list[int]:
    layout = Layout(shape, stride)
    return [layout(thread) for thread in range(32)]


def scattered(element_bytes: int, vector: int) -> Draw:
    return lambda rng: ([rng.randrange(2000) for _ in range(32)], element_bytes, vector)


def strided(pitches: int, sizes: tuple[int, ...], vector: int = 1, shift: int = 0) -> Draw:
    """Calls with threads up to `pitches` elements apart. shift: elements that the first is beyond a multiple of 32."""

    def draw(rng: Random) -> tuple:
        pitch, first = rng.randint(1, pitches), 32 * rng.randint(0, 99) + rng.randint(0, shift)
        return [first + pitch * thread for thread in range(32)], rng.choice(sizes), vector

    return draw


ALONG = [(warp(32, 1), size, 1) for size in (1, 2, 4, 8)]
DOWN = [(warp(32, pitch), size, 1) for pitch in (16, 33, 4096) for size in (2, 4)]
VECTORS = [(warp(32, 8), 2, 8), (warp((8, 4), (8, 4096)), 2, 8), (warp(32, 5), 4, 4)]
SHARED = [([0] * 32, 4, 1), (warp((4, 8), (0, 1)), 2, 1), (warp((8, 4), (1, 4)), 4, 1)]
SHIFTED = [([o + shift for o in warp(32, 1)], 4) for shift in (1, 7, 8, 31)]  # `vector` has a default
SECTORS = value_exercise(
    ("05.1", "sectors", 3),
    sectors,
    {
        "threads along a row": beside(ALONG, strided(1, (1, 2, 4, 8))),
        "threads down a column": beside(DOWN, strided(40, (1, 2, 4))),
        "vectors": drawn(1, scattered(2, 8), known=[*VECTORS, (warp(32, 20), 4, 4)]),
        "threads that read the same": beside(
            SHARED, lambda rng: ([rng.randrange(40) for _ in range(32)], rng.choice((2, 4, 8)), 1)
        ),
        "a start between two sectors": beside(SHIFTED, strided(1, (2, 4, 8), shift=31)),
        "elements across an edge": drawn(3, scattered(24, 2), known=[scattered(3, 1)(Random(n)) for n in range(9)]),
    },
    mistakes={
        "per_thread": lambda offsets, element_bytes, vector=1: sum(
            sectors([o], element_bytes, vector) for o in offsets
        ),
        "in_elements": lambda offsets, element_bytes, vector=1: sectors(offsets, 1, vector),
        "first_element": lambda offsets, element_bytes, vector=1: sectors(offsets, element_bytes),
        "by_line": lambda offsets, element_bytes, vector=1: len({o * element_bytes // 128 for o in offsets}),
        "by_bytes": lambda offsets, element_bytes, vector=1: -(-len(offsets) * element_bytes * vector // SECTOR),
    },
)

# The ladder -----------------------------------------------------------------------------------------------------

# A warp for each 32 elements takes 512 stores, one of each instruction for each of 8 warps.
STORED_ONCE_UNROLLED = (
    busy >= 1.0,
    issued("st.global") <= 760,
    issued("ld.global") <= 760,
    NOTHING_SHARED,
    unrolled("st.global") <= 8,
)
# Predicates keep the warps without an element from busy: 603 stores by rows, 810 along them; 1,536 without.
GUARDED: dict[tuple[int, ...], tuple[Rule, ...]] = {FEW_RAGGED[1]: (issued("st.global") <= 1000,)}

copy_exercise = partial(CuteExercise.of, problem=copy("bf16"), bench_shape=BENCH_BF16)
transpose_exercise = partial(
    copy_exercise, problem=transpose("fp32"), shapes=WHOLE_TURNS, simulated_shapes=FEW_TURNS, bench_shape=BENCH_FP32
)
TURNED = (busy >= 1.0, *at_most({"st.global": 760, "bar.sync": 48}))
EXERCISES = (
    SECTORS,
    copy_exercise(
        ("05.2", "naive copy", 2),
        shapes=RAGGED,
        simulated_shapes=FEW_RAGGED,
        rules=STORED_ONCE_UNROLLED,
        rules_at=GUARDED,
    ),
    copy_exercise(
        ("05.3", "coalesced copy", 3),
        shapes=RAGGED,
        simulated_shapes=FEW_RAGGED,
        tiers=(0.7,),
        rules=(lean("ld.global", "st.global"), *STORED_ONCE_UNROLLED),
        rules_at=GUARDED,
    ),
    copy_exercise(
        ("05.4", "vectorized copy", 4),
        shapes=RAGGED_VECTORS,
        simulated_shapes=FEW_RAGGED_VECTORS,
        tiers=(0.7, 0.9),
        requires=("ld.global.v4", "st.global.v4"),
        forbids=("ld.global after st.global",),
        rules=(
            lean("ld.global", "st.global"),
            busy >= 1.0,
            issued("ld.global") <= 96,
            issued("st.global") <= 96,
            NOTHING_SHARED,
        ),
        part=AnyElement(),
    ),
    copy_exercise(
        ("05.5", "copy by cp.async", 4),
        shapes=WHOLE_TILES,
        simulated_shapes=FEW_TILES,
        tiers=(0.7, 0.9),
        requires=("cp.async", "ld.shared", "st.global.v4"),
        forbids=("ld.global",),
        rules=(
            lean("cp.async", "st.global"),
            busy >= 1.0,
            *at_most({"cp.async.cg|cp.async.ca": 380, "st.global": 380, "bar.sync": 48, "cp.async.wait_group": 48}),
            issued("bar.sync") >= 32,
        ),
    ),
    transpose_exercise(
        ("05.7", "transpose", 4),
        requires=("st.shared", "ld.shared"),
        rules=(lean("ld.global", "st.global"), *TURNED, issued("ld.global") <= 760),
    ),
    transpose_exercise(
        ("05.8", "swizzled transpose", 4),
        tiers=(0.7, 0.9),
        requires=("cp.async", "ld.shared", "bar.sync"),
        forbids=("ld.global",),
        rules=(lean("cp.async", "ld.shared", "st.global"), *TURNED, issued("cp.async.ca") <= 760),
    ),
    copy_exercise(
        ("05.6", "copy by TMA", 5),
        needs=TMA,
        shapes=RAGGED_VECTORS,
        simulated_shapes=FEW_RAGGED_VECTORS,
        tiers=(0.7, 0.9),
        requires=("cp.async.bulk.tensor", "mbarrier", "fence.mbarrier_init"),
        rules=(issued("cp.async.bulk.tensor") <= 4,),
    ),
)
