"""Exercises of notebook 17: tensor memory, three roles, the kernel around them, pairs of blocks, block formats."""

import struct
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, blocks, issued, no_padding
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import Inside, Small, inside
from tutorlib.checking.randomness import Drawn, beside
from tutorlib.exercises.judges import p17 as judge
from tutorlib.exercises.values import value_exercise
from tutorlib.machine.features import TCGEN05
from tutorlib.models.block_formats import E2M1, MX_BLOCK, NV_BLOCK, quantize_mx, quantize_nv
from tutorlib.models.memory import accumulator_place, tmem_columns
from tutorlib.problems.catalogue import gemm

# Inputs of 17.11 and 17.12, of 17.1 and 17.2.


def single(x: float) -> float:
    """The nearest fp32."""
    return struct.unpack("f", struct.pack("f", x))[0]


def normal(rng: Random, size: int, scale: float = 1.0) -> list[float]:
    return [single(rng.gauss(0, scale)) for _ in range(size)]


LARGE = [511.0, 448.0, 449.0, 463.0, 464.0, 465.0, 480.0, -500.0, *(450.0 + i for i in range(24))]
MX_BLOCKS = {  # of quantize_mx
    "exact numbers": ([float(i - 16) for i in range(MX_BLOCK)], [0.25 * (i % 9) for i in range(MX_BLOCK)]),
    "random numbers": tuple(normal(Random(15 + e), MX_BLOCK, 2.0**e) for e in (0, 1, -5, 9, -30)),
    "ties, small and large ones": (
        [256.0, *(17.0 + 2 * i for i in range(15)), *(-(34.0 + 4 * i) for i in range(16))],
        [300.0, *(2.0**-e for e in range(6, 16)), *(-1.5 * 2.0**-e for e in range(6, 16)), *[0.0] * 11],
        LARGE,
        [x / 1024 for x in LARGE],
        [512 - 2.0**-15, *(16.0 * i for i in range(31))],  # below a power of two
    ),
    "zeros, and the ends of ue8m0": (
        [0.0] * MX_BLOCK,
        [2.0**-125, *[2.0**-130] * 31],
        [1.5 * 2.0**127, *[-1.0] * 31],
        [1.0, *[0.0] * 31],
    ),
}
TIES = [6.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]
NV_CALLS = {  # of quantize_nv: blocks and the tensor's scale
    "every value of e2m1": [([*E2M1, *(-x for x in E2M1)], 1.0), ([4 * x for x in (*E2M1, *reversed(E2M1))], 0.5)],
    "random numbers": [
        (normal(Random(16 + n), NV_BLOCK), scale) for n, scale in enumerate((1.0, 0.25, 4 / 2688, 1 / 64, 0.003, 2.0))
    ],
    "ties": [([*TIES, *(-x for x in TIES)], 1.0), ([x / 8 for x in (*TIES, *TIES)], 1.0)],
    "zeros, and scales at the ends": [
        ([0.0] * NV_BLOCK, 1.0),
        ([1e-4] * NV_BLOCK, 1.0),
        ([3000.0, *[1.0] * 15], 1.0),
        ([6 * 2.0**-9] * NV_BLOCK, 1.0),
    ],
}


def mirrored(known: Sequence[tuple], powers: int = 0) -> Drawn:
    """The known calls; the grader tries some in another order, with other signs, and times a power of two, as well.

    powers: the largest and, with a minus, the smallest exponent of that.
    """

    def draw(rng: Random) -> tuple:
        block, *others = rng.choice(known)
        factor = 2.0 ** rng.randint(-powers, powers)
        return [rng.choice((-1, 1)) * factor * x for x in rng.sample(block, len(block))], *others

    return beside(known, draw)


def accumulators(*numbers: int) -> Callable[[Random], tuple]:
    """Calls of `tmem_columns` with any N."""
    return lambda rng: (8 * rng.randint(1, 32), rng.choice(numbers))


def places(rows: Sequence[int], accumulators: Sequence[int]) -> Callable[[Random], tuple]:
    """Calls of `accumulator_place` with accumulators of any width."""

    def draw(rng: Random) -> tuple:
        columns = 8 * rng.randint(4, 20)
        return rng.choice(rows), rng.randrange(columns), rng.choice(accumulators), columns

    return draw


