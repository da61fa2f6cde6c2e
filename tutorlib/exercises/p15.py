"""Exercises of notebook 15: the parts of the persistent kernel, and the reader's own."""

from functools import partial
from typing import Any

from tutorlib.checking.cute import CuteExercise
from tutorlib.checking.facts import at_most, groups
from tutorlib.checking.library_use import of_course
from tutorlib.checking.part import KernelSettings, Small, inside
from tutorlib.exercises.judges import hopper as judge
from tutorlib.machine.features import WGMMA
from tutorlib.problems.catalogue import gemm, gemm_shared
from tutorlib.problems.problem import Shape

# Exercises whose answers are the parts of the persistent kernel, and the one that puts them together.

course = partial(of_course, "hopper.parts")
SHAPES = ((512, 512, 512), (384, 1024, 840), (129, 200, 72))
# 2 blocks with 6 tiles of 5 K tiles: the producer waits for each stage, and for all 3 at the end; 4 warps multiply.
ARRIVALS = 2 * 6 * 5 * (1 + 4)
WAITS = ARRIVALS + 2 * 3

BENCH = (4096, 4096, 4096)
RING: KernelSettings = {"tile": (64, 64, 64), "stages": 3} | judge.FEW_SMS
SPLIT: KernelSettings = {"persistent": False, "split_k": 2}
PRODUCE: Small = {(200, 136, 264): RING | {"cluster": (2, 1)}, (136, 72, 264): RING | SPLIT | {"cluster": (2, 1)}}
IN_TURN = (136, 72, 136)  # where stores are not deferred
CONSUME: Small = {(200, 136, 264): RING | {"defer_stores": True}, IN_TURN: RING}
FREE: Small = {(256, 136, 328): RING | {"cluster": (2, 2)}, (64, 136, 520): RING | SPLIT | {"cluster": (1, 2)}}
# One tile of 3 slices. The giver has 5 K tiles, the adder 4, as many as stages: so the adder is there first.
HAND_OVER: Small = {(64, 192, 520): {"tile": (64, 192, 64), "stages": 4, "stream_k": True} | judge.FEW_SMS}
SMALL_RING: KernelSettings = {"tile": (64, 64, 64), "stages": 3}
WHOLE: dict[Shape, KernelSettings] = {
    (136, 72, 264): SMALL_RING | {"cluster": (2, 2), "defer_stores": True},
    # two blocks, since one cluster alone shares no tile; with two consumer warpgroups, registers must move
    (328, 64, 264): {"tile": (128, 64, 64), "stages": 3, "stream_k": True, "defer_stores": True},
    (64, 72, 456): SMALL_RING | SPLIT | {"cluster": (1, 2)},
}


OWN = ("produce", "consume", "free", "give", "add")  # slots that the reader fills
TOLD: tuple[Shape, ...] = (  # the first six without stream-K
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 512),  # many waves
    (8448, 4096, 16384),  # long K, and whole waves
    (4352, 4096, 512),  # the last wave almost empty, and K short
    (8192, 8192, 256),
    (2304, 2048, 8192),
    (3072, 3072, 8192),
    (5000, 5000, 8192),
)

SHARED = gemm_shared(judge.ACCUMULATORS, judge.FLAGS)
part: Any = partial(CuteExercise.of, needs=WGMMA, problem=gemm("bf16"), shapes=SHAPES)

EXERCISES = (
    part(
        ("15.1", "produce_tiles", 3),
        part=inside(judge.persistent, "produce", small=PRODUCE),
        rules=at_most({"mbarrier.try_wait": WAITS, "bar.sync|barrier": 32, "fence": 100}),
        library=course("produce_tiles"),
    ),
    part(
        ("15.2", "consume_tiles", 4),
        part=inside(judge.persistent, "consume", small=CONSUME, defer_stores=True),
        faults=(judge.not_deferred,),
        counted=IN_TURN,
        shared_rules=(judge.always_deferred,),
        rules=(
            # 2 blocks with 3 tiles of 3 K tiles: 6 tiles of a piece in each of 4 warps, and the end of 2 blocks
            *at_most({"bar.sync|barrier": 16, "cp.async.bulk.wait_group": 6 * 4 + 16, "mbarrier.arrive": 2 * 9 * 5}),
            groups >= 1,
        ),
        bench_shape=BENCH,
        tiers=(0.95,),
        library=course("consume_tiles"),
    ),
    part(
        ("15.3", "free_stage", 2),
        part=inside(judge.persistent, "free", small=FREE, cluster=(2, 1)),
        library=course("free_stage"),
    ),
    part(
        ("15.4", "hand_over", 4),
        problem=SHARED,
        part=inside(judge.persistent, "give", "add", small=HAND_OVER, stream_k=True),
        library=course("give_part", "add_part"),
    ),
    part(
        ("15.5", "my_gemm", 4),
        problem=SHARED,
        part=judge.WholeKernel(small=WHOLE, own=OWN, told=TOLD),
        shapes=((512, 512, 512), (129, 200, 72), (768, 640, 4096)),
        bench_shape=BENCH,
        tiers=(0.98,),
        library=course("produce_tiles", "consume_tiles", "free_stage", "give_part", "add_part") | {"COURSE": "COURSE"},
    ),
)