EDGES = 0, 31, 32, 100, 127  # rows of a block
BENCH = (8192, 8192, 8192)
SHAPES = ((512, 512, 512), (384, 1024, 192), (129, 200, 72))
SIMULATED = ((129, 264, 136),)  # six tiles of three K tiles, with all edges
NARROW: Small = {SIMULATED[0]: {"tile": (128, 64, 64)} | judge.FEW_SMS}
HALF: Small = {SIMULATED[0]: {"tile": (128, 128, 64)} | judge.FEW_SMS}  # tiles half as wide
LOOPS: Small = {  # where work is counted; five tiles of two K tiles, two stages, three accumulators of one part
    **HALF,
    (129, 264, 72): {"tile": (128, 64, 64), "stages": 2, "accumulators": 3} | judge.FEW_SMS,
}

ALONE_AND_PAIR: Small = {
    SIMULATED[0]: {"tile": (128, 128, 64), "halves": True} | judge.FEW_SMS,
    (129, 264, 72): {"tile": (256, 128, 64), "pair": True, "halves": True} | judge.FEW_SMS,
}
PAIRS: Small = {
    SIMULATED[0]: {"tile": (256, 128, 64), "pair": True} | judge.FEW_SMS,
    (129, 264, 72): {"tile": (256, 64, 64), "pair": True, "stages": 2, "accumulators": 3} | judge.FEW_SMS,
}


ALLOCATOR = {"NVIDIA's TmemAllocator": "TmemAllocator"}
WHOLE = of_course("blackwell.gemm", "make_blackwell_gemm", "blackwell_kernel", "course_parts")
WHOLE_TILES = (256, 384, 128)  # no load of it is padding alone
ONE_TILE = (100, 72, 128)  # fewer tiles than SMs
EPILOGUE = at_most({"cp.async.bulk.wait_group": 64, "tcgen05.wait::ld": 48})
# No barriers but those of the kernel around the loop; a wait for each K tile and for each tile, by each role. A branch
# for lane 0 splits its warp, which then waits for each stage twice.
NO_BARRIERS = issued("bar.sync|barrier") <= 24
WAITS, SPLIT = issued("mbarrier.try_wait") <= 74, issued("mbarrier.try_wait") <= 90
LOOP_INSTRUCTIONS = ("tcgen05", "tcgen05.ld", "tcgen05.commit", "cp.async.bulk.tensor")


blackwell_exercise = partial(
    CuteExercise.of,
    needs=TCGEN05,
    spills=False,
    faults=(judge.other_columns(pair=False),),
    problem=gemm("bf16"),
    shapes=SHAPES,
)
loop_exercise = partial(blackwell_exercise, requires=LOOP_INSTRUCTIONS, shared_rules=(judge.freed_late,))
EXERCISES = (
    value_exercise(
        ("17.1", "tmem_columns", 2),
        tmem_columns,
        {
            "one accumulator": beside([(n, 1) for n in (256, 128, 96, 64, 32)], accumulators(1)),
            "few columns": beside([(n, 1) for n in (8, 16, 24)], accumulators(1)),
            "several": beside([(256, 2), (160, 2), (96, 5), (128, 3), (24, 3), (48, 5)], accumulators(2, 3, 4)),
            "too many": beside([(256, 3), (192, 3), (520, 1)], accumulators(2, 3, 4, 5)),
        },
    ),
    value_exercise(
        ("17.2", "accumulator_place", 2),
        accumulator_place,
        {
            "one block's rows": beside([(m, n, 0, 256) for m in EDGES for n in (0, 255)], places(range(128), (0,))),
            "one of three": beside([(64, 9, number, 96) for number in range(3)], places(range(128), (0, 1, 2))),
            "the other block's": beside([(m + 128, 200, 1, 256) for m in EDGES], places(range(128, 256), (0, 1))),
        },
    ),
    blackwell_exercise(
        ("17.3", "tensor_memory", 3),
        requires=("tcgen05", "tcgen05.alloc", "tcgen05.dealloc"),
        part=inside(judge.blackwell, "allocate", "release", small=NARROW),
        library={**ALLOCATOR, **of_course("blackwell.parts", "allocate", "release")},
        shared_rules=(judge.relinquished_late,),
        # of two blocks
        rules=at_most({"bar.sync|barrier": 36, "tcgen05.relinquish_alloc_permit": 2}),
    ),
    loop_exercise(
        ("17.5", "produce", 3),
        part=inside(judge.blackwell, "produce", small=LOOPS),
        library=of_course("blackwell.parts", "produce_tiles"),
        rules=(NO_BARRIERS, SPLIT),
    ),
    loop_exercise(
        ("17.6", "multiply", 5),
        part=inside(judge.blackwell, "multiply", small=LOOPS),
        library=of_course("blackwell.parts", "multiply_tiles"),
        rules=(NO_BARRIERS, WAITS),
    ),
    loop_exercise(
        ("17.7", "store", 4),
        part=inside(judge.blackwell, "store", small=LOOPS),
        library=of_course("blackwell.parts", "store_tiles"),
        rules=(issued("bar.sync") <= 36, issued("barrier") <= 0, WAITS, *EPILOGUE),
    ),
    blackwell_exercise(
        ("17.4", "mma", 3),
        requires=("tcgen05",),
        part=Inside(kernel=judge.blackwell, slots=("make_umma", "issue"), jit=("issue",), small=ALONE_AND_PAIR),
        library=of_course("blackwell.parts", "make_umma", "issue"),
        rules=(issued("tcgen05.mma") <= 72,),  # 4 for each of 18 K tiles
    ),
    blackwell_exercise(
        ("17.9", "pair", 7),
        part=inside(judge.blackwell, "produce", "multiply", "store", small=PAIRS, pair=True),
        faults=(judge.other_columns(pair=True),),
        shared_rules=(judge.freed_late,),
        library=of_course("blackwell.parts", "produce_tiles", "multiply_tiles", "store_tiles"),
        bench_shape=BENCH,
        tiers=(0.9,),
        requires=("tcgen05 pairs", "tcgen05.ld", "tcgen05.commit", "cp.async.bulk.tensor"),
        rules=(*at_most({"bar.sync": 0, "mbarrier.try_wait": 84, "mbarrier.arrive.shared::cluster": 24}), *EPILOGUE),
    ),
    value_exercise(
        ("17.11", "quantize_mx", 3),
        quantize_mx,
        {
            name: mirrored([(block,) for block in blocks], powers=0 if "ends" in name else 9)
            for name, blocks in MX_BLOCKS.items()
        },
    ),
    value_exercise(
        ("17.12", "quantize_nv", 3), quantize_nv, {name: mirrored(calls) for name, calls in NV_CALLS.items()}
    ),
    blackwell_exercise(
        ("17.8", "make_gemm", 5),
        requires=LOOP_INSTRUCTIONS,
        part=judge.WholeKernel(),
        faults=(judge.other_threads, judge.other_columns(pair=False)),
        shapes=SHAPES[::-1],
        simulated_shapes=(*SIMULATED, WHOLE_TILES, ONE_TILE),
        counted=WHOLE_TILES,
        shared_rules=(no_padding,),
        library=WHOLE,
        rules=(
            # of 2 SMs; loops may ask before they wait
            blocks >= 2,
            blocks <= 2,
            *at_most({"bar.sync|barrier": 36, "tcgen05.mma": 48, "mbarrier.try_wait": 96}),
        ),
        rules_at={ONE_TILE: (blocks <= 1,), SIMULATED[0]: (blocks >= 3, blocks <= 3)},  # of 3
    ),
    blackwell_exercise(
        ("17.10", "make_pair_gemm", 4),
        requires=("tcgen05 pairs", *LOOP_INSTRUCTIONS[1:]),
        part=judge.WholeKernel(pair=True),
        faults=(judge.other_threads, judge.other_columns(pair=True)),
        shapes=SHAPES[::-1],
        simulated_shapes=(*SIMULATED, WHOLE_TILES, ONE_TILE),
        counted=WHOLE_TILES,
        shared_rules=(no_padding,),
        library={**ALLOCATOR, **WHOLE, **of_course("blackwell.parts", "allocate", "release")},
        rules=(
            # 4 SMs: 24 warps
            blocks >= 4,
            blocks <= 4,
            *at_most(
                {
                    "tcgen05.relinquish_alloc_permit": 4,
                    "bar.sync|barrier.cluster.arrive": 72,
                    "tcgen05.mma": 24,
                    "mbarrier.try_wait": 138,
                }
            ),
            issued("tcgen05.relinquish_alloc_permit") >= 4,
        ),
        rules_at={ONE_TILE: (blocks <= 2,), SIMULATED[0]: (blocks >= 6, blocks <= 6)},  # of 6
    ),
)
